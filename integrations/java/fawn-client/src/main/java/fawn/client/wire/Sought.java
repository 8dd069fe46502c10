// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Sought} of the wire: one of its variants. */
public abstract class Sought {
    private Sought() {}

    abstract void write(WireWriter out);

    static Sought read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Part.read(in);
            case 1:
                return Records.read(in);
            default:
                throw in.noSuch("Sought", number);
        }
    }

    /** Number 0: newest versions. */
    public static final class Part extends Sought {
        /** Only what was written after it, and then also what is gone, 0 for all that is there. */
        public final Position since;
        /**
         * What was committed when the asker began with this pass, all of which it is to see, none if it begins; {@code
         * null} for none.
         */
        public final Position began;

        /** One of these fields. */
        public Part(Position since, Position began) {
            this.since = since;
            this.began = began;
        }

        static Part read(WireReader in) throws WireException {
            return new Part(
                    Position.read(in),
                    in.option(Position::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            since.write(out);
            out.option(began, Position::write);
        }
    }

    /** Number 1: what was committed after it. */
    public static final class Records extends Sought {
        /** The field {@code after}. */
        public final Position after;

        /** One of these fields. */
        public Records(Position after) {
            this.after = after;
        }

        static Records read(WireReader in) throws WireException {
            return new Records(Position.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(1);
            after.write(out);
        }
    }
}
