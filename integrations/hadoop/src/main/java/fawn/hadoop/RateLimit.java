package fawn.hadoop;

/**
 * A limit on records and bytes a second. What is taken at once is paid for afterwards: the next one waits until the rate
 * allows what was taken so far. A pause earns nothing beyond a tenth of a second.
 */
final class RateLimit {
    private static final double SECOND_NS = 1e9;
    private static final long BURST_NS = 100_000_000;

    private final double records;
    private final double bytes;
    /** When all that was taken has been paid for; a number of {@link System#nanoTime}. */
    private long paidNs;
    private boolean hasBegun;

    /** One of so many a second; 0 for no limit. */
    RateLimit(double records, double bytes) {
        this.records = records;
        this.bytes = bytes;
    }

    /** Takes one record of this size; returns how long to wait before that is done. */
    long take(long size, long nowNs) {
        if (!hasBegun || paidNs - nowNs < -BURST_NS) {
            paidNs = hasBegun ? nowNs - BURST_NS : nowNs;
            hasBegun = true;
        }
        long waitNs = Math.max(0, paidNs - nowNs);
        double costNs = Math.max(records > 0 ? SECOND_NS / records : 0, bytes > 0 ? size * SECOND_NS / bytes : 0);
        paidNs += (long) costNs;
        return waitNs;
    }
}
