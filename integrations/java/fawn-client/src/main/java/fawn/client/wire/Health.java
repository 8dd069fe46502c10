// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Health} of the wire: one of its variants. */
public enum Health {
    /** Number 0: nothing is wrong with it. */
    SOUND,
    /** Number 1: the node has no room for more values. */
    FULL,
    /**
     * Number 2: part of it could not be read; once others have the range the node leaves the chain, and copies it
     * whole.
     */
    DAMAGED,
    /**
     * Number 3: the log is of a life in which the node acknowledged what it had not synced; a chain does not begin
     * again with such logs alone while another member is missing. Since version 7.
     */
    BEHIND;

    static Health read(WireReader in) throws WireException {
        return in.variant(values());
    }

    void write(WireWriter out) {
        out.u32(ordinal());
    }
}
