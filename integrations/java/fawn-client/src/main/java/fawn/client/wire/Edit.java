// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Edit} of the wire. */
public final class Edit {
    /** The field {@code kind}. */
    public final EditKind kind;
    /** The field {@code argument}. */
    public final byte[] argument;

    /** One of these fields. */
    public Edit(EditKind kind, byte[] argument) {
        this.kind = kind;
        this.argument = argument;
    }

    static Edit read(WireReader in) throws WireException {
        return new Edit(
                EditKind.read(in),
                in.bytes());
    }

    void write(WireWriter out) {
        kind.write(out);
        out.bytes(argument);
    }
}
