// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Asker} of the wire. */
public final class Asker {
    /** Where the answer goes. */
    public final Address address;
    /** Comes back with the answer. */
    public final long tag;

    /** One of these fields. */
    public Asker(Address address, long tag) {
        this.address = address;
        this.tag = tag;
    }

    static Asker read(WireReader in) throws WireException {
        return new Asker(
                Address.read(in),
                in.u64());
    }

    void write(WireWriter out) {
        address.write(out);
        out.u64(tag);
    }
}
