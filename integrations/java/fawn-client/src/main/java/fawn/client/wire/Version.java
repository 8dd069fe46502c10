// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Version} of the wire. */
public final class Version {
    /** The field {@code value}. */
    public final byte[] value;
    /** The client's. */
    public final long flags;
    /** Unix second, 0 for never. */
    public final long expiry;
    /** The field {@code stale}. */
    public final boolean stale;
    /** The field {@code won}. */
    public final boolean won;
    /** The cas, when it is not the record's number; {@code null} for none. */
    public final Long clientCas;

    /** One of these fields. */
    public Version(byte[] value, long flags, long expiry, boolean stale, boolean won, Long clientCas) {
        this.value = value;
        this.flags = flags;
        this.expiry = expiry;
        this.stale = stale;
        this.won = won;
        this.clientCas = clientCas;
    }

    static Version read(WireReader in) throws WireException {
        return new Version(
                in.bytes(),
                in.u32(),
                in.u32(),
                in.bool(),
                in.bool(),
                in.option(WireReader::u64));
    }

    void write(WireWriter out) {
        out.bytes(value);
        out.u32(flags);
        out.u32(expiry);
        out.bool(stale);
        out.bool(won);
        out.option(clientCas, (value1, out1) -> out1.u64(value1));
    }
}
