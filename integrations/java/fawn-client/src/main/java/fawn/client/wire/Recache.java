// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Recache} of the wire. */
public final class Recache {
    /** An item that expires before this is won, 0 wins none. */
    public final long before;
    /** The expiry that the same command sets is meant. */
    public final boolean afterTouch;

    /** One of these fields. */
    public Recache(long before, boolean afterTouch) {
        this.before = before;
        this.afterTouch = afterTouch;
    }

    static Recache read(WireReader in) throws WireException {
        return new Recache(
                in.u32(),
                in.bool());
    }

    void write(WireWriter out) {
        out.u32(before);
        out.bool(afterTouch);
    }
}
