package fawn.client.bulk;

import fawn.client.FawnException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Writes under way, a bounded number at a time, each until it is acknowledged. Of writes to one key the later one begins once
 * the earlier one is acknowledged, so that it stays. For one thread.
 *
 * <p>A write that failed for want of a node begins again: it must be one that may be repeated, as a put or a delete is.
 */
public final class WriteQueue {
    /** A task that waits says so often that it lives. */
    private static final long PROGRESS_MS = 1000;
    private static final long RETRY_LEAST_MS = 50;
    private static final long RETRY_MOST_MS = 2000;
    /** A client ends each operation itself once its time is over: if it has not done so by then, it is broken. */
    private static final long SLACK_NS = 10_000_000_000L;

    private final RateLimit rate;
    private final Meter meter;
    private final Map<ByteBuffer, Pending> inFlight = new LinkedHashMap<>();
    private int most = 1024;
    private long mostBytes = 16 << 20;
    private Duration patience = Duration.ofMinutes(1);
    private Duration timeout = Duration.ofSeconds(10);
    private long bytes;

    /** What is done to a key. */
    public interface Write {
        /** Begins it, for the first time or again. */
        CompletableFuture<?> begin();

        /** It was acknowledged, with this result. */
        default void end(Object result) throws IOException {
            // A put has nothing to tell.
        }
    }

    /** Who hears what the queue does. */
    public interface Meter {
        /** It has waited so long because of the rate limit. */
        default void paced(long ns) {}

        /** It has waited so long for an acknowledgement. */
        default void waited(long ns) {}

        /** A write begins again. */
        default void retried() {}

        /** It waits, and will go on waiting. */
        default void progress() {}
    }

    private static final class Pending {
        private final ByteBuffer key;
        private final long size;
        private final Write write;
        private final long beganNs = System.nanoTime();
        private CompletableFuture<?> asked;
        private long askedNs;
        private int tries;

        Pending(ByteBuffer key, long size, Write write) {
            this.key = key;
            this.size = size;
            this.write = write;
        }

        void begin() {
            tries++;
            askedNs = System.nanoTime();
            asked = write.begin();
        }

        boolean isAcknowledged() {
            return asked.isDone() && !asked.isCompletedExceptionally();
        }
    }

    /** An empty one. */
    public WriteQueue(RateLimit rate, Meter meter) {
        this.rate = rate;
        this.meter = meter;
    }

    /** Writes under way at a time, and bytes of their keys and values; 1024 and 16 MiB if this is not set. */
    public WriteQueue inFlight(int writes, long bytesOfThem) {
        most = writes;
        mostBytes = bytesOfThem;
        return this;
    }

    /** How long a write is tried again; a minute if this is not set. */
    public WriteQueue patience(Duration time) {
        patience = time;
        return this;
    }

    /** The time-out of the client that writes; ten seconds if this is not set. */
    public WriteQueue timeout(Duration time) {
        timeout = time;
        return this;
    }

    /** Begins a write of so many bytes of key and value; waits while too much is under way. */
    public void add(byte[] key, long size, Write write) throws IOException, InterruptedException {
        Pending next = new Pending(ByteBuffer.wrap(key), size, write);
        Pending before = inFlight.get(next.key);
        if (before != null) {
            await(before);
        }
        while (!inFlight.isEmpty() && oldest().isAcknowledged()) {
            await(oldest());
        }
        while (!inFlight.isEmpty() && (inFlight.size() >= most || bytes + size > mostBytes)) {
            await(oldest());
        }
        long waitNs = rate.take(1, size, System.nanoTime());
        if (waitNs > 0) {
            meter.progress();
            TimeUnit.NANOSECONDS.sleep(waitNs);
            meter.paced(waitNs);
        }
        // If this fails, nothing was begun that has to be waited for.
        next.begin();
        inFlight.put(next.key, next);
        bytes += size;
    }

    /** Waits until all is acknowledged. */
    public void finish() throws IOException, InterruptedException {
        while (!inFlight.isEmpty()) {
            await(oldest());
        }
    }

    /** Waits, whatever comes of them and even if the thread is interrupted, until no write is under way that could still count. */
    public void abandon() {
        boolean wasInterrupted = Thread.interrupted();
        // All were begun by now, and end within one time-out.
        long deadlineNs = System.nanoTime() + timeout.toNanos() + SLACK_NS;
        while (!inFlight.isEmpty()) {
            try {
                oldest().asked.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
                remove(oldest());
            } catch (InterruptedException error) {
                wasInterrupted = true;
            } catch (ExecutionException | TimeoutException error) {
                remove(oldest());
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private Pending oldest() {
        return inFlight.values().iterator().next();
    }

    private void remove(Pending pending) {
        inFlight.remove(pending.key);
        bytes -= pending.size;
    }

    private void await(Pending pending) throws IOException, InterruptedException {
        long beganNs = System.nanoTime();
        Object result = null;
        for (boolean isOver = false; !isOver; ) {
            try {
                result = pending.asked.get(PROGRESS_MS, TimeUnit.MILLISECONDS);
                isOver = true;
            } catch (TimeoutException error) {
                if (System.nanoTime() - pending.askedNs > timeout.toNanos() + SLACK_NS) {
                    throw new IOException("the client of this process has ended: see its log for the error before this", error);
                }
                meter.progress();
            } catch (ExecutionException error) {
                again(pending, error.getCause());
            }
        }
        meter.waited(System.nanoTime() - beganNs);
        remove(pending);
        pending.write.end(result);
    }

    private static String sentence(Pending pending, Throwable cause) {
        boolean isTooLarge = cause instanceof FawnException
                && ((FawnException) cause).reason() == FawnException.Reason.TOO_LARGE;
        return isTooLarge
                ? ItemSize.tooLarge(pending.key.array(), pending.size, "the --max-item-size of a node", "")
                : "the record of key `" + KeyText.of(pending.key.array()) + "`, with " + pending.size
                        + " bytes of key and value, cannot be written: " + cause.getMessage();
    }

    /** Begins a write again, after a while that doubles with each try. */
    private void again(Pending pending, Throwable cause) throws IOException, InterruptedException {
        boolean mayPass = cause instanceof FawnException && ((FawnException) cause).mayPass();
        if (!mayPass || System.nanoTime() - pending.beganNs >= patience.toNanos()) {
            throw new IOException(sentence(pending, cause), cause);
        }
        meter.retried();
        meter.progress();
        long waitMs = Math.min(RETRY_MOST_MS, RETRY_LEAST_MS << Math.min(pending.tries - 1, 10));
        Thread.sleep(waitMs / 2 + ThreadLocalRandom.current().nextLong(waitMs / 2 + 1));
        pending.begin();
    }
}
