package fawn.client.wire;

/** Positions from one to another. */
public final class Interval {
    /** The whole key space. */
    public static final Interval ALL = new Interval(Key.LOWEST, Key.HIGHEST);

    /** The lowest position in it. */
    public final Key low;
    /** The highest position in it, never below {@link #low}. */
    public final Key high;

    /** One of these ends. */
    public Interval(Key low, Key high) {
        if (low.compareTo(high) > 0) {
            throw new IllegalArgumentException("an interval ends at " + high + ", below " + low);
        }
        this.low = low;
        this.high = high;
    }

    static Interval read(WireReader in) throws WireException {
        Key low = Key.read(in);
        Key high = Key.read(in);
        if (low.compareTo(high) > 0) {
            throw new WireException("an interval ends below where it begins");
        }
        return new Interval(low, high);
    }

    void write(WireWriter out) {
        low.write(out);
        high.write(out);
    }

    /** Whether a position lies in it. */
    public boolean contains(Key position) {
        return low.compareTo(position) <= 0 && position.compareTo(high) <= 0;
    }
}
