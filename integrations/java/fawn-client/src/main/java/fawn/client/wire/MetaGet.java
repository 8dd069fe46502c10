// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code MetaGet} of the wire. */
public final class MetaGet {
    /** A miss makes an empty item with this expiry, won; {@code null} for none. */
    public final Long vivify;
    /** The field {@code recache}; {@code null} for none. */
    public final Recache recache;
    /** New expiry; {@code null} for none. */
    public final Long touch;
    /** The client has this version; {@code null} for none. */
    public final Long compare;
    /** Of one that is made; {@code null} for none. */
    public final Long newCas;

    /** One of these fields. */
    public MetaGet(Long vivify, Recache recache, Long touch, Long compare, Long newCas) {
        this.vivify = vivify;
        this.recache = recache;
        this.touch = touch;
        this.compare = compare;
        this.newCas = newCas;
    }

    static MetaGet read(WireReader in) throws WireException {
        return new MetaGet(
                in.option(WireReader::u32),
                in.option(Recache::read),
                in.option(WireReader::u32),
                in.option(WireReader::u64),
                in.option(WireReader::u64));
    }

    void write(WireWriter out) {
        out.option(vivify, (value1, out1) -> out1.u32(value1));
        out.option(recache, Recache::write);
        out.option(touch, (value1, out1) -> out1.u32(value1));
        out.option(compare, (value1, out1) -> out1.u64(value1));
        out.option(newCas, (value1, out1) -> out1.u64(value1));
    }
}
