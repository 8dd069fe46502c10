package fawn.client.bulk;

/** Sizes of records as {@code --max-item-size} of nodes counts them. */
public final class ItemSize {
    /** What nodes count beside key and value. */
    private static final int OVERHEAD = 63;
    /** The largest {@code --max-item-size}. */
    private static final long MOST_BYTES = 128 << 20;

    private ItemSize() {}

    /** The size of a record with so many bytes of key and value. */
    public static long of(long keyAndValue) {
        return keyAndValue + OVERHEAD;
    }

    /** A sentence on a record that is larger than {@code limit} says, and on what to do; {@code also} with a larger limit of nodes. */
    public static String tooLarge(byte[] key, long keyAndValue, String limit, String also) {
        long size = of(keyAndValue);
        String advice = size > MOST_BYTES
                ? "split it, as no node takes more than " + MOST_BYTES
                : "split it, or start all nodes with --max-item-size " + size + " or more" + also;
        return "the record of key `" + KeyText.of(key) + "` has " + size + " bytes (key, value and " + OVERHEAD
                + "), more than " + limit + ": " + advice;
    }
}
