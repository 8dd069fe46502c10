package fawn.client.wire;

import java.util.Arrays;

/**
 * Where keys lie: keyed BLAKE3 of a key's bytes under the cluster's secret, of which the first 20 bytes are the position.
 *
 * <p>After the BLAKE3 paper (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020), sections 2.2 to 2.5: chunks of 1024 bytes
 * in blocks of 64, above them a binary tree whose left subtrees hold a power of two of chunks.
 */
public final class PositionHash {
    private static final int BLOCK_BYTES = 64;
    private static final int CHUNK_BYTES = 1024;
    private static final int ROUNDS = 7;
    private static final int CHUNK_START = 1;
    private static final int CHUNK_END = 2;
    private static final int PARENT = 4;
    private static final int ROOT = 8;
    private static final int KEYED_HASH = 16;
    private static final int[] IV = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a};
    private static final int[] PERMUTATION = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};

    private final int[] key;

    /** One under a secret of 32 bytes. */
    public PositionHash(byte[] secret) {
        if (secret.length != 32) {
            throw new IllegalArgumentException("a secret has 32 bytes, not " + secret.length);
        }
        key = new int[8];
        for (int word = 0; word < 8; word++) {
            key[word] = word(secret, 4 * word, secret.length);
        }
    }

    /** The position of a key. */
    public Key position(byte[] name) {
        int[] words = name.length <= CHUNK_BYTES
                ? chunk(name, 0, name.length, 0, ROOT)
                : parent(name, 0, name.length, ROOT);
        byte[] position = new byte[Key.BYTES];
        for (int at = 0; at < Key.BYTES; at++) {
            position[at] = (byte) (words[at / 4] >>> (8 * (at % 4)));
        }
        return Key.of(position);
    }

    /** The chaining value of the bytes from {@code start}, a whole subtree. */
    private int[] subtree(byte[] bytes, int start, int length) {
        return length <= CHUNK_BYTES
                ? chunk(bytes, start, length, start / CHUNK_BYTES, 0)
                : parent(bytes, start, length, 0);
    }

    private int[] parent(byte[] bytes, int start, int length, int flags) {
        int left = CHUNK_BYTES * Integer.highestOneBit((length - 1) / CHUNK_BYTES);
        int[] block = new int[16];
        System.arraycopy(subtree(bytes, start, left), 0, block, 0, 8);
        System.arraycopy(subtree(bytes, start + left, length - left), 0, block, 8, 8);
        return compress(key, block, 0, BLOCK_BYTES, flags | PARENT | KEYED_HASH);
    }

    private int[] chunk(byte[] bytes, int start, int length, long counter, int lastFlags) {
        int[] chaining = key;
        int flags = KEYED_HASH | CHUNK_START;
        int at = 0;
        while (length - at > BLOCK_BYTES) {
            chaining = compress(chaining, block(bytes, start + at, start + length), counter, BLOCK_BYTES, flags);
            flags = KEYED_HASH;
            at += BLOCK_BYTES;
        }
        int[] last = block(bytes, start + at, start + length);
        return compress(chaining, last, counter, length - at, flags | CHUNK_END | lastFlags);
    }

    private static int[] block(byte[] bytes, int start, int end) {
        int[] block = new int[16];
        for (int word = 0; word < 16; word++) {
            block[word] = word(bytes, start + 4 * word, end);
        }
        return block;
    }

    /** Four bytes, lowest first; those from {@code end} on are 0. */
    private static int word(byte[] bytes, int at, int end) {
        int word = 0;
        for (int offset = 0; offset < 4 && at + offset < end; offset++) {
            word |= (bytes[at + offset] & 0xff) << (8 * offset);
        }
        return word;
    }

    private static int[] compress(int[] chaining, int[] block, long counter, int length, int flags) {
        int[] state = Arrays.copyOf(chaining, 16);
        System.arraycopy(IV, 0, state, 8, 4);
        state[12] = (int) counter;
        state[13] = (int) (counter >>> 32);
        state[14] = length;
        state[15] = flags;
        int[] words = block;
        for (int round = 0; round < ROUNDS; round++) {
            for (int column = 0; column < 4; column++) {
                mix(state, column, 4 + column, 8 + column, 12 + column, words[2 * column], words[2 * column + 1]);
            }
            for (int column = 0; column < 4; column++) {
                mix(state, column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4,
                        words[8 + 2 * column], words[9 + 2 * column]);
            }
            int[] permuted = new int[16];
            for (int word = 0; word < 16; word++) {
                permuted[word] = words[PERMUTATION[word]];
            }
            words = permuted;
        }
        int[] output = new int[8];
        for (int word = 0; word < 8; word++) {
            output[word] = state[word] ^ state[word + 8];
        }
        return output;
    }

    private static void mix(int[] state, int a, int b, int c, int d, int first, int second) {
        state[a] += state[b] + first;
        state[d] = Integer.rotateRight(state[d] ^ state[a], 16);
        state[c] += state[d];
        state[b] = Integer.rotateRight(state[b] ^ state[c], 12);
        state[a] += state[b] + second;
        state[d] = Integer.rotateRight(state[d] ^ state[a], 8);
        state[c] += state[d];
        state[b] = Integer.rotateRight(state[b] ^ state[c], 7);
    }
}
