package fawn.spark;

import fawn.client.FawnException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for what a client was asked. */
final class Reply {
    /** A client ends each operation itself once its time is over: if it has not done so by then, it is broken. */
    private static final long SLACK_MS = 10_000;

    private Reply() {}

    /**
     * What came of an operation with such a time-out.
     *
     * @throws FawnException if the cluster refuses it or does not answer
     * @throws IOException if the client or the task ends
     */
    static <T> T of(Future<T> future, Duration timeout) throws FawnException, IOException {
        try {
            return future.get(timeout.toMillis() + SLACK_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException error) {
            if (error.getCause() instanceof FawnException) {
                throw (FawnException) error.getCause();
            }
            throw new IOException(error.getCause());
        } catch (TimeoutException error) {
            throw new IOException("the client of this process has ended: see the executor's log for the error before this", error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the task was interrupted while it waited for a reply");
        }
    }
}
