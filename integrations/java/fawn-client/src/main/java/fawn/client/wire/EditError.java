// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code EditError} of the wire: one of its variants. */
public enum EditError {
    /** Number 0: the value is a hash and should be a string, or the other way round. */
    WRONG_TYPE,
    /** Number 1: the string is no signed 64-bit number. */
    NOT_INTEGER,
    /** Number 2: the string is no decimal number. */
    NOT_FLOAT,
    /** Number 3: the field is no signed 64-bit number. */
    FIELD_NOT_INTEGER,
    /** Number 4: the field is no decimal number. */
    FIELD_NOT_FLOAT,
    /** Number 5: the sum does not fit into 64 bits. */
    OVERFLOW,
    /** Number 6: the sum is no finite number. */
    NOT_FINITE,
    /** Number 7: the new value would be larger than a value may be. */
    TOO_LONG,
    /** Number 8: the argument is not what the kind needs. */
    MALFORMED;

    static EditError read(WireReader in) throws WireException {
        return in.variant(values());
    }

    void write(WireWriter out) {
        out.u32(ordinal());
    }
}
