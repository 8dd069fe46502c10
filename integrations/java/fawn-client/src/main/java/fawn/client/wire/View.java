// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code View} of the wire. */
public final class View {
    /** The field {@code kind}. */
    public final ViewKind kind;
    /** The field {@code argument}. */
    public final byte[] argument;

    /** One of these fields. */
    public View(ViewKind kind, byte[] argument) {
        this.kind = kind;
        this.argument = argument;
    }

    static View read(WireReader in) throws WireException {
        return new View(
                ViewKind.read(in),
                in.bytes());
    }

    void write(WireWriter out) {
        kind.write(out);
        out.bytes(argument);
    }
}
