package fawn.client.wire;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Bytes that grow: values in postcard's encoding, as docs/wire.md ("How things are written") has it. */
public final class WireWriter {
    private byte[] bytes;
    private int length;

    /** Writes one value. */
    interface Encoder<T> {
        void write(T value, WireWriter out);
    }

    /** One without bytes, and room for so many. */
    public WireWriter(int capacity) {
        bytes = new byte[Math.max(capacity, 16)];
    }

    /** Number of bytes so far. */
    public int length() {
        return length;
    }

    /** A copy of the bytes. */
    public byte[] toBytes() {
        return Arrays.copyOf(bytes, length);
    }

    /** Writes the bytes to a stream. */
    public void writeTo(OutputStream out) throws IOException {
        out.write(bytes, 0, length);
    }

    /** Appends the bytes of another. */
    public void append(WireWriter other) {
        reserve(other.length);
        System.arraycopy(other.bytes, 0, bytes, length, other.length);
        length += other.length;
    }

    /** Forgets the bytes, and keeps no more room than for so many. */
    public void clear(int keep) {
        length = 0;
        if (bytes.length > keep) {
            bytes = new byte[Math.max(keep, 16)];
        }
    }

    /** The bytes themselves, of which the first {@link #length()} count. */
    byte[] buffer() {
        return bytes;
    }

    /** Overwrites four bytes with a number, lowest byte first. */
    void fixed32At(int at, int value) {
        for (int shift = 0; shift < 32; shift += 8) {
            bytes[at + shift / 8] = (byte) (value >>> shift);
        }
    }

    void u8(int value) {
        reserve(1);
        bytes[length++] = (byte) value;
    }

    void bool(boolean value) {
        u8(value ? 1 : 0);
    }

    void u32(long value) {
        if (value < 0 || value > WireReader.MOST_U32) {
            throw new IllegalArgumentException(value + " is no unsigned number of 32 bits");
        }
        u64(value);
    }

    /** A varint: 7 bits a byte, lowest first. The number is unsigned. */
    void u64(long value) {
        reserve(10);
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            bytes[length++] = (byte) (rest | 0x80);
            rest >>>= 7;
        }
        bytes[length++] = (byte) rest;
    }

    /** A varint whose lowest bit is the sign. */
    void i64(long value) {
        u64((value << 1) ^ (value >> 63));
    }

    void bytes(byte[] value) {
        u64(value.length);
        raw(value);
    }

    void string(String value) {
        bytes(value.getBytes(StandardCharsets.UTF_8));
    }

    void fixed(byte[] value, int count) {
        if (value.length != count) {
            throw new IllegalArgumentException(value.length + " bytes where there have to be " + count);
        }
        raw(value);
    }

    <T> void option(T value, Encoder<T> encoder) {
        bool(value != null);
        if (value != null) {
            encoder.write(value, this);
        }
    }

    <T> void list(List<T> values, Encoder<T> encoder) {
        u64(values.size());
        for (T value : values) {
            encoder.write(value, this);
        }
    }

    <K, V> void map(List<Pair<K, V>> values, Encoder<K> ofKeys, Encoder<V> ofValues) {
        u64(values.size());
        for (Pair<K, V> value : values) {
            pair(value, ofKeys, ofValues);
        }
    }

    <A, B> void pair(Pair<A, B> value, Encoder<A> ofFirst, Encoder<B> ofSecond) {
        ofFirst.write(value.first, this);
        ofSecond.write(value.second, this);
    }

    /** Appends bytes without their number. */
    void raw(byte[] value) {
        reserve(value.length);
        System.arraycopy(value, 0, bytes, length, value.length);
        length += value.length;
    }

    private void reserve(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(length, more), bytes.length + (bytes.length >> 1)));
        }
    }
}
