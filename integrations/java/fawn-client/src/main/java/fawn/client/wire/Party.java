// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Party} of the wire: one of its variants. */
public abstract class Party {
    private Party() {}

    abstract void write(WireWriter out);

    static Party read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Manager.read(in);
            case 1:
                return Seat.read(in);
            case 2:
                return Client.read(in);
            case 3:
                return new Newcomer();
            case 4:
                return new Operator();
            default:
                throw in.noSuch("Party", number);
        }
    }

    /** Number 0. */
    public static final class Manager extends Party {
        /** The field {@code value}. */
        public final long value;

        /** One of these fields. */
        public Manager(long value) {
            this.value = value;
        }

        static Manager read(WireReader in) throws WireException {
            return new Manager(in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            out.u64(value);
        }
    }

    /** Number 1. */
    public static final class Seat extends Party {
        /** The field {@code value}. */
        public final long value;

        /** One of these fields. */
        public Seat(long value) {
            this.value = value;
        }

        static Seat read(WireReader in) throws WireException {
            return new Seat(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(1);
            out.u32(value);
        }
    }

    /** Number 2. */
    public static final class Client extends Party {
        /** The field {@code value}. */
        public final long value;

        /** One of these fields. */
        public Client(long value) {
            this.value = value;
        }

        static Client read(WireReader in) throws WireException {
            return new Client(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(2);
            out.u32(value);
        }
    }

    /** Number 3. */
    public static final class Newcomer extends Party {
        @Override
        void write(WireWriter out) {
            out.u32(3);
        }
    }

    /** Number 4. */
    public static final class Operator extends Party {
        @Override
        void write(WireWriter out) {
            out.u32(4);
        }
    }
}
