package fawn.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.bulk.RateLimit;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.junit.jupiter.api.Test;

/** What a configuration means, and what is said of one that means nothing. */
final class FawnSettingsTest {
    private static final long MS = 1_000_000;

    private final Configuration conf = new Configuration(false);
    private final FawnSettings settings = new FawnSettings(conf);

    private void refused(String key, String value, org.junit.jupiter.api.function.Executable reading) {
        conf.set(key, value);
        IOException error = assertThrows(IOException.class, reading);
        assertTrue(error.getMessage().contains(key), error.getMessage());
        conf.unset(key);
    }

    @Test
    void valuesThatCannotBeMeantAreRefusedByName() {
        refused(FawnKeys.SPLITS_PER_RANGE, "0", settings::splitsPerRange);
        refused(FawnKeys.PART_BYTES, "1M", settings::partBytes);
        refused(FawnKeys.INPUT_KEY, "string", settings::inputKey);
        refused(FawnKeys.INPUT_VALUE, "", settings::inputValue);
        refused(FawnKeys.OUTPUT_MODE, "twice", settings::isPutAtCommit);
        refused(FawnKeys.TASK_BYTES_RATE, "-1", settings::outputRate);
        refused(FawnKeys.INPUT_RECORDS_RATE, "NaN", settings::inputRate);
        refused(FawnKeys.TTL, "4294967296", () -> settings.expiresAt(1));
        refused(FawnKeys.TLS_CA, "ca.pem", () -> {
            conf.set(FawnKeys.MANAGERS, "127.0.0.1:1");
            settings.connect(0, 0);
        });
        conf.unset(FawnKeys.MANAGERS);
        IOException none = assertThrows(IOException.class, () -> settings.connect(0, 0));
        assertTrue(none.getMessage().contains("fawn.managers is not set"), none.getMessage());
    }

    @Test
    void keysAndValuesAreOfTheTypesThatAreSet() throws IOException {
        byte[] bytes = {'a'};
        assertEquals(new BytesWritable(bytes), settings.inputKey().apply(bytes));
        FawnRecord record = new FawnRecord(bytes, 3, 4);
        assertEquals(record, settings.inputValue().apply(record));
        conf.set(FawnKeys.INPUT_KEY, "text");
        conf.set(FawnKeys.INPUT_VALUE, "text");
        assertEquals(new Text("a"), settings.inputKey().apply(bytes));
        assertEquals(new Text("a"), settings.inputValue().apply(record));
        conf.set(FawnKeys.INPUT_VALUE, "bytes");
        assertEquals(new BytesWritable(bytes), settings.inputValue().apply(record));
        assertFalse(settings.isPutAtCommit());
    }

    @Test
    void aTimeToLiveCountsFromTheJobsSubmission() throws IOException {
        assertEquals(0, settings.expiresAt(1000));
        conf.unset(FawnKeys.EXPIRES_AT);
        conf.set(FawnKeys.TTL, "60");
        settings.fixExpiry(1000);
        assertEquals(1060, settings.expiresAt(5000), "whenever a task begins");
        conf.set(FawnKeys.TTL, "4294967295");
        settings.fixExpiry(1000);
        assertEquals(4_294_967_295L, settings.expiresAt(0));
    }

    @Test
    void tasksShareTheLimitsOfAJob() throws IOException {
        conf.set(FawnKeys.JOB_RECORDS_RATE, "100");
        conf.setInt(MRJobConfig.NUM_REDUCES, 4);
        assertEquals(40 * MS, second(settings.outputRate()));
        conf.setInt(MRJobConfig.NUM_REDUCES, 0);
        conf.setInt(MRJobConfig.NUM_MAPS, 50);
        assertEquals(500 * MS, second(settings.outputRate()));
        conf.setInt(FawnKeys.TASKS_AT_A_TIME, 2);
        assertEquals(20 * MS, second(settings.outputRate()));
        conf.set(FawnKeys.TASK_RECORDS_RATE, "10");
        assertEquals(100 * MS, second(settings.outputRate()), "the lower one counts");
    }

    /** How long the second record waits. */
    private static long second(RateLimit rate) {
        rate.take(1, 1, 0);
        return rate.take(1, 1, 0);
    }
}
