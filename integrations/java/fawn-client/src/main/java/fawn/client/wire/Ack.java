// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Ack} of the wire: one of its variants. */
public enum Ack {
    /** Number 0: when every member has synced it. */
    DURABLE,
    /** Number 1: when every member has it in memory. */
    REPLICATED;

    static Ack read(WireReader in) throws WireException {
        return in.variant(values());
    }

    void write(WireWriter out) {
        out.u32(ordinal());
    }
}
