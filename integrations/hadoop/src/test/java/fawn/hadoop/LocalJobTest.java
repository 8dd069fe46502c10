package fawn.hadoop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.Cluster;
import fawn.client.FawnClient;
import fawn.client.Item;
import fawn.client.Options;
import fawn.client.Value;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs in this process on a cluster of real ones, with certificates on both sides. */
@Timeout(300)
final class LocalJobTest {
    private static final int RECORDS = 700;
    private static final long EXPIRY = 4_000_000_000L;
    private static final String LARGE = "test.large";

    @TempDir
    private Path directory;

    /** Copies records; those whose numbers end in 7 are deleted, and those that end in 8 come twice. */
    static final class Copy extends Mapper<Text, FawnRecord, Text, FawnRecord> {
        @Override
        protected void map(Text key, FawnRecord record, Context context) throws IOException, InterruptedException {
            if (context.getConfiguration().getBoolean(LARGE, false)) {
                context.write(key, new FawnRecord(new byte[1 << 20]));
            } else if (key.toString().endsWith("7")) {
                context.write(key, FawnRecord.deletion());
            } else {
                if (key.toString().endsWith("8")) {
                    context.write(key, new FawnRecord(new byte[] {'o', 'l', 'd'}));
                }
                context.write(key, record);
            }
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private Job job(Cluster cluster, String to) throws IOException {
        Configuration conf = new Configuration();
        conf.set("mapreduce.framework.name", "local");
        conf.set("hadoop.tmp.dir", directory.toString());
        conf.setInt("mapreduce.local.map.tasks.maximum", 4);
        conf.set(FawnKeys.MANAGERS, cluster.manager());
        conf.set(FawnKeys.TLS_CA, cluster.certificatesDirectory().resolve("ca.pem").toString());
        conf.set(FawnKeys.TLS_CERTIFICATE, cluster.certificatesDirectory().resolve("app.pem").toString());
        conf.set(FawnKeys.TLS_KEY, cluster.certificatesDirectory().resolve("app-key.pem").toString());
        conf.set(FawnKeys.INPUT_KEY, "text");
        conf.set(FawnKeys.INPUT_PREFIX, "in/");
        conf.set(FawnKeys.OUTPUT_PREFIX, to);
        conf.setInt(FawnKeys.SPLITS_PER_RANGE, 2);
        conf.setInt(FawnKeys.IN_FLIGHT, 16);
        Job job = Job.getInstance(conf);
        job.setInputFormatClass(FawnInputFormat.class);
        job.setOutputFormatClass(FawnOutputFormat.class);
        job.setMapperClass(Copy.class);
        job.setNumReduceTasks(0);
        return job;
    }

    private static void fill(FawnClient client) throws Exception {
        for (int number = 0; number < RECORDS; number++) {
            Item item = Item.of(bytes("value-" + number)).withFlags(number);
            client.put(bytes("in/" + number), number % 2 == 0 ? item.expiringAt(EXPIRY) : item);
            client.put(bytes("other/" + number), bytes("x"));
            for (String to : List.of("direct/", "commit/")) {
                client.put(bytes(to + number), bytes("stale"));
            }
        }
    }

    /** What a copy has left; those without an expiry have the job's, which lies {@code between} two seconds. */
    private static void check(FawnClient client, String to, long[] between) throws Exception {
        for (int number = 0; number < RECORDS; number++) {
            Optional<Value> found = client.get(bytes(to + number));
            assertEquals(number % 10 != 7, found.isPresent(), to + number);
            if (found.isEmpty()) {
                continue;
            }
            assertArrayEquals(bytes("value-" + number), found.get().bytes, "the later of two records stays");
            assertEquals(number, found.get().flags);
            long expiry = found.get().expiry;
            assertTrue(number % 2 == 0 ? expiry == EXPIRY : expiry >= between[0] && expiry <= between[1], expiry + " s");
        }
    }

    private TaskAttemptContext attempt(Cluster cluster, String mode, int mostItemBytes) throws IOException {
        Configuration conf = job(cluster, mode + "/").getConfiguration();
        conf.set(FawnKeys.OUTPUT_MODE, mode);
        conf.setInt(FawnKeys.MOST_ITEM_BYTES, mostItemBytes);
        return new TaskAttemptContextImpl(conf, new TaskAttemptID("large", 1, TaskType.MAP, 0, mostItemBytes));
    }

    private static void write(TaskAttemptContext attempt, String key, int valueBytes) throws Exception {
        FawnRecordWriter writer = FawnRecordWriter.of(attempt);
        try {
            writer.write(new Text(key), new FawnRecord(new byte[valueBytes], 1, 0));
        } finally {
            writer.close(attempt);
        }
        FawnOutputCommitter committer = new FawnOutputCommitter();
        if (committer.needsTaskCommit(attempt)) {
            try {
                committer.commitTask(attempt);
            } finally {
                committer.abortTask(attempt);
            }
        }
    }

    /** By the task itself, or by the nodes that refuse it. */
    private void aRecordThatIsTooLargeIsNamed(Cluster cluster, FawnClient client) throws Exception {
        int most = 1 << 20;
        for (String mode : List.of("direct", "commit")) {
            IOException own = assertThrows(IOException.class, () -> write(attempt(cluster, mode, most), "key\n1", most));
            String start = "the record of key `" + mode + "/key\\u000a1` has " + (most + mode.length() + 6 + 63) + " bytes (key, value and 63), ";
            assertTrue(own.getMessage().startsWith(start + "more than fawn.output.max.item.bytes allows, 1048576: split it, or "),
                    own.getMessage());
            IOException nodes = assertThrows(IOException.class, () -> write(attempt(cluster, mode, 64 << 20), "key\n1", most));
            assertTrue(nodes.getMessage().startsWith(start + "more than the --max-item-size of a node: split it, or start all nodes "),
                    nodes.getMessage());
            assertEquals(Optional.empty(), client.get(bytes(mode + "/key\n1")));
            write(attempt(cluster, mode, most), "2", most - mode.length() - 2 - 63);
            assertTrue(client.get(bytes(mode + "/2")).isPresent(), "a record of that size is stored");
        }
    }

    private static long count(Counters counters, FawnCounter counter) {
        return counters.findCounter(counter).getValue();
    }

    @Test
    void recordsAreCopiedDeletedAndExpireInBothModes() throws Exception {
        try (Cluster cluster = Cluster.start(2, 2, true); FawnClient client = cluster.connect(new Options())) {
            fill(client);
            for (String mode : List.of("direct", "commit")) {
                Job job = job(cluster, mode + "/");
                job.getConfiguration().set(FawnKeys.OUTPUT_MODE, mode);
                job.getConfiguration().setInt(FawnKeys.TTL, 10_000);
                long began = System.currentTimeMillis() / 1000;
                assertTrue(job.waitForCompletion(false), job.getStatus().getFailureInfo());
                long ended = System.currentTimeMillis() / 1000;
                check(client, mode + "/", new long[] {began + 10_000, ended + 10_000});
                Counters counters = job.getCounters();
                assertEquals(RECORDS, counters.findCounter(TaskCounter.MAP_INPUT_RECORDS).getValue());
                assertEquals(RECORDS, count(counters, FawnCounter.RECORDS_READ));
                assertEquals(RECORDS / 10, count(counters, FawnCounter.RECORDS_DELETED));
                assertEquals(RECORDS, count(counters, FawnCounter.RECORDS_WRITTEN), "a tenth is not written, another twice");
            }
            try (Stream<Path> left = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
                List<Path> spools = left.filter(path -> path.getFileName().toString().contains("local"))
                        .filter(path -> path.getFileName().toString().endsWith(".spool")).collect(Collectors.toList());
                assertEquals(List.of(), spools);
            }

            Job large = job(cluster, "large/");
            large.getConfiguration().setBoolean(LARGE, true);
            assertFalse(large.waitForCompletion(false), "nodes do not take such records");
            assertEquals(Optional.empty(), client.get(bytes("large/1")));

            aRecordThatIsTooLargeIsNamed(cluster, client);

            Job keyless = job(cluster, "none/");
            keyless.getConfiguration().set(FawnKeys.TLS_KEY, directory.resolve("none.pem").toString());
            IOException noKey = assertThrows(IOException.class, keyless::submit);
            assertTrue(noKey.getMessage().contains("none.pem"), noKey.getMessage());
        }
    }
}
