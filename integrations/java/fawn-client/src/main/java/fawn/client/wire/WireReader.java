package fawn.client.wire;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Bytes that are read: values in postcard's encoding, as docs/wire.md ("How things are written") has it.
 *
 * <p>Numbers of elements are compared with the bytes that are left before anything is allocated for them: no element takes
 * no bytes. So memory is bounded by the number of bytes, whatever they say.
 */
public final class WireReader {
    /** The highest number of 32 bits. */
    static final long MOST_U32 = 0xffff_ffffL;

    private final byte[] bytes;
    private int at;
    private final int end;

    /** Reads one value. */
    interface Decoder<T> {
        T read(WireReader in) throws WireException;
    }

    /** Reads the bytes from {@code start} to {@code end}, which do not change meanwhile. */
    public WireReader(byte[] bytes, int start, int end) {
        this.bytes = bytes;
        this.at = start;
        this.end = end;
    }

    /** Number of bytes that are left. */
    public int left() {
        return end - at;
    }

    int u8() throws WireException {
        if (at == end) {
            throw new WireException("a message ends too early");
        }
        return bytes[at++] & 0xff;
    }

    boolean bool() throws WireException {
        int value = u8();
        if (value > 1) {
            throw new WireException("a bool is 0 or 1, not " + value);
        }
        return value == 1;
    }

    long u32() throws WireException {
        return varint(5, 0x0f);
    }

    /** The number is unsigned. */
    long u64() throws WireException {
        return varint(10, 0x01);
    }

    /** The lowest bit is the sign. */
    long i64() throws WireException {
        long number = u64();
        return (number >>> 1) ^ -(number & 1);
    }

    /** Of so many bytes at most, of which the last is no higher than {@code mostLast}. */
    private long varint(int mostBytes, int mostLast) throws WireException {
        long value = 0;
        for (int count = 0; count < mostBytes; count++) {
            int next = u8();
            value |= (long) (next & 0x7f) << (7 * count);
            if (next < 0x80) {
                if (count == mostBytes - 1 && next > mostLast) {
                    break;
                }
                return value;
            }
        }
        throw new WireException("a number is too long");
    }

    byte[] bytes() throws WireException {
        return fixed(count());
    }

    String string() throws WireException {
        byte[] text = bytes();
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text)).toString();
        } catch (CharacterCodingException error) {
            throw new WireException("a text is not UTF-8");
        }
    }

    byte[] fixed(int count) throws WireException {
        if (count > left()) {
            throw new WireException("a message ends too early");
        }
        at += count;
        return Arrays.copyOfRange(bytes, at - count, at);
    }

    <T> T option(Decoder<T> decoder) throws WireException {
        return bool() ? decoder.read(this) : null;
    }

    <T> List<T> list(Decoder<T> decoder) throws WireException {
        int count = count();
        List<T> values = new ArrayList<>(Math.min(count, 64));
        for (int element = 0; element < count; element++) {
            values.add(decoder.read(this));
        }
        return values;
    }

    <K, V> List<Pair<K, V>> map(Decoder<K> ofKeys, Decoder<V> ofValues) throws WireException {
        return list(in -> in.pair(ofKeys, ofValues));
    }

    <A, B> Pair<A, B> pair(Decoder<A> ofFirst, Decoder<B> ofSecond) throws WireException {
        A first = ofFirst.read(this);
        return new Pair<>(first, ofSecond.read(this));
    }

    <E> E variant(E[] all) throws WireException {
        long number = u32();
        if (number >= all.length) {
            throw noSuch(all[0].getClass().getSimpleName(), number);
        }
        return all[(int) number];
    }

    WireException noSuch(String type, long number) {
        return new WireException("no " + type + " has the number " + number + ": run a client of the cluster's release");
    }

    /** Refuses bytes that are left. */
    void end() throws WireException {
        if (left() > 0) {
            throw new WireException("a message has " + left() + " bytes too many");
        }
    }

    /** A number of bytes or elements, no higher than that of the bytes that are left. */
    private int count() throws WireException {
        long count = u64();
        if (count < 0 || count > left()) {
            throw new WireException("a message ends too early");
        }
        return (int) count;
    }
}
