package fawn.client;

/** What came of a write that only a certain version allows. */
public final class Swap {
    /** What became of it. */
    public enum Result {
        /** The value was put, or deleted. */
        DONE,
        /** Another version is there: nothing was changed. */
        CHANGED,
        /** Nothing is there: nothing was changed. */
        NOT_FOUND
    }

    /** What became of it. */
    public final Result result;
    /** Names the version that was put; 0 if none was. */
    public final long cas;

    Swap(Result result, long cas) {
        this.result = result;
        this.cas = cas;
    }

    /** Whether the value was put, or deleted. */
    public boolean isDone() {
        return result == Result.DONE;
    }
}
