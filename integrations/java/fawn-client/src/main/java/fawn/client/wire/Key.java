package fawn.client.wire;

import java.math.BigInteger;
import java.util.Arrays;

/** A position in the key space: 20 bytes, most significant first. */
public final class Key implements Comparable<Key> {
    /** Bytes of a position. */
    public static final int BYTES = 20;
    /** The lowest position. */
    public static final Key LOWEST = filled(0);
    /** The highest position. */
    public static final Key HIGHEST = filled(0xff);

    private final byte[] bytes;

    private Key(byte[] bytes) {
        this.bytes = bytes;
    }

    /** The position that the first 20 of these bytes are. */
    public static Key of(byte[] bytes) {
        if (bytes.length < BYTES) {
            throw new IllegalArgumentException("a position has 20 bytes, not " + bytes.length);
        }
        return new Key(Arrays.copyOf(bytes, BYTES));
    }

    /** The position of this number, from 0 to the number of the highest. */
    static Key of(BigInteger number) {
        byte[] given = number.toByteArray();
        byte[] bytes = new byte[BYTES];
        int length = Math.min(given.length, BYTES);
        System.arraycopy(given, given.length - length, bytes, BYTES - length, length);
        return new Key(bytes);
    }

    private static Key filled(int value) {
        byte[] bytes = new byte[BYTES];
        Arrays.fill(bytes, (byte) value);
        return new Key(bytes);
    }

    static Key read(WireReader in) throws WireException {
        return new Key(in.fixed(BYTES));
    }

    void write(WireWriter out) {
        out.raw(bytes);
    }

    /** A copy of the bytes. */
    public byte[] toBytes() {
        return bytes.clone();
    }

    /** How many positions are lower. */
    public BigInteger toNumber() {
        return new BigInteger(1, bytes);
    }

    /** The top 64 bits, unsigned. */
    public long prefix() {
        long prefix = 0;
        for (int at = 0; at < 8; at++) {
            prefix = prefix << 8 | (bytes[at] & 0xff);
        }
        return prefix;
    }

    /** The next position; {@code null} after the highest. */
    public Key successor() {
        byte[] next = bytes.clone();
        for (int at = BYTES - 1; at >= 0; at--) {
            next[at]++;
            if (next[at] != 0) {
                return new Key(next);
            }
        }
        return null;
    }

    /** The position before; {@code null} before the lowest. */
    public Key predecessor() {
        byte[] before = bytes.clone();
        for (int at = BYTES - 1; at >= 0; at--) {
            before[at]--;
            if (before[at] != (byte) 0xff) {
                return new Key(before);
            }
        }
        return null;
    }

    @Override
    public int compareTo(Key other) {
        return Arrays.compareUnsigned(bytes, other.bytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Key && Arrays.equals(bytes, ((Key) other).bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(2 * BYTES);
        for (byte each : bytes) {
            text.append(String.format("%02x", each & 0xff));
        }
        return text.toString();
    }
}
