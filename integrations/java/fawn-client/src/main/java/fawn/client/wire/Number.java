// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Number} of the wire. */
public final class Number {
    /** The field {@code value}. */
    public final long value;
    /** The new version's. */
    public final Cas cas;
    /** 0 for never or none. */
    public final long expiryBefore;
    /** The field {@code expiry}. */
    public final long expiry;
    /** The operation made the counter. */
    public final boolean created;

    /** One of these fields. */
    public Number(long value, Cas cas, long expiryBefore, long expiry, boolean created) {
        this.value = value;
        this.cas = cas;
        this.expiryBefore = expiryBefore;
        this.expiry = expiry;
        this.created = created;
    }

    static Number read(WireReader in) throws WireException {
        return new Number(
                in.u64(),
                Cas.read(in),
                in.u32(),
                in.u32(),
                in.bool());
    }

    void write(WireWriter out) {
        out.u64(value);
        cas.write(out);
        out.u32(expiryBefore);
        out.u32(expiry);
        out.bool(created);
    }
}
