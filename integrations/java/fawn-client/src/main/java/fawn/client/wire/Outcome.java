// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Outcome} of the wire: one of its variants. */
public abstract class Outcome {
    private Outcome() {}

    abstract void write(WireWriter out);

    static Outcome read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Stored.read(in);
            case 1:
                return new NotStored();
            case 2:
                return new Exists();
            case 3:
                return new NotFound();
            case 4:
                return new Deleted();
            case 5:
                return new Touched();
            case 6:
                return Number.read(in);
            case 7:
                return new NonNumeric();
            case 8:
                return Hit.read(in);
            case 9:
                return new Miss();
            case 10:
                return Integer.read(in);
            case 11:
                return new Computed();
            case 12:
                return Refused.read(in);
            default:
                throw in.noSuch("Outcome", number);
        }
    }

    /** Number 0. */
    public static final class Stored extends Outcome {
        /** The new version's. */
        public final Cas cas;
        /** Bytes of the value that is there now. */
        public final long size;

        /** One of these fields. */
        public Stored(Cas cas, long size) {
            this.cas = cas;
            this.size = size;
        }

        static Stored read(WireReader in) throws WireException {
            return new Stored(
                    Cas.read(in),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            cas.write(out);
            out.u64(size);
        }
    }

    /** Number 1: the condition of the store's mode did not hold, or the value would become too large. */
    public static final class NotStored extends Outcome {
        @Override
        void write(WireWriter out) {
            out.u32(1);
        }
    }

    /** Number 2: the cas did not match. */
    public static final class Exists extends Outcome {
        @Override
        void write(WireWriter out) {
            out.u32(2);
        }
    }

    /** Number 3: no such key. */
    public static final class NotFound extends Outcome {
        @Override
        void write(WireWriter out) {
            out.u32(3);
        }
    }

    /** Number 4: deleted or marked stale. */
    public static final class Deleted extends Outcome {
        @Override
        void write(WireWriter out) {
            out.u32(4);
        }
    }

    /** Number 5: the expiry is set. */
    public static final class Touched extends Outcome {
        @Override
        void write(WireWriter out) {
            out.u32(5);
        }
    }

    /** Number 6: the counter's new value. */
    public static final class Number extends Outcome {
        /** The field {@code value}. */
        public final fawn.client.wire.Number value;

        /** One of these fields. */
        public Number(fawn.client.wire.Number value) {
            this.value = value;
        }

        static Number read(WireReader in) throws WireException {
            return new Number(fawn.client.wire.Number.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(6);
            value.write(out);
        }
    }

    /** Number 7: the counter's value is no number. */
    public static final class NonNumeric extends Outcome {
        @Override
        void write(WireWriter out) {
            out.u32(7);
        }
    }

    /** Number 8: the item, as it was before the operation; its value is in {@code shown}. */
    public static final class Hit extends Outcome {
        /** The field {@code value}. */
        public final fawn.client.wire.Hit value;

        /** One of these fields. */
        public Hit(fawn.client.wire.Hit value) {
            this.value = value;
        }

        static Hit read(WireReader in) throws WireException {
            return new Hit(fawn.client.wire.Hit.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(8);
            value.write(out);
        }
    }

    /** Number 9: a get, an edit or a view found nothing. */
    public static final class Miss extends Outcome {
        @Override
        void write(WireWriter out) {
            out.u32(9);
        }
    }

    /** Number 10: an edit or a view came to this number. */
    public static final class Integer extends Outcome {
        /** The field {@code value}. */
        public final long value;

        /** One of these fields. */
        public Integer(long value) {
            this.value = value;
        }

        static Integer read(WireReader in) throws WireException {
            return new Integer(in.i64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(10);
            out.i64(value);
        }
    }

    /** Number 11: an edit or a view has computed what {@code shown} has, with flags 0. */
    public static final class Computed extends Outcome {
        @Override
        void write(WireWriter out) {
            out.u32(11);
        }
    }

    /** Number 12: an edit or a view was refused; nothing was changed. */
    public static final class Refused extends Outcome {
        /** The field {@code value}. */
        public final EditError value;

        /** One of these fields. */
        public Refused(EditError value) {
            this.value = value;
        }

        static Refused read(WireReader in) throws WireException {
            return new Refused(EditError.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(12);
            value.write(out);
        }
    }
}
