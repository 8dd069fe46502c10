// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Given} of the wire: one of its variants. */
public abstract class Given {
    private Given() {}

    abstract void write(WireWriter out);

    static Given read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Records.read(in);
            case 1:
                return new TooOld();
            case 2:
                return new Another();
            default:
                throw in.noSuch("Given", number);
        }
    }

    /** Number 0: these. */
    public static final class Records extends Given {
        /** The field {@code value}. */
        public final fawn.client.wire.Records value;

        /** One of these fields. */
        public Records(fawn.client.wire.Records value) {
            this.value = value;
        }

        static Records read(WireReader in) throws WireException {
            return new Records(fawn.client.wire.Records.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            value.write(out);
        }
    }

    /** Number 1: what the learner lacks is no longer in memory: it copies what was written since. */
    public static final class TooOld extends Given {
        @Override
        void write(WireWriter out) {
            out.u32(1);
        }
    }

    /** Number 2: what the learner has is not what this log goes on from: it copies everything. */
    public static final class Another extends Given {
        @Override
        void write(WireWriter out) {
            out.u32(2);
        }
    }
}
