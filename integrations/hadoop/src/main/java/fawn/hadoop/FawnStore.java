package fawn.hadoop;

import fawn.client.FawnClient;
import fawn.client.Item;
import fawn.client.bulk.WriteQueue;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** The cluster that a task writes to, over a client of its own. It counts in the task's counters. */
final class FawnStore implements WriteQueue.Meter, AutoCloseable {
    private final TaskAttemptContext context;
    private final FawnClient client;
    private final long expiresAt;
    private final WriteQueue queue;
    private long pacedNs;
    private long waitedNs;

    FawnStore(FawnSettings settings, TaskAttemptContext context) throws IOException {
        this.context = context;
        expiresAt = settings.expiresAt(System.currentTimeMillis() / 1000);
        queue = settings.writeQueue(this);
        client = settings.connect(settings.inFlight(), settings.inFlightBytes());
    }

    /** Begins to put a record; waits while too many are under way. */
    void put(byte[] key, FawnRecord record) throws IOException, InterruptedException {
        long size = (long) key.length + record.value().length;
        queue.add(key, size, new WriteQueue.Write() {
            @Override
            public CompletableFuture<?> begin() {
                return record.isDeletion() ? client.deleteAsync(key) : client.putAsync(key, item(record));
            }

            @Override
            public void end(Object result) {
                if (record.isDeletion()) {
                    count(FawnCounter.RECORDS_DELETED, 1);
                } else {
                    count(FawnCounter.RECORDS_WRITTEN, 1);
                    count(FawnCounter.BYTES_WRITTEN, size);
                }
            }
        });
    }

    private Item item(FawnRecord record) {
        Item item = Item.of(record.value()).withFlags(record.flags());
        long expiry = record.expiry() != 0 ? record.expiry() : expiresAt;
        return expiry == 0 ? item : item.expiringAt(expiry);
    }

    /** Waits until all is acknowledged. */
    void flush() throws IOException, InterruptedException {
        queue.finish();
    }

    @Override
    public void close() {
        client.close();
    }

    /** Counts whole milliseconds of a sum of waits, most of which are shorter; the sum. */
    private long countMillis(FawnCounter counter, long beforeNs, long ns) {
        long sumNs = beforeNs + ns;
        count(counter, sumNs / 1_000_000 - beforeNs / 1_000_000);
        return sumNs;
    }

    private void count(FawnCounter counter, long by) {
        context.getCounter(counter).increment(by);
    }

    @Override
    public void paced(long ns) {
        pacedNs = countMillis(FawnCounter.RATE_WAIT_MS, pacedNs, ns);
    }

    @Override
    public void waited(long ns) {
        waitedNs = countMillis(FawnCounter.WRITE_WAIT_MS, waitedNs, ns);
    }

    @Override
    public void retried() {
        count(FawnCounter.WRITE_RETRIES, 1);
    }

    @Override
    public void progress() {
        context.progress();
    }
}
