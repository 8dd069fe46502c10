// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Member} of the wire. */
public final class Member {
    /** A node, for ever, with bit 31 set for an archive. */
    public final long node;
    /** A life of a node or front-end, numbered by the manager from 1. */
    public final long incarnation;

    /** One of these fields. */
    public Member(long node, long incarnation) {
        this.node = node;
        this.incarnation = incarnation;
    }

    static Member read(WireReader in) throws WireException {
        return new Member(
                in.u64(),
                in.u32());
    }

    void write(WireWriter out) {
        out.u64(node);
        out.u32(incarnation);
    }
}
