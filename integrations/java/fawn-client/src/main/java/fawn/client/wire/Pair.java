package fawn.client.wire;

/** Two values, one after the other; also a key of a map and its value. */
public final class Pair<A, B> {
    /** The first value. */
    public final A first;
    /** The second value. */
    public final B second;

    /** One of these values. */
    public Pair(A first, B second) {
        this.first = first;
        this.second = second;
    }
}
