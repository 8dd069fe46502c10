// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Kept} of the wire. */
public final class Kept {
    /** The field {@code key}. */
    public final byte[] key;
    /** Of the record that made it so. */
    public final Position position;
    /** None if it is deleted; {@code null} for none. */
    public final Version version;

    /** One of these fields. */
    public Kept(byte[] key, Position position, Version version) {
        this.key = key;
        this.position = position;
        this.version = version;
    }

    static Kept read(WireReader in) throws WireException {
        return new Kept(
                in.bytes(),
                Position.read(in),
                in.option(Version::read));
    }

    void write(WireWriter out) {
        out.bytes(key);
        position.write(out);
        out.option(version, Version::write);
    }
}
