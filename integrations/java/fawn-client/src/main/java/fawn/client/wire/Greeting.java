// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Greeting} of the wire. */
public final class Greeting {
    /** The field {@code magic}. */
    public final byte[] magic;
    /** The field {@code lowest}. */
    public final int lowest;
    /** The field {@code highest}. */
    public final int highest;
    /** A cluster, drawn at random when it begins; {@code null} for none. */
    public final byte[] cluster;
    /** The field {@code from}. */
    public final Party from;
    /** The field {@code to}; {@code null} for none. */
    public final Party to;
    /** The field {@code lane}. */
    public final Lane lane;

    /** One of these fields. */
    public Greeting(byte[] magic, int lowest, int highest, byte[] cluster, Party from, Party to, Lane lane) {
        this.magic = magic;
        this.lowest = lowest;
        this.highest = highest;
        this.cluster = cluster;
        this.from = from;
        this.to = to;
        this.lane = lane;
    }

    static Greeting read(WireReader in) throws WireException {
        return new Greeting(
                in.fixed(4),
                in.u8(),
                in.u8(),
                in.option(in1 -> in1.fixed(16)),
                Party.read(in),
                in.option(Party::read),
                Lane.read(in));
    }

    void write(WireWriter out) {
        out.fixed(magic, 4);
        out.u8(lowest);
        out.u8(highest);
        out.option(cluster, (value1, out1) -> out1.fixed(value1, 16));
        from.write(out);
        out.option(to, Party::write);
        lane.write(out);
    }
}
