package fawn.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskType;
import org.junit.jupiter.api.Test;

/** What an attempt keeps until it may commit. */
final class SpoolTest {
    @Test
    void recordsComeBackAsTheyWereOnceTheFileIsWhole() throws Exception {
        TaskAttemptID attempt = new TaskAttemptID("spool" + ProcessHandle.current().pid(), 1, TaskType.MAP, 2, 3);
        try (Spool spool = new Spool(attempt)) {
            spool.add(new byte[] {'a'}, new FawnRecord(new byte[] {1, 2}, 0xffff_ffffL, 0xffff_fffeL));
            spool.add(new byte[] {'b'}, FawnRecord.deletion());
            assertFalse(Spool.exists(attempt), "nothing is to be committed yet");
        }
        assertTrue(Spool.exists(attempt));
        List<String> keys = new ArrayList<>();
        List<FawnRecord> records = new ArrayList<>();
        Spool.read(attempt, (key, record) -> {
            keys.add(new String(key));
            records.add(record);
        });
        assertEquals(List.of("a", "b"), keys);
        assertEquals(new FawnRecord(new byte[] {1, 2}, 0xffff_ffffL, 0xffff_fffeL), records.get(0));
        assertTrue(records.get(1).isDeletion());
        Spool.delete(attempt);
        assertFalse(Spool.exists(attempt));
    }
}
