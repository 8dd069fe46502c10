// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Change} of the wire: one of its variants. */
public abstract class Change {
    private Change() {}

    abstract void write(WireWriter out);

    static Change read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return new Nothing();
            case 1:
                return new Delete();
            case 2:
                return Value.read(in);
            case 3:
                return Fence.read(in);
            case 4:
                return Begin.read(in);
            case 5:
                return Flush.read(in);
            case 6:
                return Expire.read(in);
            default:
                throw in.noSuch("Change", number);
        }
    }

    /** Number 0: a condition that failed, whose answer shows the key's state, or a barrier. */
    public static final class Nothing extends Change {
        @Override
        void write(WireWriter out) {
            out.u32(0);
        }
    }

    /** Number 1: the key is gone. */
    public static final class Delete extends Change {
        @Override
        void write(WireWriter out) {
            out.u32(1);
        }
    }

    /** Number 2: the key has this version. */
    public static final class Value extends Change {
        /** The field {@code value}. */
        public final Version value;

        /** One of these fields. */
        public Value(Version value) {
            this.value = value;
        }

        static Value read(WireReader in) throws WireException {
            return new Value(Version.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(2);
            value.write(out);
        }
    }

    /** Number 3: nothing of these keys is served as of a lower wedge epoch. */
    public static final class Fence extends Change {
        /** The field {@code keys}. */
        public final Interval keys;
        /** An owner of a wedge, counted from 1. */
        public final long epoch;
        /** Who is told when it is committed. */
        public final Address front;

        /** One of these fields. */
        public Fence(Interval keys, long epoch, Address front) {
            this.keys = keys;
            this.epoch = epoch;
            this.front = front;
        }

        static Fence read(WireReader in) throws WireException {
            return new Fence(
                    Interval.read(in),
                    in.u64(),
                    Address.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(3);
            keys.write(out);
            out.u64(epoch);
            front.write(out);
        }
    }

    /** Number 4: the chain of the record's epoch begins. */
    public static final class Begin extends Change {
        /** Where the log before it ends. */
        public final Position after;

        /** One of these fields. */
        public Begin(Position after) {
            this.after = after;
        }

        static Begin read(WireReader in) throws WireException {
            return new Begin(Position.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(4);
            after.write(out);
        }
    }

    /**
     * Number 5: of these keys every version from before it is gone or, with {@code due}, from before the first record
     * that is stamped no earlier.
     */
    public static final class Flush extends Change {
        /** Unix second, 0 for now. */
        public final long due;
        /** None overlap. */
        public final List<Interval> keys;

        /** One of these fields. */
        public Flush(long due, List<Interval> keys) {
            this.due = due;
            this.keys = keys;
        }

        static Flush read(WireReader in) throws WireException {
            return new Flush(
                    in.u32(),
                    in.list(Interval::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(5);
            out.u32(due);
            out.list(keys, Interval::write);
        }
    }

    /**
     * Number 6: sessions not used after the first are forgotten; those that began up to the second, and are not
     * remembered, are refused. Of one that began later the name stays, with all numbers answered.
     */
    public static final class Expire extends Change {
        /** The field {@code idleSince}. */
        public final long idleSince;
        /** The field {@code horizon}. */
        public final long horizon;

        /** One of these fields. */
        public Expire(long idleSince, long horizon) {
            this.idleSince = idleSince;
            this.horizon = horizon;
        }

        static Expire read(WireReader in) throws WireException {
            return new Expire(
                    in.u32(),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(6);
            out.u32(idleSince);
            out.u32(horizon);
        }
    }
}
