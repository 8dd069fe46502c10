package fawn.hadoop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Puts records, a bounded number at a time, each until it is acknowledged. Of records with one key the later one is put once
 * the earlier one is acknowledged, so that it stays.
 */
final class PutQueue {
    /** A task that waits says so often that it lives. */
    private static final long PROGRESS_MS = 1000;
    private static final long RETRY_LEAST_MS = 50;
    private static final long RETRY_MOST_MS = 2000;

    private final Store store;
    private final Meter meter;
    private final RateLimit rate;
    private final int most;
    private final long mostBytes;
    private final long patienceMs;
    private final Map<ByteBuffer, Pending> inFlight = new LinkedHashMap<>();
    private long bytes;

    /** Where records go. */
    interface Store {
        CompletableFuture<?> put(byte[] key, FawnRecord record);

        /** Whether what went wrong may pass by itself. */
        boolean isPassing(Throwable failure);
    }

    /** Who is told what was done. */
    interface Meter {
        void count(FawnCounter counter, long by);

        void progress();
    }

    private static final class Pending {
        private final byte[] key;
        private final FawnRecord record;
        private final long size;
        private final long beganNs = System.nanoTime();
        private CompletableFuture<?> asked;
        private int tries = 1;

        Pending(byte[] key, FawnRecord record) {
            this.key = key;
            this.record = record;
            size = (long) key.length + record.value().length;
        }
    }

    PutQueue(Store store, Meter meter, FawnSettings settings) throws IOException {
        this.store = store;
        this.meter = meter;
        rate = settings.outputRate();
        most = settings.inFlight();
        mostBytes = settings.inFlightBytes();
        patienceMs = settings.outputPatienceMs();
    }

    /** Begins to put a record; waits while too many are under way. */
    void put(byte[] key, FawnRecord record) throws IOException, InterruptedException {
        Pending next = new Pending(key, record);
        Pending before = inFlight.get(ByteBuffer.wrap(key));
        if (before != null) {
            await(before);
        }
        while (!inFlight.isEmpty() && isAcknowledged(oldest())) {
            await(oldest());
        }
        while (!inFlight.isEmpty() && (inFlight.size() >= most || bytes + next.size > mostBytes)) {
            await(oldest());
        }
        long waitNs = rate.take(next.size, System.nanoTime());
        if (waitNs > 0) {
            meter.progress();
            TimeUnit.NANOSECONDS.sleep(waitNs);
            meter.count(FawnCounter.RATE_WAIT_MS, waitNs / 1_000_000);
        }
        inFlight.put(ByteBuffer.wrap(key), next);
        bytes += next.size;
        next.asked = store.put(key, record);
    }

    /** Waits until all is acknowledged. */
    void flush() throws IOException, InterruptedException {
        while (!inFlight.isEmpty()) {
            await(oldest());
        }
    }

    private Pending oldest() {
        Iterator<Pending> all = inFlight.values().iterator();
        return all.next();
    }

    private static boolean isAcknowledged(Pending pending) {
        return pending.asked.isDone() && !pending.asked.isCompletedExceptionally();
    }

    private void await(Pending pending) throws IOException, InterruptedException {
        long beganNs = System.nanoTime();
        boolean isWaiting = !isAcknowledged(pending);
        for (;;) {
            try {
                pending.asked.get(PROGRESS_MS, TimeUnit.MILLISECONDS);
                break;
            } catch (TimeoutException error) {
                meter.progress();
            } catch (ExecutionException error) {
                again(pending, error.getCause());
            }
        }
        if (isWaiting) {
            meter.count(FawnCounter.WRITE_WAIT_MS, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNs));
        }
        inFlight.remove(ByteBuffer.wrap(pending.key));
        bytes -= pending.size;
        if (pending.record.isDeletion()) {
            meter.count(FawnCounter.RECORDS_DELETED, 1);
        } else {
            meter.count(FawnCounter.RECORDS_WRITTEN, 1);
            meter.count(FawnCounter.BYTES_WRITTEN, pending.size);
        }
    }

    /**
     * Puts a record again. It is the same key, value and expiry, so that it does not matter whether the last try was carried
     * out, unless somebody else writes the key meanwhile.
     */
    private void again(Pending pending, Throwable cause) throws IOException, InterruptedException {
        long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - pending.beganNs);
        if (!store.isPassing(cause) || tookMs >= patienceMs) {
            throw new IOException("a record of " + pending.size + " bytes cannot be written: " + cause.getMessage(), cause);
        }
        meter.count(FawnCounter.WRITE_RETRIES, 1);
        meter.progress();
        Thread.sleep(Math.min(RETRY_MOST_MS, RETRY_LEAST_MS << Math.min(pending.tries, 10)));
        pending.tries++;
        pending.asked = store.put(pending.key, pending.record);
    }
}
