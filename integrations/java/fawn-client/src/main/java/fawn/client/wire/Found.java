// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Found} of the wire: one of its variants. */
public abstract class Found {
    private Found() {}

    abstract void write(WireWriter out);

    static Found read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Part.read(in);
            case 1:
                return Records.read(in);
            case 2:
                return new TooOld();
            case 3:
                return new NotMine();
            case 4:
                return Later.read(in);
            case 5:
                return new Unreadable();
            default:
                throw in.noSuch("Found", number);
        }
    }

    /**
     * Number 0: all that was committed up to {@code began}, or {@code at} if that was none, and perhaps newer versions.
     * What is gone by a deletion, its expiry or a flush is left out, or without a version if there was a {@code since}.
     */
    public static final class Part extends Found {
        /** In the order of positions. */
        public final List<Kept> kept;
        /** Where the next part begins, none if this is the last; {@code null} for none. */
        public final Key next;
        /** What was committed before it was read. */
        public final Position at;
        /** What was committed afterwards, nothing in it is newer. */
        public final Position upto;

        /** One of these fields. */
        public Part(List<Kept> kept, Key next, Position at, Position upto) {
            this.kept = kept;
            this.next = next;
            this.at = at;
            this.upto = upto;
        }

        static Part read(WireReader in) throws WireException {
            return new Part(
                    in.list(Kept::read),
                    in.option(Key::read),
                    Position.read(in),
                    Position.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            out.list(kept, Kept::write);
            out.option(next, Key::write);
            at.write(out);
            upto.write(out);
        }
    }

    /**
     * Number 1: the records that wrote or deleted keys. Once {@code upto} is no less than any other that was told, what
     * has come is as of it.
     */
    public static final class Records extends Found {
        /** In the order of their numbers. */
        public final List<Kept> kept;
        /** All up to here are there. */
        public final Position upto;
        /** Without fences, if nothing more is committed; {@code null} for none. */
        public final Alive ended;

        /** One of these fields. */
        public Records(List<Kept> kept, Position upto, Alive ended) {
            this.kept = kept;
            this.upto = upto;
            this.ended = ended;
        }

        static Records read(WireReader in) throws WireException {
            return new Records(
                    in.list(Kept::read),
                    Position.read(in),
                    in.option(Alive::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(1);
            out.list(kept, Kept::write);
            upto.write(out);
            out.option(ended, Alive::write);
        }
    }

    /**
     * Number 2: asked for records: they are no longer in memory, asks for parts since. Asked for parts: deletions are
     * forgotten that the asker lacks, or what it has seen is no part of this log; all that it has of the keys is of no
     * use.
     */
    public static final class TooOld extends Found {
        @Override
        void write(WireWriter out) {
            out.u32(2);
        }
    }

    /**
     * Number 3: not here, not all here, damaged while others have it, or not the reader: asks the manager for a view,
     * and elsewhere.
     */
    public static final class NotMine extends Found {
        @Override
        void write(WireWriter out) {
            out.u32(3);
        }
    }

    /**
     * Number 4: no lease, less committed than {@code least}, enough read for now, or too many reads under way: asks
     * again after so long.
     */
    public static final class Later extends Found {
        /** The field {@code waitUs}. */
        public final long waitUs;

        /** One of these fields. */
        public Later(long waitUs) {
            this.waitUs = waitUs;
        }

        static Later read(WireReader in) throws WireException {
            return new Later(in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(4);
            out.u64(waitUs);
        }
    }

    /** Number 5: the node cannot read its disk: asks another. */
    public static final class Unreadable extends Found {
        @Override
        void write(WireWriter out) {
            out.u32(5);
        }
    }
}
