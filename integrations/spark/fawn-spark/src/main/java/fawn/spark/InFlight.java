package fawn.spark;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.Item;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Puts and deletes under way, a bounded number of them. Of two writes to one key the second begins once the first has ended,
 * so that the later row wins.
 */
final class InFlight {
    private static final int MOST = 512;

    private final FawnClient client;
    private final Duration retryTimeout;
    private final Counts counts;
    private final ArrayDeque<Write> writes = new ArrayDeque<>();
    private final Map<ByteBuffer, Write> byKey = new HashMap<>();

    InFlight(FawnClient client, Duration retryTimeout, Counts counts) {
        this.client = client;
        this.retryTimeout = retryTimeout;
        this.counts = counts;
    }

    /** A put or, without an item, a delete. */
    private static final class Write {
        private final byte[] key;
        private final Item item;
        private CompletableFuture<?> future;

        private Write(byte[] key, Item item) {
            this.key = key;
            this.item = item;
        }

        private void begin(FawnClient client) {
            future = item == null ? client.deleteAsync(key) : client.putAsync(key, item);
        }
    }

    /** Begins a put or, with {@code null} for the item, a delete; waits while too much is under way. */
    void add(byte[] key, Item item) throws IOException {
        ByteBuffer name = ByteBuffer.wrap(key);
        while (byKey.containsKey(name) || writes.size() >= MOST) {
            endFirst();
        }
        Write write = new Write(key, item);
        write.begin(client);
        writes.add(write);
        byKey.put(name, write);
    }

    /** Waits until all have ended. */
    void finish() throws IOException {
        while (!writes.isEmpty()) {
            endFirst();
        }
    }

    private void endFirst() throws IOException {
        Write write = writes.peek();
        Retry retry = null;
        for (;;) {
            long beganNs = System.nanoTime();
            try {
                write.future.get();
                writes.poll();
                byKey.remove(ByteBuffer.wrap(write.key));
                return;
            } catch (ExecutionException error) {
                if (!(error.getCause() instanceof FawnException)) {
                    throw new IOException(error.getCause());
                }
                retry = retry == null ? new Retry(retryTimeout, counts) : retry;
                retry.after((FawnException) error.getCause());
                write.begin(client);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("the task was interrupted while it waited for a write");
            } finally {
                counts.waitNs += System.nanoTime() - beganNs;
            }
        }
    }

    /** Waits, whatever comes of them and even if the thread is interrupted, until none is under way that could still count. */
    void abandon() {
        boolean wasInterrupted = Thread.interrupted();
        while (!writes.isEmpty()) {
            try {
                writes.peek().future.get();
                writes.poll();
            } catch (InterruptedException error) {
                wasInterrupted = true;
            } catch (ExecutionException error) {
                writes.poll();
            }
        }
        byKey.clear();
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
