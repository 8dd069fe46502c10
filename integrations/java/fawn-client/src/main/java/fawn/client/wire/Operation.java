// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Operation} of the wire: one of its variants. */
public abstract class Operation {
    private Operation() {}

    abstract void write(WireWriter out);

    static Operation read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return new Get();
            case 1:
                return GetAndTouch.read(in);
            case 2:
                return MetaGet.read(in);
            case 3:
                return Store.read(in);
            case 4:
                return Delete.read(in);
            case 5:
                return Arithmetic.read(in);
            case 6:
                return Touch.read(in);
            case 7:
                return View.read(in);
            case 8:
                return Edit.read(in);
            default:
                throw in.noSuch("Operation", number);
        }
    }

    /** Number 0: the value. */
    public static final class Get extends Operation {
        @Override
        void write(WireWriter out) {
            out.u32(0);
        }
    }

    /** Number 1: the value, and a new expiry. */
    public static final class GetAndTouch extends Operation {
        /** The field {@code expiry}. */
        public final long expiry;

        /** One of these fields. */
        public GetAndTouch(long expiry) {
            this.expiry = expiry;
        }

        static GetAndTouch read(WireReader in) throws WireException {
            return new GetAndTouch(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(1);
            out.u32(expiry);
        }
    }

    /** Number 2: the value, with the meta commands' conditions. */
    public static final class MetaGet extends Operation {
        /** The field {@code value}. */
        public final fawn.client.wire.MetaGet value;

        /** One of these fields. */
        public MetaGet(fawn.client.wire.MetaGet value) {
            this.value = value;
        }

        static MetaGet read(WireReader in) throws WireException {
            return new MetaGet(fawn.client.wire.MetaGet.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(2);
            value.write(out);
        }
    }

    /** Number 3: a new value. */
    public static final class Store extends Operation {
        /** The field {@code value}. */
        public final fawn.client.wire.Store value;

        /** One of these fields. */
        public Store(fawn.client.wire.Store value) {
            this.value = value;
        }

        static Store read(WireReader in) throws WireException {
            return new Store(fawn.client.wire.Store.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(3);
            value.write(out);
        }
    }

    /** Number 4: a delete or invalidation. */
    public static final class Delete extends Operation {
        /** The field {@code value}. */
        public final fawn.client.wire.Delete value;

        /** One of these fields. */
        public Delete(fawn.client.wire.Delete value) {
            this.value = value;
        }

        static Delete read(WireReader in) throws WireException {
            return new Delete(fawn.client.wire.Delete.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(4);
            value.write(out);
        }
    }

    /** Number 5: a step of a counter. */
    public static final class Arithmetic extends Operation {
        /** The field {@code value}. */
        public final fawn.client.wire.Arithmetic value;

        /** One of these fields. */
        public Arithmetic(fawn.client.wire.Arithmetic value) {
            this.value = value;
        }

        static Arithmetic read(WireReader in) throws WireException {
            return new Arithmetic(fawn.client.wire.Arithmetic.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(5);
            value.write(out);
        }
    }

    /** Number 6: a new expiry. */
    public static final class Touch extends Operation {
        /** The field {@code expiry}. */
        public final long expiry;

        /** One of these fields. */
        public Touch(long expiry) {
            this.expiry = expiry;
        }

        static Touch read(WireReader in) throws WireException {
            return new Touch(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(6);
            out.u32(expiry);
        }
    }

    /** Number 7: a part of the value, or something computed from it. Since version 8. */
    public static final class View extends Operation {
        /** The field {@code value}. */
        public final fawn.client.wire.View value;

        /** One of these fields. */
        public View(fawn.client.wire.View value) {
            this.value = value;
        }

        static View read(WireReader in) throws WireException {
            return new View(fawn.client.wire.View.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(7);
            value.write(out);
        }
    }

    /** Number 8: a change of a part of the value. Since version 8. */
    public static final class Edit extends Operation {
        /** The field {@code value}. */
        public final fawn.client.wire.Edit value;

        /** One of these fields. */
        public Edit(fawn.client.wire.Edit value) {
            this.value = value;
        }

        static Edit read(WireReader in) throws WireException {
            return new Edit(fawn.client.wire.Edit.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(8);
            value.write(out);
        }
    }
}
