package fawn.spark;

import java.util.concurrent.TimeUnit;

/** Lets so many units a second pass, a tenth of a second's at once. For one thread. */
final class RateLimiter {
    private static final double BURST_S = 0.1;

    private final double perNs;
    private final double most;
    private double left;
    private long lastNs;

    /** One of so many units a second; 0 for no limit. */
    RateLimiter(long perSecond) {
        perNs = perSecond / 1e9;
        most = perSecond * BURST_S;
        left = most;
        lastNs = System.nanoTime();
    }

    /** Waits until so many units may pass; returns the nanoseconds that it waited. */
    long take(long units) throws InterruptedException {
        if (perNs == 0) {
            return 0;
        }
        long nowNs = System.nanoTime();
        left = Math.min(most, left + (nowNs - lastNs) * perNs);
        lastNs = nowNs;
        left -= units;
        if (left >= 0) {
            return 0;
        }
        // What is owed is waited for now, so that a unit larger than the burst passes too.
        TimeUnit.NANOSECONDS.sleep((long) (-left / perNs));
        return System.nanoTime() - nowNs;
    }

    /** The share of a job's limit that each of its tasks may have, so that those that run at a time keep it; 0 for none. */
    static long share(long perTask, long perJob, int tasks) {
        long share = perJob == 0 ? 0 : Math.max(1, perJob / Math.max(1, tasks));
        if (perTask == 0 || share == 0) {
            return Math.max(perTask, share);
        }
        return Math.min(perTask, share);
    }
}
