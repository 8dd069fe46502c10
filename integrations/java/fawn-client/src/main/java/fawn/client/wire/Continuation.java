// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Continuation} of the wire. */
public final class Continuation {
    /** Who asked the front-end. */
    public final Asker asker;
    /**
     * The client's own, or, where the asker is another front-end, the Continuation of its client in postcard's
     * encoding.
     */
    public final byte[] blob;

    /** One of these fields. */
    public Continuation(Asker asker, byte[] blob) {
        this.asker = asker;
        this.blob = blob;
    }

    static Continuation read(WireReader in) throws WireException {
        return new Continuation(
                Asker.read(in),
                in.bytes());
    }

    void write(WireWriter out) {
        asker.write(out);
        out.bytes(blob);
    }
}
