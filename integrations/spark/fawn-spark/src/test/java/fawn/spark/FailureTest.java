package fawn.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.Cluster;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Executors in processes of their own, with speculation: nodes die under reads and writes, and the answer is the same. */
class FailureTest {
    private static final int RECORDS = 40_000;
    private static final long PART_MS = 2_000;
    private static Standalone standalone;
    private static Sparks spark;
    private static volatile int speculative;

    @BeforeAll
    static void start() throws Exception {
        org.junit.jupiter.api.Assumptions.assumeTrue(
                System.getenv("FAWN_BIN") != null, "skipped: name the fawn binary in FAWN_BIN");
        standalone = new Standalone();
        spark = Sparks.of(SparkSession.builder().master(standalone.url())
                .config("spark.executor.memory", "512m").config("spark.executor.extraClassPath", Standalone.classPath())
                .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
                .config("spark.speculation", "true").config("spark.speculation.interval", "50ms")
                .config("spark.speculation.multiplier", "1.2").config("spark.speculation.quantile", "0.3")
                .config("spark.speculation.minTaskRuntime", "50ms"));
        spark.session.sparkContext().addSparkListener(new SparkListener() {
            @Override
            public void onTaskStart(SparkListenerTaskStart start) {
                speculative += start.taskInfo().speculative() ? 1 : 0;
            }
        });
    }

    @AfterAll
    static void stop() throws Exception {
        if (spark != null) {
            spark.close();
            standalone.close();
        }
    }

    /** Rows of which one partition's first attempt is slow, so that Spark starts another one. */
    private static Dataset<Row> rows(boolean isSlow) {
        MapPartitionsFunction<Long, String> slowly = ids -> {
            boolean waits = isSlow && TaskContext.getPartitionId() == 0 && TaskContext.get().attemptNumber() == 0;
            java.util.ArrayList<String> made = new java.util.ArrayList<>();
            ids.forEachRemaining(id -> made.add("k" + id));
            java.util.Iterator<String> all = made.iterator();
            return new java.util.Iterator<>() {
                private int count;

                @Override
                public boolean hasNext() {
                    return all.hasNext();
                }

                @Override
                public String next() {
                    if (waits && ++count % 100 == 0) {
                        try {
                            Thread.sleep(PART_MS / 20);
                        } catch (InterruptedException error) {
                            throw new IllegalStateException(error);
                        }
                    }
                    return all.next();
                }
            };
        };
        return spark.session.range(0, RECORDS, 1, 8).as(Encoders.LONG()).mapPartitions(slowly, Encoders.STRING())
                .selectExpr("value as key", "sha2(value, 256) as value");
    }

    private static void write(Cluster cluster, Dataset<Row> rows, String... options) {
        rows.write().format("fawn").options(Sparks.options(cluster, options)).mode("append").save();
    }

    @Test
    void aNodeDiesUnderAWrite() throws Exception {
        try (Cluster cluster = Cluster.start(3, 3, false)) {
            String expected = Sparks.checksum(rows(false), "key, value");
            speculative = 0;
            // About five seconds, in the midst of which a node dies.
            CompletableFuture<Void> killed = CompletableFuture.runAsync(() -> {
                sleep(PART_MS);
                cluster.kill("n2");
            });
            write(cluster, rows(true), "job.records.per.second", "10000");
            killed.join();
            assertTrue(speculative > 0, "no attempt was speculative");
            Dataset<Row> found = spark.read(cluster, "value.format", "utf8");
            assertEquals(expected, Sparks.checksum(found, "key, value"));
            // The same rows once more, and with attempts that write nothing before they commit.
            write(cluster, rows(true), "write.when", "commit");
            assertEquals(expected, Sparks.checksum(found, "key, value"));
        }
    }

    @Test
    void aNodeDiesUnderAScan() throws Exception {
        try (Cluster cluster = Cluster.start(3, 3, false)) {
            write(cluster, rows(false));
            String expected = Sparks.checksum(rows(false), "key, value");
            Dataset<Row> slow = spark.read(cluster, "value.format", "utf8", "job.records.per.second", "10000", "partitions", "32");
            CompletableFuture<Void> killed = CompletableFuture.runAsync(() -> {
                sleep(PART_MS);
                cluster.kill("n1");
            });
            String found = Sparks.checksum(slow, "key, value");
            assertTrue(killed.isDone(), "the scan was over before the node died");
            assertEquals(expected, found);
            assertEquals(expected, Sparks.checksum(spark.read(cluster, "value.format", "utf8"), "key, value"));
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
