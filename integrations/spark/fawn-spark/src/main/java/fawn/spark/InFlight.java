package fawn.spark;

import fawn.client.FawnClient;
import fawn.client.Item;
import fawn.client.bulk.RateLimit;
import fawn.client.bulk.WriteQueue;
import java.io.IOException;
import java.io.InterruptedIOException;

/** The writes of a task that are under way, within its limits. Of two rows with one key the later one wins. */
final class InFlight {
    private static final int MOST = 512;

    private final FawnClient client;
    private final Counts counts;
    private final WriteQueue queue;

    InFlight(FawnClient client, Settings settings, RateLimit rate, Counts counts) {
        this.client = client;
        this.counts = counts;
        queue = new WriteQueue(rate, counts)
                .inFlight(MOST, Long.MAX_VALUE)
                .patience(settings.retryTimeout)
                .timeout(settings.client.timeout);
    }

    /** Begins a put or, with {@code null} for the value, a delete; waits while too much is under way. */
    void add(byte[] key, byte[] value, long flags, long expiry) throws IOException {
        if (value == null) {
            change(key, key.length, () -> client.deleteAsync(key));
        } else {
            Item item = RecordBuilder.item(value, flags, expiry);
            change(key, (long) key.length + value.length, () -> client.putAsync(key, item));
        }
    }

    /** Begins a change of a key, with so many bytes of key and value; waits while too much is under way. */
    void change(byte[] key, long size, WriteQueue.Write write) throws IOException {
        counts.records++;
        counts.bytes += size;
        try {
            queue.add(key, size, write);
        } catch (InterruptedException error) {
            throw interrupted();
        }
    }

    /** Waits until all have ended. */
    void finish() throws IOException {
        try {
            queue.finish();
        } catch (InterruptedException error) {
            throw interrupted();
        }
    }

    private static InterruptedIOException interrupted() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("the task was interrupted while it wrote: some of its rows are put");
    }

    /** Waits, whatever comes of them and even if the thread is interrupted, until none is under way that could still count. */
    void abandon() {
        queue.abandon();
    }
}
