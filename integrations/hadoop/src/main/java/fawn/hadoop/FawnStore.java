package fawn.hadoop;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.Item;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** The cluster that a task writes to, over a client of its own. */
final class FawnStore implements PutQueue.Store, AutoCloseable {
    private final FawnClient client;
    private final long expiresAt;

    FawnStore(FawnSettings settings) throws IOException {
        expiresAt = settings.expiresAt(System.currentTimeMillis() / 1000);
        client = settings.connect(settings.inFlight(), settings.inFlightBytes());
    }

    @Override
    public CompletableFuture<?> put(byte[] key, FawnRecord record) {
        if (record.isDeletion()) {
            return client.deleteAsync(key);
        }
        Item item = Item.of(record.value()).withFlags(record.flags());
        long expiry = record.expiry() != 0 ? record.expiry() : expiresAt;
        return client.putAsync(key, expiry == 0 ? item : item.expiringAt(expiry));
    }

    @Override
    public boolean isPassing(Throwable cause) {
        if (!(cause instanceof FawnException)) {
            return false;
        }
        switch (((FawnException) cause).reason()) {
            case UNKNOWN:
            case UNREACHED:
            case TIMED_OUT:
            case TOO_FEW:
            case BUSY:
            case FULL:
            case UNREADABLE:
            case AHEAD:
                return true;
            default:
                return false;
        }
    }

    @Override
    public void close() {
        client.close();
    }

    /** Counts in a task's counters. */
    static PutQueue.Meter meter(TaskAttemptContext context) {
        return new PutQueue.Meter() {
            @Override
            public void count(FawnCounter counter, long by) {
                context.getCounter(counter).increment(by);
            }

            @Override
            public void progress() {
                context.progress();
            }
        };
    }
}
