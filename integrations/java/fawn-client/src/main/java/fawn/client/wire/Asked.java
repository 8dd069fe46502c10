// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Asked} of the wire. */
public final class Asked {
    /** The field {@code id}. */
    public final RequestId id;
    /** As in {@code Request}. */
    public final long answered;
    /** The field {@code asker}. */
    public final Asker asker;
    /** The answer, to be given once it is committed. */
    public final Outcome outcome;
    /** What goes with it, where the record is no version that holds it; {@code null} for none. */
    public final Shown shown;

    /** One of these fields. */
    public Asked(RequestId id, long answered, Asker asker, Outcome outcome, Shown shown) {
        this.id = id;
        this.answered = answered;
        this.asker = asker;
        this.outcome = outcome;
        this.shown = shown;
    }

    static Asked read(WireReader in) throws WireException {
        return new Asked(
                RequestId.read(in),
                in.u64(),
                Asker.read(in),
                Outcome.read(in),
                in.option(Shown::read));
    }

    void write(WireWriter out) {
        id.write(out);
        out.u64(answered);
        asker.write(out);
        outcome.write(out);
        out.option(shown, Shown::write);
    }
}
