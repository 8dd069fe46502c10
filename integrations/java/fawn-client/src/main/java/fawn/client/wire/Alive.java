// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Alive} of the wire. */
public final class Alive {
    /** The range's time. */
    public final long time;
    /** From each position up to the next one's, neighbours differ. None below the first. */
    public final List<Pair<Key, Flush>> flushes;
    /** The field {@code fences}. */
    public final Fences fences;

    /** One of these fields. */
    public Alive(long time, List<Pair<Key, Flush>> flushes, Fences fences) {
        this.time = time;
        this.flushes = flushes;
        this.fences = fences;
    }

    static Alive read(WireReader in) throws WireException {
        return new Alive(
                in.u32(),
                in.map(Key::read, Flush::read),
                Fences.read(in));
    }

    void write(WireWriter out) {
        out.u32(time);
        out.map(flushes, Key::write, Flush::write);
        fences.write(out);
    }
}
