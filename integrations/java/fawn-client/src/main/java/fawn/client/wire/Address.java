// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Address} of the wire: one of its variants. */
public abstract class Address {
    private Address() {}

    abstract void write(WireWriter out);

    static Address read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return new Manager();
            case 1:
                return Node.read(in);
            case 2:
                return Front.read(in);
            case 3:
                return Client.read(in);
            default:
                throw in.noSuch("Address", number);
        }
    }

    /** Number 0: whoever leads the managers. */
    public static final class Manager extends Address {
        @Override
        void write(WireWriter out) {
            out.u32(0);
        }
    }

    /** Number 1. */
    public static final class Node extends Address {
        /** A node, for ever, with bit 31 set for an archive. */
        public final long value;

        /** One of these fields. */
        public Node(long value) {
            this.value = value;
        }

        static Node read(WireReader in) throws WireException {
            return new Node(in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(1);
            out.u64(value);
        }
    }

    /** Number 2. */
    public static final class Front extends Address {
        /** A front-end, for ever. */
        public final long value;

        /** One of these fields. */
        public Front(long value) {
            this.value = value;
        }

        static Front read(WireReader in) throws WireException {
            return new Front(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(2);
            out.u32(value);
        }
    }

    /** Number 3: a client, as the transport numbers it. */
    public static final class Client extends Address {
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
            out.u32(3);
            out.u32(value);
        }
    }
}
