package fawn.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.Cluster;
import fawn.client.FawnClient;
import fawn.client.Item;
import fawn.client.Options;
import fawn.client.Value;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Appends, overwrites, deletes, expiry and limits. */
class WriteTest {
    private static Cluster cluster;
    private static Sparks spark;
    private static FawnClient client;

    @BeforeAll
    static void start() throws Exception {
        cluster = Cluster.start(2, 2, false);
        spark = Sparks.local();
        client = cluster.connect(new Options());
        spark.session.conf().set("spark.sql.catalog.fawn", FawnCatalog.class.getName());
        spark.session.conf().set("spark.sql.catalog.fawn.managers", cluster.manager());
        spark.session.conf().set("spark.sql.catalog.fawn.value.format", "utf8");
        spark.session.conf().set("spark.sql.catalog.fawn.confirm.truncate", "true");
    }

    @AfterAll
    static void stop() throws Exception {
        if (cluster != null) {
            client.close();
            spark.close();
            cluster.close();
        }
    }

    @BeforeEach
    void empty() throws Exception {
        client.flushAll();
        spark.tasks();
        spark.reset();
    }

    private static Dataset<Row> rows(int count) {
        return spark.session.range(0, count).selectExpr("concat('k', id) as key", "concat('v', id) as value");
    }

    private static void write(Dataset<Row> rows, String mode, String... options) {
        rows.write().format("fawn").options(Sparks.options(cluster, options)).mode(mode).save();
    }

    private static String get(String key) throws Exception {
        return client.get(key.getBytes(StandardCharsets.UTF_8))
                .map(value -> new String(value.bytes, StandardCharsets.UTF_8)).orElse(null);
    }

    private static long count() {
        return spark.read(cluster).count();
    }

    @Test
    void aRowThatNodesFindTooLargeIsNamed() throws Exception {
        Dataset<Row> large = spark.session.sql("select 'large key' as key, repeat('x', 1048576) as value");
        for (String when : new String[] {"row", "commit"}) {
            Throwable error = assertThrows(Throwable.class, () -> write(large, "append", "write.when", when));
            String messages = OptionsTest.messages(error);
            assertTrue(messages.contains("the record of key `large key` has 1048648 bytes (key, value and 63), more than the "
                    + "--max-item-size of a node: split it, or start all nodes with --max-item-size 1048648 or more"), messages);
            assertEquals(null, get("large key"));
        }
    }

    @Test
    void rowsThatAreWrittenTwiceAreOneRecord() throws Exception {
        write(rows(5000), "append");
        write(rows(5000), "append");
        assertEquals(10_000, spark.records());
        assertEquals(5000, count());
        assertEquals("v4999", get("k4999"));
    }

    @Test
    void ofTwoRowsOfATaskTheLaterWins() throws Exception {
        Dataset<Row> rows = spark.session.range(0, 20_000, 1, 1)
                .selectExpr("concat('k', id % 10) as key", "string(id) as value");
        write(rows, "append");
        for (int id = 0; id < 10; id++) {
            assertEquals(String.valueOf(19_990 + id), get("k" + id));
        }
    }

    @Test
    void overwriteDeletesWhatWasThere() throws Exception {
        write(rows(3000), "append");
        write(rows(10), "overwrite", "confirm.truncate", "true");
        assertEquals(10, count());
    }

    @Test
    void rowsCanBeDeletedByTheirKeys() throws Exception {
        write(rows(3000), "append");
        write(rows(2000).select("key"), "append", "operation", "delete");
        assertEquals(1000, count());
        assertEquals(null, get("k1999"));
        assertEquals("v2000", get("k2000"));
    }

    @Test
    void writesWaitForTheCommitIfTheyAreToldTo() throws Exception {
        write(rows(3000), "append", "write.when", "commit");
        assertEquals(3000, count());
        // A task that fails has written nothing.
        Dataset<Row> failing = spark.session.range(0, 1000, 1, 1)
                .selectExpr("concat('f', id) as key", "if(id = 999, raise_error('no'), 'x') as value");
        org.junit.jupiter.api.Assertions.assertThrows(Exception.class,
                () -> write(failing, "append", "write.when", "commit"));
        assertEquals(null, get("f0"));
        org.junit.jupiter.api.Assertions.assertThrows(Exception.class, () -> write(failing, "append"));
        assertEquals("x", get("f0"));
    }

    @Test
    void recordsExpire() throws Exception {
        write(rows(10), "append", "ttl", "1h");
        long expiry = client.get("k1".getBytes(StandardCharsets.UTF_8)).orElseThrow().expiry;
        long ahead = expiry - System.currentTimeMillis() / 1000;
        assertTrue(ahead > 3500 && ahead <= 3600, ahead + " s");
        write(spark.session.sql("select 'a' as key, 'x' as value, timestamp_seconds(4000000000) as expiry "
                + "union all select 'b', 'x', null union all select 'c', 'x', timestamp_seconds(1000)"), "append", "ttl", "1h");
        assertEquals(4_000_000_000L, client.get(new byte[] {'a'}).orElseThrow().expiry);
        long other = client.get(new byte[] {'b'}).orElseThrow().expiry - System.currentTimeMillis() / 1000;
        assertTrue(other > 3500 && other <= 3600, other + " s");
        assertFalse(client.get(new byte[] {'c'}).isPresent());
        write(spark.session.sql("select 'd' as key, 'x' as value"), "append", "ttl", "1s");
        assertEquals("x", get("d"));
        long end = System.currentTimeMillis() + 10_000;
        while (get("d") != null) {
            assertTrue(System.currentTimeMillis() < end, "it does not expire");
            Thread.sleep(100);
        }
    }

    @Test
    void limitsHold() throws Exception {
        long beganNs = System.nanoTime();
        write(rows(1000), "append", "job.records.per.second", "500");
        double seconds = (System.nanoTime() - beganNs) / 1e9;
        assertTrue(seconds > 1.7, seconds + " s for 1000 records at 500 a second");
        assertTrue(spark.metric("ms that tasks waited for replies and rate limits") > 1500, "no waits");
        beganNs = System.nanoTime();
        spark.read(cluster, "task.bytes.per.second", "2000", "partitions", "2").collectAsList();
        seconds = (System.nanoTime() - beganNs) / 1e9;
        // Two tasks at a time read 7,780 bytes.
        assertTrue(seconds > 1.5, seconds + " s for 7780 bytes at 4000 a second");
    }

    @Test
    void sqlReadsWritesAndDeletes() throws Exception {
        spark.session.sql("insert into fawn.records values ('a', '1'), ('b', '2'), ('c', '3')");
        assertEquals("3", get("c"));
        assertEquals(3, spark.session.sql("select * from fawn.records").count());
        spark.session.sql("delete from fawn.records where key in ('a', 'none') or key = 'b'");
        assertEquals("[c,3,0]", spark.session.sql("select key, value, flags from fawn.records").first().toString());
        spark.session.sql("create table fawn.users (key string, name string, age int) tblproperties ('value.format' = 'json')");
        spark.session.sql("insert into fawn.users values ('u1', 'Ann', 31)");
        assertEquals("{\"name\":\"Ann\",\"age\":31}", get("u1"));
        assertEquals(31, spark.session.sql("select age from fawn.users where key = 'u1'").first().getInt(0));
        spark.session.sql("create table fawn.sessions (key string, value string, expiry timestamp)");
        spark.session.sql("insert into fawn.sessions values ('s', 'x', timestamp_seconds(4000000000))");
        assertEquals(4_000_000_000L, client.get(new byte[] {'s'}).orElseThrow().expiry);
        spark.session.sql("drop table fawn.users");
        assertTrue(get("u1") != null, "a record is gone with the table's name");
        spark.session.sql("delete from fawn.records where value = '3'");
        assertEquals(null, get("c"));
        spark.session.sql("delete from fawn.records");
        assertEquals(0, count());
    }

    private static Value value(String key) throws Exception {
        return client.get(key.getBytes(StandardCharsets.UTF_8)).orElseThrow();
    }

    @Test
    void rowsAreUpdatedAndMerged() throws Exception {
        spark.session.sql("create table fawn.people (key string, name string, age int) tblproperties ('value.format' = 'json')");
        spark.session.sql("insert into fawn.people values ('p1', 'Ann', 31), ('p2', 'Bob', 27), ('p3', 'Cid', 44)");
        client.put("p2".getBytes(StandardCharsets.UTF_8), Item.of("{\"name\":\"Bob\",\"age\":27}".getBytes(StandardCharsets.UTF_8))
                .withFlags(7).expiringAt(4_000_000_000L));
        long untouched = value("p3").cas;
        spark.session.sql("update fawn.people set age = age + 1 where age < 40");
        assertEquals("{\"name\":\"Ann\",\"age\":32}", get("p1"));
        assertEquals("{\"name\":\"Bob\",\"age\":28}", get("p2"));
        // What the statement does not name stays.
        assertEquals(7, value("p2").flags);
        assertEquals(4_000_000_000L, value("p2").expiry);
        assertEquals(untouched, value("p3").cas);
        spark.session.sql("update fawn.people set key = 'p9' where key = 'p1'");
        assertEquals(null, get("p1"));
        assertEquals("{\"name\":\"Ann\",\"age\":32}", get("p9"));
        spark.session.sql("merge into fawn.people t using (select * from values ('p2', 'x', 1), ('p3', 'gone', 2), ('p4', 'Dan', 3) "
                + "as s(key, name, age)) s on t.key = s.key when matched and s.name = 'gone' then delete "
                + "when matched then update set name = s.name when not matched then insert *");
        assertEquals("{\"name\":\"x\",\"age\":28}", get("p2"));
        assertEquals(null, get("p3"));
        assertEquals("{\"name\":\"Dan\",\"age\":3}", get("p4"));
        spark.session.sql("delete from fawn.people where age > 30");
        assertEquals(2, count());
        spark.session.sql("drop table fawn.people");
    }

    @Test
    void aRecordThatWasChangedSinceItWasReadIsNotUpdated() throws Exception {
        spark.session.sql("insert into fawn.records values ('a', '1')");
        Settings settings = new Settings(Sparks.options(cluster));
        StructType rows = new StructType().add("key", "string").add("value", "string");
        StructType versions = new StructType().add("flags", "bigint").add("expiry", "timestamp").add("cas", "bigint");
        RowChangeWriter.Factory factory = new RowChangeWriter.Factory(settings, new Layout(settings), rows,
                new StructType().add("key", "string"), versions, 1);
        long cas = value("a").cas;
        InternalRow version = new GenericInternalRow(new Object[] {0L, null, cas});
        InternalRow id = new GenericInternalRow(new Object[] {UTF8String.fromString("a")});
        InternalRow row = new GenericInternalRow(new Object[] {UTF8String.fromString("a"), UTF8String.fromString("2")});
        // Twice, as two attempts would: the second finds what the first has done.
        for (int attempt = 0; attempt < 2; attempt++) {
            DeltaWriter<InternalRow> writer = factory.createWriter(0, attempt);
            writer.update(version, id, row);
            writer.commit();
            writer.close();
            assertEquals("2", get("a"));
        }
        client.put(new byte[] {'a'}, new byte[] {'3'});
        DeltaWriter<InternalRow> writer = factory.createWriter(0, 3);
        writer.update(version, id, row);
        Exception error = org.junit.jupiter.api.Assertions.assertThrows(Exception.class, writer::commit);
        assertEquals("another program has changed the record of key a since it was read: run the statement again",
                error.getMessage());
        writer.abort();
        writer.close();
        assertEquals("3", get("a"));
    }

    @Test
    void streamsWriteEachOfTheirRows() throws Exception {
        java.nio.file.Path files = java.nio.file.Files.createTempDirectory("fawn-spark-stream");
        rows(700).write().parquet(files.resolve("in").toString());
        spark.session.readStream().schema("key STRING, value STRING").parquet(files.resolve("in").toString())
                .writeStream().format("fawn").options(Sparks.options(cluster)).outputMode("append")
                .option("checkpointLocation", files.resolve("checkpoint").toString())
                .trigger(org.apache.spark.sql.streaming.Trigger.AvailableNow()).start().awaitTermination();
        assertEquals(700, count());
        assertEquals("v699", get("k699"));
        org.apache.commons.io.FileUtils.deleteDirectory(files.toFile());
    }

    @Test
    void overwriteOfSomeKeysLeavesTheOthers() throws Exception {
        write(rows(100), "append");
        spark.session.sql("select 'k1' as key, 'new' as value")
                .writeTo("fawn.records").overwrite(org.apache.spark.sql.functions.col("key").isin("k1", "k2"));
        assertEquals(99, count());
        assertEquals("new", get("k1"));
        assertEquals(null, get("k2"));
    }
}
