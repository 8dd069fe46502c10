// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Report} of the wire. */
public final class Report {
    /** An instance of a range, with its own log. None comes twice. */
    public final long range;
    /** The end of its log. */
    public final Position last;
    /** As of which it was last made level, if all of it is there; {@code null} for none. */
    public final Long held;
    /** A learner that lacks little. */
    public final boolean caughtUp;
    /** Of the chain that it is active in, 0 for none. */
    public final long epoch;
    /** The field {@code health}. */
    public final Health health;

    /** One of these fields. */
    public Report(long range, Position last, Long held, boolean caughtUp, long epoch, Health health) {
        this.range = range;
        this.last = last;
        this.held = held;
        this.caughtUp = caughtUp;
        this.epoch = epoch;
        this.health = health;
    }

    static Report read(WireReader in) throws WireException {
        return new Report(
                in.u32(),
                Position.read(in),
                in.option(WireReader::u32),
                in.bool(),
                in.u32(),
                Health.read(in));
    }

    void write(WireWriter out) {
        out.u32(range);
        last.write(out);
        out.option(held, (value1, out1) -> out1.u32(value1));
        out.bool(caughtUp);
        out.u32(epoch);
        health.write(out);
    }
}
