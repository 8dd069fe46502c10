// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code BitRange} of the wire. */
public final class BitRange {
    /** Below 0 it counts from the end. */
    public final long first;
    /** Included, as {@code first}. */
    public final long last;
    /** They are places of bits, else of bytes. */
    public final boolean bits;

    /** One of these fields. */
    public BitRange(long first, long last, boolean bits) {
        this.first = first;
        this.last = last;
        this.bits = bits;
    }

    static BitRange read(WireReader in) throws WireException {
        return new BitRange(
                in.i64(),
                in.i64(),
                in.bool());
    }

    void write(WireWriter out) {
        out.i64(first);
        out.i64(last);
        out.bool(bits);
    }
}
