package fawn.client.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.Failures;
import fawn.client.FawnException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bounds, order and retries of writes, against a store that answers when it is told to. */
@Timeout(60)
final class WriteQueueTest implements WriteQueue.Meter {
    private static final int VALUE_BYTES = 10;

    private final List<String> asked = new ArrayList<>();
    private final List<CompletableFuture<Object>> answers = new ArrayList<>();
    private final List<Object> results = new ArrayList<>();
    /** What the next asks end with; those after them succeed. */
    private final List<Throwable> failures = new ArrayList<>();
    private final WriteQueue queue = new WriteQueue(new RateLimit(0, 0), this).inFlight(2, 1 << 20).patience(Duration.ofSeconds(1));
    private boolean isAnswered = true;
    private long retries;
    private long waitedNs;
    private long pacedNs;

    @Override
    public void retried() {
        retries++;
    }

    @Override
    public void waited(long ns) {
        waitedNs += ns;
    }

    @Override
    public void paced(long ns) {
        pacedNs += ns;
    }

    private CompletableFuture<?> ask(String key) {
        asked.add(key);
        CompletableFuture<Object> answer = new CompletableFuture<>();
        answers.add(answer);
        if (!failures.isEmpty()) {
            answer.completeExceptionally(failures.remove(0));
        } else if (isAnswered) {
            answer.complete(key);
        }
        return answer;
    }

    private void put(WriteQueue into, String key) throws IOException, InterruptedException {
        byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
        into.add(bytes, bytes.length + VALUE_BYTES, new WriteQueue.Write() {
            @Override
            public CompletableFuture<?> begin() {
                return ask(key);
            }

            @Override
            public void end(Object result) {
                results.add(result);
            }
        });
    }

    private void answerLater(int at) {
        CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(() -> answers.get(at).complete(asked.get(at)));
    }

    @Test
    void noMoreThanTheLimitAreUnderWay() throws Exception {
        isAnswered = false;
        put(queue, "a");
        put(queue, "b");
        answerLater(0);
        put(queue, "c");
        assertTrue(answers.get(0).isDone(), "the third waited for the first");
        answerLater(1);
        answerLater(2);
        queue.finish();
        assertEquals(List.of("a", "b", "c"), results);
        assertTrue(waitedNs >= 50_000_000, waitedNs + " ns");
    }

    @Test
    void bytesAreBoundedToo() throws Exception {
        WriteQueue small = new WriteQueue(new RateLimit(0, 0), this).inFlight(100, 20);
        isAnswered = false;
        put(small, "a");
        answerLater(0);
        put(small, "b");
        assertTrue(answers.get(0).isDone());
    }

    @Test
    void theLaterOfTwoWritesToAKeyBeginsLater() throws Exception {
        isAnswered = false;
        put(queue, "a");
        answerLater(0);
        put(queue, "a");
        assertTrue(answers.get(0).isDone());
        assertEquals(List.of("a", "a"), asked);
    }

    @Test
    void whatMayPassIsTriedAgainAndTheRestIsAnErrorThatNamesTheKey() throws Exception {
        failures.add(Failures.of(FawnException.Reason.BUSY));
        failures.add(Failures.of(FawnException.Reason.UNKNOWN));
        put(queue, "a");
        queue.finish();
        assertEquals(List.of("a", "a", "a"), asked);
        assertEquals(2, retries);
        assertEquals(List.of("a"), results);

        failures.add(Failures.of(FawnException.Reason.CONDITIONAL));
        put(queue, "b\n");
        IOException lasting = assertThrows(IOException.class, queue::finish);
        assertTrue(lasting.getMessage().startsWith("the record of key `b\\u000a`, with 12 bytes of key and value, cannot be written: "
                + "this cluster was created with --consistency weak"), lasting.getMessage());
    }

    @Test
    void aRecordThatNodesFindTooLargeIsNamedWithItsSizeAndTheLimitThatItNeeds() throws Exception {
        failures.add(Failures.of(FawnException.Reason.TOO_LARGE));
        put(queue, "k".repeat(200));
        IOException error = assertThrows(IOException.class, queue::finish);
        assertEquals("the record of key `" + "k".repeat(100) + "…` has 273 bytes (key, value and 63), more than the --max-item-size of "
                + "a node: split it, or start all nodes with --max-item-size 273 or more", error.getMessage());
        assertEquals(1, asked.size(), "it is not tried again");
        assertEquals("the record of key `a` has 134217729 bytes (key, value and 63), more than x: split it, as no node takes more "
                + "than 134217728", ItemSize.tooLarge(new byte[] {'a'}, (128 << 20) - 62, "x", " and more"));
    }

    @Test
    void patienceEnds() throws Exception {
        for (int count = 0; count < 100; count++) {
            failures.add(Failures.of(FawnException.Reason.TOO_FEW));
        }
        put(queue, "a");
        long beganNs = System.nanoTime();
        assertThrows(IOException.class, queue::finish);
        long tookMs = (System.nanoTime() - beganNs) / 1_000_000;
        assertTrue(tookMs >= 900 && tookMs < 10_000, tookMs + " ms");
    }

    @Test
    void writesWaitForTheirRate() throws Exception {
        WriteQueue slow = new WriteQueue(new RateLimit(20, 0), this);
        put(slow, "a");
        put(slow, "b");
        assertTrue(pacedNs > 40_000_000 && pacedNs <= 50_000_000, pacedNs + " ns");
    }

    @Test
    void whatIsAbandonedHasEndedEvenIfTheThreadIsInterrupted() throws Exception {
        isAnswered = false;
        put(queue, "a");
        put(queue, "b");
        answers.get(1).completeExceptionally(Failures.of(FawnException.Reason.BUSY));
        answerLater(0);
        Thread.currentThread().interrupt();
        queue.abandon();
        assertTrue(Thread.interrupted(), "the thread still knows");
        assertTrue(answers.get(0).isDone());
        assertEquals(2, asked.size(), "nothing begins again");
        assertFalse(results.contains("a"));
        queue.finish();
    }
}
