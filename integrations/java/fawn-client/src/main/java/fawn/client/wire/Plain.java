// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Plain} of the wire. */
public final class Plain {
    /** Which of its directory's stores it is, from 0. */
    public final long store;
    /** How many those are, at nodes whose numbers follow each other. */
    public final long stores;
    /** That it was made to hold. */
    public final Interval keys;

    /** One of these fields. */
    public Plain(long store, long stores, Interval keys) {
        this.store = store;
        this.stores = stores;
        this.keys = keys;
    }

    static Plain read(WireReader in) throws WireException {
        return new Plain(
                in.u32(),
                in.u32(),
                Interval.read(in));
    }

    void write(WireWriter out) {
        out.u32(store);
        out.u32(stores);
        keys.write(out);
    }
}
