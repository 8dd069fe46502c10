// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Shown} of the wire. */
public final class Shown {
    /** The field {@code value}. */
    public final byte[] value;
    /** The field {@code flags}. */
    public final long flags;

    /** One of these fields. */
    public Shown(byte[] value, long flags) {
        this.value = value;
        this.flags = flags;
    }

    static Shown read(WireReader in) throws WireException {
        return new Shown(
                in.bytes(),
                in.u32());
    }

    void write(WireWriter out) {
        out.bytes(value);
        out.u32(flags);
    }
}
