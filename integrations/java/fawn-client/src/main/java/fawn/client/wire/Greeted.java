// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Greeted} of the wire. */
public final class Greeted {
    /** The field {@code version}. */
    public final int version;
    /** A cluster, drawn at random when it begins; {@code null} for none. */
    public final byte[] cluster;
    /** The field {@code from}. */
    public final Party from;
    /** The field {@code you}. */
    public final Party you;

    /** One of these fields. */
    public Greeted(int version, byte[] cluster, Party from, Party you) {
        this.version = version;
        this.cluster = cluster;
        this.from = from;
        this.you = you;
    }

    static Greeted read(WireReader in) throws WireException {
        return new Greeted(
                in.u8(),
                in.option(in1 -> in1.fixed(16)),
                Party.read(in),
                Party.read(in));
    }

    void write(WireWriter out) {
        out.u8(version);
        out.option(cluster, (value1, out1) -> out1.fixed(value1, 16));
        from.write(out);
        you.write(out);
    }
}
