// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code EditKind} of the wire: one of its variants. */
public abstract class EditKind {
    private EditKind() {}

    abstract void write(WireWriter out);

    static EditKind read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Put.read(in);
            case 1:
                return new Take();
            case 2:
                return new Append();
            case 3:
                return Overwrite.read(in);
            case 4:
                return SetBit.read(in);
            case 5:
                return new BitFields();
            case 6:
                return Add.read(in);
            case 7:
                return new AddFloat();
            case 8:
                return Expire.read(in);
            case 9:
                return ShowAndExpire.read(in);
            case 10:
                return SetFields.read(in);
            case 11:
                return new RemoveFields();
            case 12:
                return AddToField.read(in);
            case 13:
                return new AddFloatToField();
            default:
                throw in.noSuch("EditKind", number);
        }
    }

    /**
     * Number 0: the argument is the new value, with flags 0: {@code Stored} or {@code NotStored}; with {@code show} the
     * string before, stored or not, or {@code Miss}.
     */
    public static final class Put extends EditKind {
        /** The field {@code condition}. */
        public final PutCondition condition;
        /** None keeps that of the value before; {@code null} for none. */
        public final Long expiry;
        /** Show the string before. */
        public final boolean show;

        /** One of these fields. */
        public Put(PutCondition condition, Long expiry, boolean show) {
            this.condition = condition;
            this.expiry = expiry;
            this.show = show;
        }

        static Put read(WireReader in) throws WireException {
            return new Put(
                    PutCondition.read(in),
                    in.option(WireReader::u32),
                    in.bool());
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            condition.write(out);
            out.option(expiry, (value1, out1) -> out1.u32(value1));
            out.bool(show);
        }
    }

    /** Number 1: the string is shown and deleted; {@code Miss} without one. */
    public static final class Take extends EditKind {
        @Override
        void write(WireWriter out) {
            out.u32(1);
        }
    }

    /** Number 2: the argument is added at the end: the new length. */
    public static final class Append extends EditKind {
        @Override
        void write(WireWriter out) {
            out.u32(2);
        }
    }

    /** Number 3: the argument is written there, after zeros if that is behind the end: the new length. */
    public static final class Overwrite extends EditKind {
        /** Of the first byte. */
        public final long place;

        /** One of these fields. */
        public Overwrite(long place) {
            this.place = place;
        }

        static Overwrite read(WireReader in) throws WireException {
            return new Overwrite(in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(3);
            out.u64(place);
        }
    }

    /** Number 4: a bit is set: the bit before. */
    public static final class SetBit extends EditKind {
        /** The field {@code place}. */
        public final long place;
        /** Its new value. */
        public final boolean isSet;

        /** One of these fields. */
        public SetBit(long place, boolean isSet) {
            this.place = place;
            this.isSet = isSet;
        }

        static SetBit read(WireReader in) throws WireException {
            return new SetBit(
                    in.u64(),
                    in.bool());
        }

        @Override
        void write(WireWriter out) {
            out.u32(4);
            out.u64(place);
            out.bool(isSet);
        }
    }

    /**
     * Number 5: the argument, a list in postcard's encoding of {@code BitFieldStep}, is carried out: a list of decimal
     * numbers, with nothing for steps that an overflow has stopped.
     */
    public static final class BitFields extends EditKind {
        @Override
        void write(WireWriter out) {
            out.u32(5);
        }
    }

    /** Number 6: to a signed 64-bit number, 0 for a missing key: the sum. */
    public static final class Add extends EditKind {
        /** The field {@code delta}. */
        public final long delta;

        /** One of these fields. */
        public Add(long delta) {
            this.delta = delta;
        }

        static Add read(WireReader in) throws WireException {
            return new Add(in.i64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(6);
            out.i64(delta);
        }
    }

    /** Number 7: the decimal number that is the argument, to one: the sum is shown. */
    public static final class AddFloat extends EditKind {
        @Override
        void write(WireWriter out) {
            out.u32(7);
        }
    }

    /** Number 8: another expiry: 1, or 0 if it is not set. */
    public static final class Expire extends EditKind {
        /** The field {@code expiry}. */
        public final long expiry;
        /** The field {@code condition}. */
        public final ExpiryCondition condition;

        /** One of these fields. */
        public Expire(long expiry, ExpiryCondition condition) {
            this.expiry = expiry;
            this.condition = condition;
        }

        static Expire read(WireReader in) throws WireException {
            return new Expire(
                    in.u32(),
                    ExpiryCondition.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(8);
            out.u32(expiry);
            condition.write(out);
        }
    }

    /** Number 9: the string is shown, and has another expiry; {@code Miss} without one. */
    public static final class ShowAndExpire extends EditKind {
        /** The field {@code expiry}. */
        public final long expiry;

        /** One of these fields. */
        public ShowAndExpire(long expiry) {
            this.expiry = expiry;
        }

        static ShowAndExpire read(WireReader in) throws WireException {
            return new ShowAndExpire(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(9);
            out.u32(expiry);
        }
    }

    /** Number 10: fields are set, from a list of names and values in turn: how many were not there before. */
    public static final class SetFields extends EditKind {
        /** Nothing changes if one is there. */
        public final boolean onlyAbsent;

        /** One of these fields. */
        public SetFields(boolean onlyAbsent) {
            this.onlyAbsent = onlyAbsent;
        }

        static SetFields read(WireReader in) throws WireException {
            return new SetFields(in.bool());
        }

        @Override
        void write(WireWriter out) {
            out.u32(10);
            out.bool(onlyAbsent);
        }
    }

    /** Number 11: the fields in the argument, a list, go, and with the last one the key: how many were there. */
    public static final class RemoveFields extends EditKind {
        @Override
        void write(WireWriter out) {
            out.u32(11);
        }
    }

    /** Number 12: to the field that is the argument, 0 for a missing one: the sum. */
    public static final class AddToField extends EditKind {
        /** The field {@code delta}. */
        public final long delta;

        /** One of these fields. */
        public AddToField(long delta) {
            this.delta = delta;
        }

        static AddToField read(WireReader in) throws WireException {
            return new AddToField(in.i64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(12);
            out.i64(delta);
        }
    }

    /** Number 13: the argument is a list of a field and a decimal number that is added to it: the sum is shown. */
    public static final class AddFloatToField extends EditKind {
        @Override
        void write(WireWriter out) {
            out.u32(13);
        }
    }
}
