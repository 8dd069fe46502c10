// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code ViewKind} of the wire: one of its variants. */
public abstract class ViewKind {
    private ViewKind() {}

    abstract void write(WireWriter out);

    static ViewKind read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return new Type();
            case 1:
                return new Expiry();
            case 2:
                return new Length();
            case 3:
                return Range.read(in);
            case 4:
                return Bit.read(in);
            case 5:
                return CountBits.read(in);
            case 6:
                return FindBit.read(in);
            case 7:
                return new BitFields();
            case 8:
                return new Field();
            case 9:
                return new Fields();
            case 10:
                return AllFields.read(in);
            case 11:
                return new CountFields();
            case 12:
                return new HasField();
            case 13:
                return new FieldLength();
            case 14:
                return RandomFields.read(in);
            case 15:
                return new Record();
            default:
                throw in.noSuch("ViewKind", number);
        }
    }

    /** Number 0: {@code string} or {@code hash}. */
    public static final class Type extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(0);
        }
    }

    /** Number 1: the Unix second of the expiry; -1 for never, -2 for a missing key. */
    public static final class Expiry extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(1);
        }
    }

    /** Number 2: bytes of a string; 0 for a missing key. */
    public static final class Length extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(2);
        }
    }

    /**
     * Number 3: these bytes of a string, counted from its end below 0, where -1 is the last one; a missing key is an
     * empty string.
     */
    public static final class Range extends ViewKind {
        /** The field {@code first}. */
        public final long first;
        /** Included. */
        public final long last;

        /** One of these fields. */
        public Range(long first, long last) {
            this.first = first;
            this.last = last;
        }

        static Range read(WireReader in) throws WireException {
            return new Range(
                    in.i64(),
                    in.i64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(3);
            out.i64(first);
            out.i64(last);
        }
    }

    /** Number 4: this bit, 0 behind the end. */
    public static final class Bit extends ViewKind {
        /** 0 is the highest bit of the first byte. */
        public final long place;

        /** One of these fields. */
        public Bit(long place) {
            this.place = place;
        }

        static Bit read(WireReader in) throws WireException {
            return new Bit(in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(4);
            out.u64(place);
        }
    }

    /** Number 5: how many bits are 1; 0 for a missing key. */
    public static final class CountBits extends ViewKind {
        /** None for all; {@code null} for none. */
        public final BitRange value;

        /** One of these fields. */
        public CountBits(BitRange value) {
            this.value = value;
        }

        static CountBits read(WireReader in) throws WireException {
            return new CountBits(in.option(BitRange::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(5);
            out.option(value, BitRange::write);
        }
    }

    /** Number 6: the place of the first such bit, or -1; a missing key has zeros from place 0 on. */
    public static final class FindBit extends ViewKind {
        /** The bit that is sought. */
        public final boolean isSet;
        /** Where; {@code null} for none. */
        public final BitRange range;
        /** It goes on behind the end, where bits are 0. */
        public final boolean isOpen;

        /** One of these fields. */
        public FindBit(boolean isSet, BitRange range, boolean isOpen) {
            this.isSet = isSet;
            this.range = range;
            this.isOpen = isOpen;
        }

        static FindBit read(WireReader in) throws WireException {
            return new FindBit(
                    in.bool(),
                    in.option(BitRange::read),
                    in.bool());
        }

        @Override
        void write(WireWriter out) {
            out.u32(6);
            out.bool(isSet);
            out.option(range, BitRange::write);
            out.bool(isOpen);
        }
    }

    /** Number 7: as the edit of this name, with an argument that only reads. */
    public static final class BitFields extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(7);
        }
    }

    /** Number 8: the value of the field that is the argument; {@code Miss} without it. */
    public static final class Field extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(8);
        }
    }

    /** Number 9: a list of the values of the fields in the argument, a list, with nothing for missing ones. */
    public static final class Fields extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(9);
        }
    }

    /** Number 10: a list of all fields whose names match the pattern that is the argument, if it is not empty. */
    public static final class AllFields extends ViewKind {
        /** List them. */
        public final boolean names;
        /** List them. */
        public final boolean values;

        /** One of these fields. */
        public AllFields(boolean names, boolean values) {
            this.names = names;
            this.values = values;
        }

        static AllFields read(WireReader in) throws WireException {
            return new AllFields(
                    in.bool(),
                    in.bool());
        }

        @Override
        void write(WireWriter out) {
            out.u32(10);
            out.bool(names);
            out.bool(values);
        }
    }

    /** Number 11: the number of fields; 0 for a missing key. */
    public static final class CountFields extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(11);
        }
    }

    /** Number 12: 1 if the field that is the argument is there, else 0. */
    public static final class HasField extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(12);
        }
    }

    /** Number 13: bytes of the field that is the argument; 0 without it. */
    public static final class FieldLength extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(13);
        }
    }

    /** Number 14: a list of fields. */
    public static final class RandomFields extends ViewKind {
        /** So many different ones, or below 0 so many of which some may be the same. */
        public final long count;
        /** List them, too. */
        public final boolean values;
        /** Where the random numbers begin. */
        public final long seed;

        /** One of these fields. */
        public RandomFields(long count, boolean values, long seed) {
            this.count = count;
            this.values = values;
            this.seed = seed;
        }

        static RandomFields read(WireReader in) throws WireException {
            return new RandomFields(
                    in.i64(),
                    in.bool(),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(14);
            out.i64(count);
            out.bool(values);
            out.u64(seed);
        }
    }

    /**
     * Number 15: a list of all that an item is: the value of any type, and in decimal digits its flags, expiry and cas.
     */
    public static final class Record extends ViewKind {
        @Override
        void write(WireWriter out) {
            out.u32(15);
        }
    }
}
