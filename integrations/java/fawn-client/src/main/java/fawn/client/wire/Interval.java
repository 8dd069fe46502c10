package fawn.client.wire;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

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

    /** So many intervals that cover it, whose sizes differ by a position at most; no more than it has positions. */
    public List<Interval> divide(int parts) {
        BigInteger size = size();
        BigInteger count = size.min(BigInteger.valueOf(parts));
        List<Interval> all = new ArrayList<>();
        Key begin = low;
        for (int part = 1; part < count.intValueExact(); part++) {
            Key next = Key.of(low.toNumber().add(size.multiply(BigInteger.valueOf(part)).divide(count)));
            all.add(new Interval(begin, next.predecessor()));
            begin = next;
        }
        all.add(new Interval(begin, high));
        return all;
    }

    /** How many positions it has. */
    public BigInteger size() {
        return high.toNumber().subtract(low.toNumber()).add(BigInteger.ONE);
    }

    /** Whether a position lies in it. */
    public boolean contains(Key position) {
        return low.compareTo(position) <= 0 && position.compareTo(high) <= 0;
    }
}
