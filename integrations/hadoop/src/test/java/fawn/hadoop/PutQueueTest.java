package fawn.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bounds, order and retries of puts, against a store that answers when it is told to. */
@Timeout(60)
final class PutQueueTest implements PutQueue.Store, PutQueue.Meter {
    private final Configuration conf = new Configuration(false);
    private final List<String> asked = new ArrayList<>();
    private final List<CompletableFuture<?>> answers = new ArrayList<>();
    private final Map<FawnCounter, Long> counted = new EnumMap<>(FawnCounter.class);
    /** What the next asks end with; those after them succeed. */
    private final List<Throwable> failures = new ArrayList<>();
    private boolean isAnswered = true;

    @Override
    public CompletableFuture<?> put(byte[] key, FawnRecord record) {
        asked.add(new String(key, StandardCharsets.UTF_8));
        CompletableFuture<?> answer = new CompletableFuture<>();
        answers.add(answer);
        if (!failures.isEmpty()) {
            answer.completeExceptionally(failures.remove(0));
        } else if (isAnswered) {
            answer.complete(null);
        }
        return answer;
    }

    @Override
    public boolean isPassing(Throwable failure) {
        return failure instanceof IOException;
    }

    @Override
    public void count(FawnCounter counter, long by) {
        counted.merge(counter, by, Long::sum);
    }

    @Override
    public void progress() {
        // A task that lives.
    }

    private PutQueue queue;

    @BeforeEach
    void begin() {
        conf.setInt(FawnKeys.IN_FLIGHT, 2);
        conf.setInt(FawnKeys.OUTPUT_PATIENCE, 1);
    }

    private void put(String key) throws IOException, InterruptedException {
        if (queue == null) {
            queue = new PutQueue(this, this, new FawnSettings(conf));
        }
        queue.put(key.getBytes(StandardCharsets.UTF_8), new FawnRecord(new byte[10]));
    }

    private void answerLater(int at) {
        CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(() -> answers.get(at).complete(null));
    }

    @Test
    void noMoreThanTheLimitAreUnderWay() throws Exception {
        isAnswered = false;
        put("a");
        put("b");
        answerLater(0);
        put("c");
        assertTrue(answers.get(0).isDone(), "the third waited for the first");
        answerLater(1);
        answerLater(2);
        queue.flush();
        assertEquals(3, counted.get(FawnCounter.RECORDS_WRITTEN));
        assertEquals(33, counted.get(FawnCounter.BYTES_WRITTEN));
        assertTrue(counted.get(FawnCounter.WRITE_WAIT_MS) >= 50);
    }

    @Test
    void bytesAreBoundedToo() throws Exception {
        conf.setInt(FawnKeys.IN_FLIGHT_BYTES, 20);
        isAnswered = false;
        put("a");
        answerLater(0);
        put("b");
        assertTrue(answers.get(0).isDone());
    }

    @Test
    void theLaterOfTwoRecordsOfAKeyIsPutLater() throws Exception {
        conf.setInt(FawnKeys.IN_FLIGHT, 10);
        isAnswered = false;
        put("a");
        answerLater(0);
        put("a");
        assertTrue(answers.get(0).isDone());
        assertEquals(List.of("a", "a"), asked);
    }

    @Test
    void whatMayPassIsTriedAgainAndTheRestIsAnError() throws Exception {
        failures.add(new IOException("it passes"));
        failures.add(new IOException("it passes"));
        put("a");
        queue.flush();
        assertEquals(List.of("a", "a", "a"), asked);
        assertEquals(2, counted.get(FawnCounter.WRITE_RETRIES));
        assertEquals(1, counted.get(FawnCounter.RECORDS_WRITTEN));

        failures.add(new IllegalStateException("it stays"));
        put("b");
        IOException lasting = assertThrows(IOException.class, queue::flush);
        assertTrue(lasting.getMessage().contains("11 bytes cannot be written"), lasting.getMessage());
    }

    @Test
    void patienceEnds() throws Exception {
        for (int count = 0; count < 100; count++) {
            failures.add(new IOException("it passes"));
        }
        put("a");
        long beganNs = System.nanoTime();
        assertThrows(IOException.class, queue::flush);
        long tookMs = (System.nanoTime() - beganNs) / 1_000_000;
        assertTrue(tookMs >= 900 && tookMs < 10_000, tookMs + " ms");
    }
}
