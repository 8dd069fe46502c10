// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Cas} of the wire: one of its variants. */
public abstract class Cas {
    private Cas() {}

    abstract void write(WireWriter out);

    static Cas read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Known.read(in);
            case 1:
                return new Appended();
            default:
                throw in.noSuch("Cas", number);
        }
    }

    /** Number 0: this one. */
    public static final class Known extends Cas {
        /** The field {@code value}. */
        public final long value;

        /** One of these fields. */
        public Known(long value) {
            this.value = value;
        }

        static Known read(WireReader in) throws WireException {
            return new Known(in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            out.u64(value);
        }
    }

    /** Number 1: the number of the record: {@code position} of the answer. */
    public static final class Appended extends Cas {
        @Override
        void write(WireWriter out) {
            out.u32(1);
        }
    }
}
