// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Fences} of the wire. */
public final class Fences {
    /**
     * From each position up to the next one's the lowest epoch that is served, neighbours differ. 0 below the first.
     */
    public final List<Pair<Key, Long>> steps;

    /** One of these fields. */
    public Fences(List<Pair<Key, Long>> steps) {
        this.steps = steps;
    }

    static Fences read(WireReader in) throws WireException {
        return new Fences(in.map(Key::read, WireReader::u64));
    }

    void write(WireWriter out) {
        out.map(steps, Key::write, (value1, out1) -> out1.u64(value1));
    }
}
