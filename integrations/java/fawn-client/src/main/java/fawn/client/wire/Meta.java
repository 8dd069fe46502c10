// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Meta} of the wire. */
public final class Meta {
    /** The end of what is committed. */
    public final Position committed;
    /** What was carried out. */
    public final Sessions sessions;
    /** The field {@code alive}. */
    public final Alive alive;
    /** The newest epochs, at most 16, each with the end of the log that it goes on from, oldest first. */
    public final List<Pair<Long, Position>> begins;

    /** One of these fields. */
    public Meta(Position committed, Sessions sessions, Alive alive, List<Pair<Long, Position>> begins) {
        this.committed = committed;
        this.sessions = sessions;
        this.alive = alive;
        this.begins = begins;
    }

    static Meta read(WireReader in) throws WireException {
        return new Meta(
                Position.read(in),
                Sessions.read(in),
                Alive.read(in),
                in.list(in1 -> in1.pair(WireReader::u32, Position::read)));
    }

    void write(WireWriter out) {
        committed.write(out);
        sessions.write(out);
        alive.write(out);
        out.list(begins, (value1, out1) -> out1.pair(value1, (value2, out2) -> out2.u32(value2), Position::write));
    }
}
