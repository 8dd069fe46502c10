package fawn.client.bulk;

/**
 * A limit on records and bytes a second, for one thread. What is taken at once is paid for afterwards: the next one waits
 * until the rate allows what was taken so far. A pause earns nothing beyond a tenth of a second.
 */
public final class RateLimit {
    private static final double SECOND_NS = 1e9;
    private static final long BURST_NS = 100_000_000;

    private final double records;
    private final double bytes;
    /** When all that was taken has been paid for; a number of {@link System#nanoTime}. */
    private long paidNs;
    private boolean hasBegun;

    /** One of so many a second; 0 for no limit. */
    public RateLimit(double records, double bytes) {
        this.records = records;
        this.bytes = bytes;
    }

    /**
     * The rate of one task: its share of the job's rate among the tasks that run at a time, or its own rate if that is
     * lower; 0 for no limit.
     */
    public static double share(double ofTask, double ofJob, int atATime) {
        double share = ofJob / Math.max(1, atATime);
        return ofTask == 0 || share == 0 ? Math.max(ofTask, share) : Math.min(ofTask, share);
    }

    /** Takes so many records with so many bytes in all; returns how many nanoseconds to wait before that is done. */
    public long take(long number, long size, long nowNs) {
        if (!hasBegun || paidNs - nowNs < -BURST_NS) {
            paidNs = hasBegun ? nowNs - BURST_NS : nowNs;
            hasBegun = true;
        }
        long waitNs = Math.max(0, paidNs - nowNs);
        double ofRecords = records > 0 ? number * SECOND_NS / records : 0;
        double ofBytes = bytes > 0 ? size * SECOND_NS / bytes : 0;
        paidNs += (long) Math.max(ofRecords, ofBytes);
        return waitNs;
    }
}
