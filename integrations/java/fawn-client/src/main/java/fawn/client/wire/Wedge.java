// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Wedge} of the wire. */
public final class Wedge {
    /** The field {@code keys}. */
    public final Interval keys;
    /** Number of owners so far. */
    public final long epoch;
    /** None before the first; {@code null} for none. */
    public final FrontMember owner;
    /** The owner gets no leases any more. */
    public final boolean released;

    /** One of these fields. */
    public Wedge(Interval keys, long epoch, FrontMember owner, boolean released) {
        this.keys = keys;
        this.epoch = epoch;
        this.owner = owner;
        this.released = released;
    }

    static Wedge read(WireReader in) throws WireException {
        return new Wedge(
                Interval.read(in),
                in.u64(),
                in.option(FrontMember::read),
                in.bool());
    }

    void write(WireWriter out) {
        keys.write(out);
        out.u64(epoch);
        out.option(owner, FrontMember::write);
        out.bool(released);
    }
}
