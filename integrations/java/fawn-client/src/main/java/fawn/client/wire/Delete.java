// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Delete} of the wire. */
public final class Delete {
    /** Only this version; {@code null} for none. */
    public final Long compare;
    /** Of a version that remains; {@code null} for none. */
    public final Long newCas;
    /** Keep the item, stale and free to be won. */
    public final boolean invalidate;
    /** Of an item that remains; {@code null} for none. */
    public final Long expiry;
    /** Keep an empty item. */
    public final boolean dropValue;
    /** The empty item's. */
    public final long flags;

    /** One of these fields. */
    public Delete(Long compare, Long newCas, boolean invalidate, Long expiry, boolean dropValue, long flags) {
        this.compare = compare;
        this.newCas = newCas;
        this.invalidate = invalidate;
        this.expiry = expiry;
        this.dropValue = dropValue;
        this.flags = flags;
    }

    static Delete read(WireReader in) throws WireException {
        return new Delete(
                in.option(WireReader::u64),
                in.option(WireReader::u64),
                in.bool(),
                in.option(WireReader::u32),
                in.bool(),
                in.u32());
    }

    void write(WireWriter out) {
        out.option(compare, (value1, out1) -> out1.u64(value1));
        out.option(newCas, (value1, out1) -> out1.u64(value1));
        out.bool(invalidate);
        out.option(expiry, (value1, out1) -> out1.u32(value1));
        out.bool(dropValue);
        out.u32(flags);
    }
}
