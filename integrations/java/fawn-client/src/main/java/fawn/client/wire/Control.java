package fawn.client.wire;

import java.util.Arrays;

/**
 * What is said over a link that is no message: those controls that a client says or is told. Numbers are those of
 * {@code Control} in crates/fawn-kv/src/link/control.rs.
 */
public abstract class Control {
    private static final int GREETING = 0;
    private static final int GREETED = 1;
    private static final int REFUSED = 2;
    private static final int LEADS = 3;
    private static final int ASK_ROSTER = 4;
    private static final int ROSTER = 5;
    private static final int ALIVE = 13;
    private static final int ASK_SECRET = 14;
    private static final int SECRET = 15;
    private static final byte[] MAGIC = {'F', 'A', 'W', 'N'};
    private static final int SECRET_BYTES = 32;

    private Control() {}

    abstract void write(WireWriter out);

    /** Reads one; {@code null} for one that a client does not know. Bytes after it are a later release's. */
    static Control read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case GREETING:
                return new Greets(Greeting.read(in));
            case GREETED:
                return new IsGreeted(Greeted.read(in));
            case REFUSED:
                return new Refused(in.string());
            case LEADS:
                return new Leads(in.u64(), in.option(WireReader::u64));
            case ASK_ROSTER:
                return new AskRoster(in.u64());
            case ROSTER:
                return new TellsRoster(Roster.read(in));
            case ALIVE:
                return new Alive();
            case ASK_SECRET:
                return new AskSecret();
            case SECRET:
                return new Secret(in.fixed(SECRET_BYTES));
            default:
                return null;
        }
    }

    /** What begins each greeting. */
    public static byte[] magic() {
        return MAGIC.clone();
    }

    /** The first that is said, by whoever called. */
    public static final class Greets extends Control {
        /** What the caller says of itself. */
        public final Greeting greeting;

        /** One of these fields. */
        public Greets(Greeting greeting) {
            this.greeting = greeting;
        }

        @Override
        void write(WireWriter out) {
            out.u32(GREETING);
            greeting.write(out);
        }
    }

    /** The answer to a greeting. */
    public static final class IsGreeted extends Control {
        /** What the other side says. */
        public final Greeted greeted;

        /** One of these fields. */
        public IsGreeted(Greeted greeted) {
            this.greeted = greeted;
        }

        @Override
        void write(WireWriter out) {
            out.u32(GREETED);
            greeted.write(out);
        }
    }

    /** The other answer; the connection is closed after it. */
    public static final class Refused extends Control {
        /** What is wrong, and what to do about it, in a sentence. */
        public final String why;

        /** One of these fields. */
        public Refused(String why) {
            this.why = why;
        }

        @Override
        void write(WireWriter out) {
            out.u32(REFUSED);
            out.string(why);
        }
    }

    /** From a manager, at once and with every change: who leads. */
    public static final class Leads extends Control {
        /** The term that this is so in. */
        public final long term;
        /** The leader; {@code null} if it is not known. */
        public final Long leader;

        /** One of these fields. */
        public Leads(long term, Long leader) {
            this.term = term;
            this.leader = leader;
        }

        @Override
        void write(WireWriter out) {
            out.u32(LEADS);
            out.u64(term);
            out.option(leader, (value, to) -> to.u64(value));
        }
    }

    /** To a manager: the roster, if it has changed since, and from then on whenever it does. */
    public static final class AskRoster extends Control {
        /** The number of the one that is known; 0 for none. */
        public final long known;

        /** One of these fields. */
        public AskRoster(long known) {
            this.known = known;
        }

        @Override
        void write(WireWriter out) {
            out.u32(ASK_ROSTER);
            out.u64(known);
        }
    }

    /** Who is in the cluster, and where. */
    public static final class TellsRoster extends Control {
        /** The roster. */
        public final Roster roster;

        /** One of these fields. */
        public TellsRoster(Roster roster) {
            this.roster = roster;
        }

        @Override
        void write(WireWriter out) {
            out.u32(ROSTER);
            roster.write(out);
        }
    }

    /** Nothing but that the other side lives. */
    public static final class Alive extends Control {
        @Override
        void write(WireWriter out) {
            out.u32(ALIVE);
        }
    }

    /** To a manager: where do keys lie? */
    public static final class AskSecret extends Control {
        @Override
        void write(WireWriter out) {
            out.u32(ASK_SECRET);
        }
    }

    /** The answer: the key of the hash that makes positions of keys. */
    public static final class Secret extends Control {
        private final byte[] secret;

        /** One of these 32 bytes. */
        public Secret(byte[] secret) {
            this.secret = Arrays.copyOf(secret, SECRET_BYTES);
        }

        /** The hash under this secret. */
        public PositionHash hash() {
            return new PositionHash(secret);
        }

        @Override
        void write(WireWriter out) {
            out.u32(SECRET);
            out.raw(secret);
        }
    }
}
