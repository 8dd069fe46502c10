// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code ExpiryCondition} of the wire: one of its variants. */
public enum ExpiryCondition {
    /** Number 0: always. */
    ALWAYS,
    /** Number 1: only where there is none. */
    WITHOUT,
    /** Number 2: only where there is one. */
    WITH,
    /** Number 3: only if it is later than the one there. */
    LATER,
    /** Number 4: only if it is earlier. */
    EARLIER,
    /** Number 5: only where there is one, and only if it is earlier. */
    WITH_EARLIER;

    static ExpiryCondition read(WireReader in) throws WireException {
        return in.variant(values());
    }

    void write(WireWriter out) {
        out.u32(ordinal());
    }
}
