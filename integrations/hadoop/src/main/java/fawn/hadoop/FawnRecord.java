package fawn.hadoop;

import fawn.client.Value;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.io.Writable;

/** A value of FAWN with what was put with it; or, to be written, a deletion. */
public final class FawnRecord implements Writable {
    private static final byte[] EMPTY = new byte[0];
    private static final long MOST_U32 = 0xffff_ffffL;

    private byte[] value = EMPTY;
    private long flags;
    private long expiry;
    private long cas;
    private boolean isDeletion;

    /** One with an empty value. */
    public FawnRecord() {}

    /** One that never expires. The array must not be changed as long as the record is used. */
    public FawnRecord(byte[] value) {
        this.value = value;
    }

    /** One with flags from 0 to 4294967295, and a Unix second from which it is gone, 0 for never. */
    public FawnRecord(byte[] value, long flags, long expiry) {
        if (flags < 0 || flags > MOST_U32) {
            throw new IllegalArgumentException("flags are 0 to 4294967295, not " + flags);
        }
        if (expiry < 0 || expiry > MOST_U32) {
            throw new IllegalArgumentException("an expiry is a Unix second from 0 to 4294967295, not " + expiry);
        }
        this.value = value;
        this.flags = flags;
        this.expiry = expiry;
    }

    /** What deletes its key when it is written. */
    public static FawnRecord deletion() {
        FawnRecord record = new FawnRecord();
        record.isDeletion = true;
        return record;
    }

    static FawnRecord of(Value value) {
        FawnRecord record = new FawnRecord(value.bytes, value.flags, value.expiry);
        record.cas = value.cas;
        return record;
    }

    /** The value itself: perhaps empty, and so for a deletion. */
    public byte[] value() {
        return value;
    }

    /** The flags of the program that put it. */
    public long flags() {
        return flags;
    }

    /** The Unix second from which it is gone; 0 for never. */
    public long expiry() {
        return expiry;
    }

    /** Names the version that was read; unsigned. Writing passes it over. */
    public long cas() {
        return cas;
    }

    /** Whether it deletes its key when it is written. */
    public boolean isDeletion() {
        return isDeletion;
    }

    @Override
    public void write(DataOutput out) throws IOException {
        out.writeBoolean(isDeletion);
        out.writeInt((int) flags);
        out.writeInt((int) expiry);
        out.writeLong(cas);
        out.writeInt(value.length);
        out.write(value);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        isDeletion = in.readBoolean();
        flags = in.readInt() & MOST_U32;
        expiry = in.readInt() & MOST_U32;
        cas = in.readLong();
        value = new byte[in.readInt()];
        in.readFully(value);
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof FawnRecord)) {
            return false;
        }
        FawnRecord record = (FawnRecord) other;
        return isDeletion == record.isDeletion && flags == record.flags && expiry == record.expiry && cas == record.cas
                && Arrays.equals(value, record.value);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(value);
    }

    @Override
    public String toString() {
        return isDeletion ? "a deletion" : value.length + " bytes, flags " + flags + ", expiry " + expiry;
    }
}
