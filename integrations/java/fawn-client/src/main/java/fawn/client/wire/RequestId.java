// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code RequestId} of the wire. */
public final class RequestId {
    /** No two clients ever have the same, and its upper 32 bits are the Unix second at which it began. */
    public final long session;
    /** In its session, from 1. */
    public final long number;

    /** One of these fields. */
    public RequestId(long session, long number) {
        this.session = session;
        this.number = number;
    }

    static RequestId read(WireReader in) throws WireException {
        return new RequestId(
                in.u64(),
                in.u64());
    }

    void write(WireWriter out) {
        out.u64(session);
        out.u64(number);
    }
}
