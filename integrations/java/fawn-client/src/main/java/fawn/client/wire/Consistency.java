// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Consistency} of the wire: one of its variants. */
public enum Consistency {
    /** Number 0: each has the log of the one before it. */
    CHAIN,
    /** Number 1: nothing: each is a chain of its own, the first is the owner. */
    WEAK;

    static Consistency read(WireReader in) throws WireException {
        return in.variant(values());
    }

    void write(WireWriter out) {
        out.u32(ordinal());
    }
}
