// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Bookmark} of the wire. */
public final class Bookmark {
    /** The field {@code stretches}. */
    public final List<Stretch> stretches;
    /** A position in the key space, most significant byte first; {@code null} for none. */
    public final Key rest;
    /** A position in the key space, most significant byte first. */
    public final Key last;

    /** One of these fields. */
    public Bookmark(List<Stretch> stretches, Key rest, Key last) {
        this.stretches = stretches;
        this.rest = rest;
        this.last = last;
    }

    static Bookmark read(WireReader in) throws WireException {
        return new Bookmark(
                in.list(Stretch::read),
                in.option(Key::read),
                Key.read(in));
    }

    void write(WireWriter out) {
        out.list(stretches, Stretch::write);
        out.option(rest, Key::write);
        last.write(out);
    }
}
