// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Lane} of the wire: one of its variants. */
public enum Lane {
    /** Number 0. */
    CHAIN,
    /** Number 1. */
    CLIENT;

    static Lane read(WireReader in) throws WireException {
        return in.variant(values());
    }

    void write(WireWriter out) {
        out.u32(ordinal());
    }
}
