// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Records} of the wire. */
public final class Records {
    /** The end of what both logs have in common, what the learner has after it goes. */
    public final Position common;
    /** What follows. */
    public final List<Entry> entries;
    /** The end of the sender's log, or of what is committed for a learner. */
    public final Position last;

    /** One of these fields. */
    public Records(Position common, List<Entry> entries, Position last) {
        this.common = common;
        this.entries = entries;
        this.last = last;
    }

    static Records read(WireReader in) throws WireException {
        return new Records(
                Position.read(in),
                in.list(Entry::read),
                Position.read(in));
    }

    void write(WireWriter out) {
        common.write(out);
        out.list(entries, Entry::write);
        last.write(out);
    }
}
