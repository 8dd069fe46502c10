// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Rules} of the wire. */
public final class Rules {
    /** The field {@code consistency}. */
    public final Consistency consistency;
    /** The field {@code ack}. */
    public final Ack ack;
    /** A chain of fewer members takes no writes. */
    public final int minWriteReplicas;
    /** Members before the reader answer gets of keys that nobody is writing. */
    public final boolean spreadReads;
    /** Records that a member has not synced, at most. */
    public final long unsynced;

    /** One of these fields. */
    public Rules(Consistency consistency, Ack ack, int minWriteReplicas, boolean spreadReads, long unsynced) {
        this.consistency = consistency;
        this.ack = ack;
        this.minWriteReplicas = minWriteReplicas;
        this.spreadReads = spreadReads;
        this.unsynced = unsynced;
    }

    static Rules read(WireReader in) throws WireException {
        return new Rules(
                Consistency.read(in),
                Ack.read(in),
                in.u8(),
                in.bool(),
                in.u32());
    }

    void write(WireWriter out) {
        consistency.write(out);
        ack.write(out);
        out.u8(minWriteReplicas);
        out.bool(spreadReads);
        out.u32(unsynced);
    }
}
