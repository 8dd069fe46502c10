// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Hit} of the wire. */
public final class Hit {
    /** The field {@code cas}. */
    public final Cas cas;
    /** 0 for never or none. */
    public final long expiryBefore;
    /** The field {@code expiry}. */
    public final long expiry;
    /** The operation made the item. */
    public final boolean created;
    /** This client may refresh it. */
    public final boolean won;
    /** The field {@code stale}. */
    public final boolean stale;
    /** Another client may. */
    public final boolean alreadyWon;
    /** It has the cas that the client named. */
    public final boolean sameVersion;

    /** One of these fields. */
    public Hit(
            Cas cas,
            long expiryBefore,
            long expiry,
            boolean created,
            boolean won,
            boolean stale,
            boolean alreadyWon,
            boolean sameVersion) {
        this.cas = cas;
        this.expiryBefore = expiryBefore;
        this.expiry = expiry;
        this.created = created;
        this.won = won;
        this.stale = stale;
        this.alreadyWon = alreadyWon;
        this.sameVersion = sameVersion;
    }

    static Hit read(WireReader in) throws WireException {
        return new Hit(
                Cas.read(in),
                in.u32(),
                in.u32(),
                in.bool(),
                in.bool(),
                in.bool(),
                in.bool(),
                in.bool());
    }

    void write(WireWriter out) {
        cas.write(out);
        out.u32(expiryBefore);
        out.u32(expiry);
        out.bool(created);
        out.bool(won);
        out.bool(stale);
        out.bool(alreadyWon);
        out.bool(sameVersion);
    }
}
