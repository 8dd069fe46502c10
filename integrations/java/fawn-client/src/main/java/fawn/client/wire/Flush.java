// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Flush} of the wire. */
public final class Flush {
    /** Versions up to this number are gone. */
    public final long upto;
    /** Unix second from which on everything written before is gone, 0 for none. */
    public final long due;

    /** One of these fields. */
    public Flush(long upto, long due) {
        this.upto = upto;
        this.due = due;
    }

    static Flush read(WireReader in) throws WireException {
        return new Flush(
                in.u64(),
                in.u32());
    }

    void write(WireWriter out) {
        out.u64(upto);
        out.u32(due);
    }
}
