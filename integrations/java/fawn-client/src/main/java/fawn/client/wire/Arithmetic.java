// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Arithmetic} of the wire. */
public final class Arithmetic {
    /** The field {@code decrement}. */
    public final boolean decrement;
    /** The field {@code delta}. */
    public final long delta;
    /** A missing counter's. */
    public final long initial;
    /** A missing counter's expiry, none leaves it missing; {@code null} for none. */
    public final Long vivify;
    /** An existing one's new expiry; {@code null} for none. */
    public final Long touch;
    /** 0 compares nothing; {@code null} for none. */
    public final Long compare;
    /** The field {@code newCas}; {@code null} for none. */
    public final Long newCas;

    /** One of these fields. */
    public Arithmetic(boolean decrement, long delta, long initial, Long vivify, Long touch, Long compare, Long newCas) {
        this.decrement = decrement;
        this.delta = delta;
        this.initial = initial;
        this.vivify = vivify;
        this.touch = touch;
        this.compare = compare;
        this.newCas = newCas;
    }

    static Arithmetic read(WireReader in) throws WireException {
        return new Arithmetic(
                in.bool(),
                in.u64(),
                in.u64(),
                in.option(WireReader::u32),
                in.option(WireReader::u32),
                in.option(WireReader::u64),
                in.option(WireReader::u64));
    }

    void write(WireWriter out) {
        out.bool(decrement);
        out.u64(delta);
        out.u64(initial);
        out.option(vivify, (value1, out1) -> out1.u32(value1));
        out.option(touch, (value1, out1) -> out1.u32(value1));
        out.option(compare, (value1, out1) -> out1.u64(value1));
        out.option(newCas, (value1, out1) -> out1.u64(value1));
    }
}
