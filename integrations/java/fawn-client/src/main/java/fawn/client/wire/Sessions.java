// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Sessions} of the wire. */
public final class Sessions {
    /** By the session's name. */
    public final List<Pair<Long, Session>> by;
    /** A session that began up to this second, and is not here, has been forgotten. */
    public final long horizon;
    /**
     * Of flushes that are not said to be answered, from each position up to the next one's whether they have reached
     * it, neighbours differ. Not below the first.
     */
    public final List<Pair<RequestId, List<Pair<Key, Boolean>>>> flushed;

    /** One of these fields. */
    public Sessions(
            List<Pair<Long, Session>> by,
            long horizon,
            List<Pair<RequestId, List<Pair<Key, Boolean>>>> flushed) {
        this.by = by;
        this.horizon = horizon;
        this.flushed = flushed;
    }

    static Sessions read(WireReader in) throws WireException {
        return new Sessions(
                in.map(WireReader::u64, Session::read),
                in.u32(),
                in.map(RequestId::read, in1 -> in1.map(Key::read, WireReader::bool)));
    }

    void write(WireWriter out) {
        out.map(by, (value1, out1) -> out1.u64(value1), Session::write);
        out.u32(horizon);
        out.map(flushed, RequestId::write, (value1, out1) -> out1.map(value1, Key::write, (value2, out2) -> out2.bool(value2)));
    }
}
