// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Session} of the wire. */
public final class Session {
    /** Up to this number all are answered, or none is carried out any more. */
    public final long answered;
    /** Those above that were carried out. */
    public final List<Pair<Long, Pair<Position, Outcome>>> done;
    /** Unix second of its last record. */
    public final long used;

    /** One of these fields. */
    public Session(long answered, List<Pair<Long, Pair<Position, Outcome>>> done, long used) {
        this.answered = answered;
        this.done = done;
        this.used = used;
    }

    static Session read(WireReader in) throws WireException {
        return new Session(
                in.u64(),
                in.map(WireReader::u64, in1 -> in1.pair(Position::read, Outcome::read)),
                in.u32());
    }

    void write(WireWriter out) {
        out.u64(answered);
        out.map(done, (value1, out1) -> out1.u64(value1), (value1, out1) -> out1.pair(value1, Position::write, Outcome::write));
        out.u32(used);
    }
}
