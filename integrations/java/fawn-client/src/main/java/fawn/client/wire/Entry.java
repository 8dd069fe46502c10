// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Entry} of the wire. */
public final class Entry {
    /** The field {@code position}. */
    public final Position position;
    /** Unix second by the range's time, which never goes back. */
    public final long time;
    /** None for a record that is about no key. */
    public final byte[] key;
    /** The field {@code change}. */
    public final Change change;
    /** Whose request it answers; {@code null} for none. */
    public final Asked asked;

    /** One of these fields. */
    public Entry(Position position, long time, byte[] key, Change change, Asked asked) {
        this.position = position;
        this.time = time;
        this.key = key;
        this.change = change;
        this.asked = asked;
    }

    static Entry read(WireReader in) throws WireException {
        return new Entry(
                Position.read(in),
                in.u32(),
                in.bytes(),
                Change.read(in),
                in.option(Asked::read));
    }

    void write(WireWriter out) {
        position.write(out);
        out.u32(time);
        out.bytes(key);
        change.write(out);
        out.option(asked, Asked::write);
    }
}
