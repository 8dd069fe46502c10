// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Store} of the wire. */
public final class Store {
    /** The field {@code mode}. */
    public final Mode mode;
    /** The field {@code value}. */
    public final byte[] value;
    /** The field {@code flags}. */
    public final long flags;
    /** The field {@code expiry}. */
    public final long expiry;
    /**
     * With {@code Cas} none and 0 match nothing, with append and prepend 0 compares nothing, other modes pass it over;
     * {@code null} for none.
     */
    public final Long compare;
    /** The client's cas for the new version; {@code null} for none. */
    public final Long newCas;
    /** With {@code Cas}, one below the item's stores too, as a stale item. */
    public final boolean invalidate;

    /** One of these fields. */
    public Store(Mode mode, byte[] value, long flags, long expiry, Long compare, Long newCas, boolean invalidate) {
        this.mode = mode;
        this.value = value;
        this.flags = flags;
        this.expiry = expiry;
        this.compare = compare;
        this.newCas = newCas;
        this.invalidate = invalidate;
    }

    static Store read(WireReader in) throws WireException {
        return new Store(
                Mode.read(in),
                in.bytes(),
                in.u32(),
                in.u32(),
                in.option(WireReader::u64),
                in.option(WireReader::u64),
                in.bool());
    }

    void write(WireWriter out) {
        mode.write(out);
        out.bytes(value);
        out.u32(flags);
        out.u32(expiry);
        out.option(compare, (value1, out1) -> out1.u64(value1));
        out.option(newCas, (value1, out1) -> out1.u64(value1));
        out.bool(invalidate);
    }
}
