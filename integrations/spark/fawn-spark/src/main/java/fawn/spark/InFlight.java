package fawn.spark;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.Item;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Changes of keys under way, a bounded number of them. Of two writes to one key the second begins once the first has ended,
 * so that the later row wins.
 */
final class InFlight {
    private static final int MOST = 512;
    private static final long SLACK_NS = 2_000_000_000L;

    private final FawnClient client;
    private final Settings settings;
    private final Counts counts;
    private final ArrayDeque<Write> writes = new ArrayDeque<>();
    private final Map<ByteBuffer, Write> byKey = new HashMap<>();

    InFlight(FawnClient client, Settings settings, Counts counts) {
        this.client = client;
        this.settings = settings;
        this.counts = counts;
    }

    /** What is done to a key. */
    interface Change {
        /** Begins it, for the first time or again. */
        CompletableFuture<?> begin(FawnClient client);

        /** Judges what came of it. */
        default void end(Object result) throws IOException {
            // A put or a delete has nothing to tell.
        }
    }

    private static final class Write {
        private final byte[] key;
        private final Change change;
        private CompletableFuture<?> future;

        private Write(byte[] key, Change change) {
            this.key = key;
            this.change = change;
        }

        private void begin(FawnClient client) {
            future = change.begin(client);
        }
    }

    /** Begins a put or, with {@code null} for the item, a delete; waits while too much is under way. */
    void add(byte[] key, Item item) throws IOException {
        change(key, item == null ? client -> client.deleteAsync(key) : client -> client.putAsync(key, item));
    }

    /** Begins a change of a key; waits while too much is under way. */
    void change(byte[] key, Change change) throws IOException {
        ByteBuffer name = ByteBuffer.wrap(key);
        while (byKey.containsKey(name) || writes.size() >= MOST) {
            endFirst();
        }
        Write write = new Write(key, change);
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
                Object result = Reply.of(write.future, settings.client.timeout);
                writes.poll();
                byKey.remove(ByteBuffer.wrap(write.key));
                write.change.end(result);
                return;
            } catch (FawnException error) {
                retry = retry == null ? new Retry(settings.retryTimeout, counts) : retry;
                retry.after(error);
                write.begin(client);
            } finally {
                counts.waitNs += System.nanoTime() - beganNs;
            }
        }
    }

    /** Waits, whatever comes of them and even if the thread is interrupted, until none is under way that could still count. */
    void abandon() {
        boolean wasInterrupted = Thread.interrupted();
        // All were begun by now, and end within one time-out.
        long deadlineNs = System.nanoTime() + settings.client.timeout.toNanos() + SLACK_NS;
        while (!writes.isEmpty()) {
            try {
                writes.peek().future.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
                writes.poll();
            } catch (InterruptedException error) {
                wasInterrupted = true;
            } catch (ExecutionException | TimeoutException error) {
                writes.poll();
            }
        }
        byKey.clear();
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
