// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Position} of the wire. */
public final class Position {
    /** Whose head numbered the record. */
    public final long epoch;
    /** A record's number in its range, which only grows. 0 is before the first. */
    public final long seq;

    /** One of these fields. */
    public Position(long epoch, long seq) {
        this.epoch = epoch;
        this.seq = seq;
    }

    static Position read(WireReader in) throws WireException {
        return new Position(
                in.u32(),
                in.u64());
    }

    void write(WireWriter out) {
        out.u32(epoch);
        out.u64(seq);
    }
}
