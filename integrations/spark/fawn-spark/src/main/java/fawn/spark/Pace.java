package fawn.spark;

import java.io.InterruptedIOException;

/** Keeps a task within its limits of records and bytes a second. */
final class Pace {
    private final RateLimiter records;
    private final RateLimiter bytes;
    private final Counts counts;

    /** For one of so many tasks that run at a time. */
    Pace(Settings settings, int atATime, Counts counts) {
        records = new RateLimiter(RateLimiter.share(settings.taskRecords, settings.jobRecords, atATime));
        bytes = new RateLimiter(RateLimiter.share(settings.taskBytes, settings.jobBytes, atATime));
        this.counts = counts;
    }

    /** Counts records, and waits until they may pass. */
    void take(long number, long size) throws InterruptedIOException {
        counts.records += number;
        counts.bytes += size;
        try {
            counts.waitNs += records.take(number) + bytes.take(size);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the task was interrupted while it waited for its rate limit");
        }
    }
}
