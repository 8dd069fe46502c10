package fawn.client;

/** Failures as clients report them. */
public final class Failures {
    private Failures() {}

    /** One for this reason. */
    public static FawnException of(FawnException.Reason reason) {
        return new FawnException(reason);
    }
}
