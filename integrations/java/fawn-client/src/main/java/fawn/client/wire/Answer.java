// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Answer} of the wire: one of its variants. */
public abstract class Answer {
    private Answer() {}

    abstract void write(WireWriter out);

    static Answer read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Done.read(in);
            case 1:
                return Found.read(in);
            case 2:
                return FoundMany.read(in);
            case 3:
                return new NotMine();
            case 4:
                return Unknown.read(in);
            case 5:
                return new TooFew();
            case 6:
                return new Busy();
            case 7:
                return new Malformed();
            case 8:
                return new TooLarge();
            case 9:
                return new Fenced();
            case 10:
                return new AskAgain();
            case 11:
                return new TimedOut();
            case 12:
                return new Flushed();
            case 13:
                return new Full();
            case 14:
                return new Unreadable();
            case 15:
                return new Conditional();
            case 16:
                return Ahead.read(in);
            case 17:
                return new NeedsUpgrade();
            default:
                throw in.noSuch("Answer", number);
        }
    }

    /**
     * Number 0: carried out, once. A {@code Hit} that is answered again, without {@code shown} or {@code same_version}:
     * what it showed is not known any more. Nor is that of a {@code Computed} that is answered again.
     */
    public static final class Done extends Answer {
        /** The field {@code outcome}. */
        public final Outcome outcome;
        /** Of the record that carried it out, which is the key's version as of then. */
        public final Position position;
        /** From memory, the key may have changed since. */
        public final boolean again;
        /** What a {@code Hit} without {@code same_version}, or a {@code Computed}, shows; {@code null} for none. */
        public final Shown shown;

        /** One of these fields. */
        public Done(Outcome outcome, Position position, boolean again, Shown shown) {
            this.outcome = outcome;
            this.position = position;
            this.again = again;
            this.shown = shown;
        }

        static Done read(WireReader in) throws WireException {
            return new Done(
                    Outcome.read(in),
                    Position.read(in),
                    in.bool(),
                    in.option(Shown::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            outcome.write(out);
            position.write(out);
            out.bool(again);
            out.option(shown, Shown::write);
        }
    }

    /** Number 1: a get: the newest committed version, none if there never was one. */
    public static final class Found extends Answer {
        /** The field {@code value}; {@code null} for none. */
        public final Kept value;

        /** One of these fields. */
        public Found(Kept value) {
            this.value = value;
        }

        static Found read(WireReader in) throws WireException {
            return new Found(in.option(Kept::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(1);
            out.option(value, Kept::write);
        }
    }

    /** Number 2: the gets of {@code AskMany}. */
    public static final class FoundMany extends Answer {
        /** In the order of the keys. */
        public final List<Kept> value;

        /** One of these fields. */
        public FoundMany(List<Kept> value) {
            this.value = value;
        }

        static FoundMany read(WireReader in) throws WireException {
            return new FoundMany(in.list(in1 -> in1.option(Kept::read)));
        }

        @Override
        void write(WireWriter out) {
            out.u32(2);
            out.list(value, (value1, out1) -> out1.option(value1, Kept::write));
        }
    }

    /** Number 3: asks the manager for a view, and elsewhere. */
    public static final class NotMine extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(3);
        }
    }

    /**
     * Number 4: the session has said that it was answered, or has expired: nobody knows what came of it. Begins another
     * session, named after a later second. Since version 6 a front-end says it only if nothing was done.
     */
    public static final class Unknown extends Answer {
        /** Unix second of the head's clock, or one later than the range's horizon. */
        public final long time;

        /** One of these fields. */
        public Unknown(long time) {
            this.time = time;
        }

        static Unknown read(WireReader in) throws WireException {
            return new Unknown(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(4);
            out.u32(time);
        }
    }

    /** Number 5: the chain has fewer members than it needs to take writes: nothing was done; tries again. */
    public static final class TooFew extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(5);
        }
    }

    /** Number 6: nothing was done; tries again. */
    public static final class Busy extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(6);
        }
    }

    /** Number 7: the operation cannot be read; nothing was done. */
    public static final class Malformed extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(7);
        }
    }

    /** Number 8: the value would be longer than the nodes' stores take; nothing was done. */
    public static final class TooLarge extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(8);
        }
    }

    /**
     * Number 9: the key's wedge, or one of a flush, has another owner by now: this try did nothing. A front-end gives
     * the wedge up and asks for a view.
     */
    public static final class Fenced extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(9);
        }
    }

    /** Number 10: passed on to a front-end that does not own the wedge; asks for a view, and again. */
    public static final class AskAgain extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(10);
        }
    }

    /** Number 11: there was no answer in time: nobody knows whether it is, or will be, carried out. */
    public static final class TimedOut extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(11);
        }
    }

    /** Number 12: a front-end to {@code AskFlush}: all of it is flushed, once, or will be when the flush is due. */
    public static final class Flushed extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(12);
        }
    }

    /**
     * Number 13: a node of the chain has no room for more values; nothing was done. Tries again; deletions are carried
     * out meanwhile.
     */
    public static final class Full extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(13);
        }
    }

    /**
     * Number 14: the node cannot read from its disk what the answer depends on; nothing was done. Tries again: if
     * others have the range, one of them takes the node's place.
     */
    public static final class Unreadable extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(14);
        }
    }

    /**
     * Number 15: a weak cluster takes no operation that depends on what is there; nothing was done. Since version 6;
     * older peers are told {@code Malformed}.
     */
    public static final class Conditional extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(15);
        }
    }

    /**
     * Number 16: what the operation sets would have expired by the range's time, which is ahead of the head's clock;
     * nothing was done. Ends the request: the head sets the time back in the end. Older peers are told {@code Busy}.
     */
    public static final class Ahead extends Answer {
        /** Unix second of the range's time. */
        public final long time;

        /** One of these fields. */
        public Ahead(long time) {
            this.time = time;
        }

        static Ahead read(WireReader in) throws WireException {
            return new Ahead(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(16);
            out.u32(time);
        }
    }

    /**
     * Number 17: the operation came with a version that is not the cluster's yet, as far as the receiver knows; nothing
     * was done. A front-end that knows better asks again, a client does not. Since version 8; older peers are told
     * {@code Malformed}.
     */
    public static final class NeedsUpgrade extends Answer {
        @Override
        void write(WireWriter out) {
            out.u32(17);
        }
    }
}
