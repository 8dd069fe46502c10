// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code PutCondition} of the wire: one of its variants. */
public enum PutCondition {
    /** Number 0: always. */
    ALWAYS,
    /** Number 1: only where nothing is. */
    ABSENT,
    /** Number 2: only over something. */
    PRESENT;

    static PutCondition read(WireReader in) throws WireException {
        return in.variant(values());
    }

    void write(WireWriter out) {
        out.u32(ordinal());
    }
}
