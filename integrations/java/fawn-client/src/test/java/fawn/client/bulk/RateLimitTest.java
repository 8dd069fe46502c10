package fawn.client.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** How long a limit has tasks wait. */
final class RateLimitTest {
    private static final long MS = 1_000_000;

    @Test
    void recordsAndBytesArePaidForAfterwards() {
        RateLimit rate = new RateLimit(100, 1000);
        assertEquals(0, rate.take(1, 1, 0));
        assertEquals(10 * MS, rate.take(1, 100, 0), "one record took a hundredth of a second");
        assertEquals(110 * MS, rate.take(1, 1, 0), "and a hundred bytes a tenth");
        assertEquals(20 * MS, rate.take(1, 1, 100 * MS));
    }

    @Test
    void aPauseEarnsATenthOfASecond() {
        RateLimit rate = new RateLimit(10, 0);
        rate.take(1, 1, 0);
        assertEquals(0, rate.take(1, 1, 60_000 * MS));
        assertEquals(0, rate.take(1, 1, 60_000 * MS));
        assertEquals(100 * MS, rate.take(1, 1, 60_000 * MS));
    }

    @Test
    void withoutALimitNobodyWaits() {
        RateLimit rate = new RateLimit(0, 0);
        long most = 0;
        for (int count = 0; count < 1000; count++) {
            most = Math.max(most, rate.take(1, 1 << 20, 5));
        }
        assertEquals(0, most);
    }

    @Test
    void manyRecordsTakeAsLongAsTheRateSays() {
        RateLimit rate = new RateLimit(1000, 0);
        long nowNs = -7;
        for (int count = 0; count < 5000; count++) {
            nowNs += rate.take(1, 1, nowNs);
        }
        assertTrue(Math.abs(nowNs - 4999 * MS) < 2 * MS, nowNs + " ns");
    }

    @Test
    void manyRecordsAtOnceCostAsMuchAsOneByOne() {
        RateLimit rate = new RateLimit(100, 1000);
        rate.take(50, 10, 0);
        assertEquals(500 * MS, rate.take(1, 700, 0));
        assertEquals(1200 * MS, rate.take(1, 0, 0), "the scarcer of the two counts");
    }

    @Test
    void tasksShareTheRateOfAJob() {
        assertEquals(0, RateLimit.share(0, 0, 4));
        assertEquals(250, RateLimit.share(0, 1000, 4));
        assertEquals(100, RateLimit.share(100, 1000, 4));
        assertEquals(250, RateLimit.share(900, 1000, 4));
        assertEquals(0.5, RateLimit.share(0, 2, 4));
        assertEquals(7, RateLimit.share(0, 7, 0), "nobody runs yet");
    }
}
