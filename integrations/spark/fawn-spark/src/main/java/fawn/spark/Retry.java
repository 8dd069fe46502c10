package fawn.spark;

import fawn.client.FawnException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Tries what failed for want of a node again, after waits that double, until its time is over. */
final class Retry {
    private static final long LEAST_MS = 50;
    private static final long MOST_MS = 2_000;

    private final long deadlineNs;
    private final Counts counts;
    private long waitMs = LEAST_MS;

    Retry(Duration time, Counts counts) {
        deadlineNs = System.nanoTime() + time.toNanos();
        this.counts = counts;
    }

    /** Waits before the next try, or throws what the last one ended with. */
    void after(FawnException error) throws IOException {
        if (!error.mayPass() || System.nanoTime() >= deadlineNs) {
            throw failed(error);
        }
        counts.retries++;
        try {
            Thread.sleep(waitMs / 2 + ThreadLocalRandom.current().nextLong(waitMs / 2 + 1));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the task was interrupted while it waited to retry: " + error.getMessage());
        }
        waitMs = Math.min(2 * waitMs, MOST_MS);
    }

    static IOException failed(FawnException error) {
        return new IOException(error.getMessage(), error);
    }
}
