// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code FrontMember} of the wire. */
public final class FrontMember {
    /** A front-end, for ever. */
    public final long front;
    /** A life of a node or front-end, numbered by the manager from 1. */
    public final long incarnation;

    /** One of these fields. */
    public FrontMember(long front, long incarnation) {
        this.front = front;
        this.incarnation = incarnation;
    }

    static FrontMember read(WireReader in) throws WireException {
        return new FrontMember(
                in.u32(),
                in.u32());
    }

    void write(WireWriter out) {
        out.u32(front);
        out.u32(incarnation);
    }
}
