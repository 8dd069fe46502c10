// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Stretch} of the wire. */
public final class Stretch {
    /** The field {@code keys}. */
    public final Interval keys;
    /** A position in the key space, most significant byte first; {@code null} for none. */
    public final Key from;
    /** The field {@code since}. */
    public final Position since;
    /** The field {@code began}; {@code null} for none. */
    public final Position began;
    /** The field {@code least}. */
    public final Position least;
    /** The field {@code source}; {@code null} for none. */
    public final Member source;
    /** The field {@code passes}. */
    public final long passes;

    /** One of these fields. */
    public Stretch(
            Interval keys,
            Key from,
            Position since,
            Position began,
            Position least,
            Member source,
            long passes) {
        this.keys = keys;
        this.from = from;
        this.since = since;
        this.began = began;
        this.least = least;
        this.source = source;
        this.passes = passes;
    }

    static Stretch read(WireReader in) throws WireException {
        return new Stretch(
                Interval.read(in),
                in.option(Key::read),
                Position.read(in),
                in.option(Position::read),
                Position.read(in),
                in.option(Member::read),
                in.u32());
    }

    void write(WireWriter out) {
        keys.write(out);
        out.option(from, Key::write);
        since.write(out);
        out.option(began, Position::write);
        least.write(out);
        out.option(source, Member::write);
        out.u32(passes);
    }
}
