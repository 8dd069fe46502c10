// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Mode} of the wire: one of its variants. */
public abstract class Mode {
    private Mode() {}

    abstract void write(WireWriter out);

    static Mode read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return new Set();
            case 1:
                return new Add();
            case 2:
                return new Replace();
            case 3:
                return new Cas();
            case 4:
                return Append.read(in);
            case 5:
                return Prepend.read(in);
            default:
                throw in.noSuch("Mode", number);
        }
    }

    /** Number 0: stores always. */
    public static final class Set extends Mode {
        @Override
        void write(WireWriter out) {
            out.u32(0);
        }
    }

    /** Number 1: only where nothing is. */
    public static final class Add extends Mode {
        @Override
        void write(WireWriter out) {
            out.u32(1);
        }
    }

    /** Number 2: only over something. */
    public static final class Replace extends Mode {
        @Override
        void write(WireWriter out) {
            out.u32(2);
        }
    }

    /** Number 3: only over the version that {@code compare} names. */
    public static final class Cas extends Mode {
        @Override
        void write(WireWriter out) {
            out.u32(3);
        }
    }

    /** Number 4: adds after the value. */
    public static final class Append extends Mode {
        /** Make a missing item, with this expiry; {@code null} for none. */
        public final Long vivify;

        /** One of these fields. */
        public Append(Long vivify) {
            this.vivify = vivify;
        }

        static Append read(WireReader in) throws WireException {
            return new Append(in.option(WireReader::u32));
        }

        @Override
        void write(WireWriter out) {
            out.u32(4);
            out.option(vivify, (value1, out1) -> out1.u32(value1));
        }
    }

    /** Number 5: adds before the value. */
    public static final class Prepend extends Mode {
        /** The field {@code vivify}; {@code null} for none. */
        public final Long vivify;

        /** One of these fields. */
        public Prepend(Long vivify) {
            this.vivify = vivify;
        }

        static Prepend read(WireReader in) throws WireException {
            return new Prepend(in.option(WireReader::u32));
        }

        @Override
        void write(WireWriter out) {
            out.u32(5);
            out.option(vivify, (value1, out1) -> out1.u32(value1));
        }
    }
}
