// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code NodeClass} of the wire: one of its variants. */
public enum NodeClass {
    /** Number 0. */
    NONE,
    /** Number 1. */
    SERVING,
    /** Number 2. */
    ARCHIVE;

    static NodeClass read(WireReader in) throws WireException {
        return in.variant(values());
    }

    void write(WireWriter out) {
        out.u32(ordinal());
    }
}
