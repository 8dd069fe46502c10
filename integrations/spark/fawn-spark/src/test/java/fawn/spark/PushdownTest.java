package fawn.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.Cluster;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What Spark leaves to the connector is not read: shown by the records that nodes have sent. */
class PushdownTest {
    private static final int RECORDS = 60_000;
    private static Cluster cluster;
    private static Sparks spark;
    private static Dataset<Row> table;

    @BeforeAll
    static void start() throws Exception {
        cluster = Cluster.start(3, 2, false);
        spark = Sparks.local();
        spark.session.range(0, RECORDS).selectExpr("concat('key:', id) as key", "concat('value ', id) as value", "id % 3 as flags")
                .write().format("fawn").options(Sparks.options(cluster)).mode("append").save();
        table = spark.read(cluster, "value.format", "utf8");
        table.createOrReplaceTempView("kv");
    }

    @AfterAll
    static void stop() throws Exception {
        if (cluster != null) {
            spark.close();
            cluster.close();
        }
    }

    @BeforeEach
    void reset() throws Exception {
        spark.tasks();
        spark.reset();
    }

    private static String keys(int count) {
        return IntStream.range(0, count).mapToObj(id -> "'key:" + id * 59 + "'").collect(Collectors.joining(","));
    }

    @Test
    void aThousandKeysAreGets() throws Exception {
        List<Row> rows = spark.session.sql("select key, value from kv where key in (" + keys(1000) + ", 'absent')")
                .collectAsList();
        assertEquals(1000, rows.size());
        rows.forEach(row -> assertEquals(row.getString(0).replace("key:", "value "), row.getString(1)));
        assertEquals(1001, spark.gets());
        assertEquals(1000, spark.records());
        assertEquals(1, spark.tasks());
    }

    @Test
    void keysOfConditionsAreCombined() throws Exception {
        assertEquals(1, spark.session.sql("select * from kv where key = 'key:7' and flags = 1").collectAsList().size());
        assertEquals(1, spark.records());
        spark.reset();
        assertEquals(0, spark.session.sql("select * from kv where key = 'key:7' and flags = 2").collectAsList().size());
        assertEquals(1, spark.records());
        spark.reset();
        assertEquals(1, spark.session.sql(
                "select * from kv where (key = 'key:7' and flags = 1) or key in ('key:8', 'none') and flags = 1").count());
        assertEquals(2, spark.records());
        spark.reset();
        assertEquals(0, spark.session.sql("select * from kv where key = 'key:7' and key = 'key:8'").count());
        assertEquals(0, spark.gets());
        // A condition that says nothing of the key reads everything.
        assertEquals(1, spark.session.sql("select * from kv where key = 'key:7' or value = 'value 7'").count());
        assertEquals(RECORDS, spark.records());
    }

    @Test
    void manyKeysAreDividedByTheirOwners() throws Exception {
        Dataset<Row> rows = spark.read(cluster, "gets.per.task", "100").where("key in (" + keys(1000) + ")");
        assertEquals(1000, rows.collectAsList().size());
        assertEquals(10, spark.tasks());
    }

    @Test
    void prefixesAreComparedBeforeRowsAreMade() throws Exception {
        assertEquals(1111, spark.session.sql("select value from kv where key like 'key:5_%' and key like 'key:55%'")
                .collectAsList().size() + 0L);
        String plan = spark.session.sql("explain select value from kv where key like 'key:55%'").first().getString(0);
        assertTrue(plan.contains("keys by prefix"), plan);
    }

    @Test
    void countsMakeNoRows() throws Exception {
        Dataset<Row> counted = spark.session.sql("select count(*), count(key) from kv");
        assertEquals("[" + RECORDS + "," + RECORDS + "]", counted.first().toString());
        assertEquals(RECORDS, spark.records());
        // One row a task: nothing else is handed on to Spark.
        long rows = spark.metric("number of output rows");
        assertTrue(rows < 100, rows + " rows");
        spark.reset();
        assertEquals(2, spark.session.sql("select count(*) from kv where key in ('key:1', 'key:2', 'no')").first().getLong(0));
        assertEquals(2, spark.records());
    }

    @Test
    void aLimitEndsReadsEarly() throws Exception {
        assertEquals(10, spark.session.sql("select key from kv limit 10").collectAsList().size());
        assertTrue(spark.records() < RECORDS / 4, spark.records() + " records");
    }

    @Test
    void onlyColumnsThatAreWantedAreMade() {
        String plan = spark.session.sql("explain select key from kv").first().getString(0);
        assertTrue(plan.contains("BatchScan fawn[key#"), plan);
        assertTrue(!plan.contains("value#"), plan);
    }

    @Test
    void partitionsFollowRanges() throws Exception {
        int usual = table.rdd().getNumPartitions();
        assertTrue(usual >= 4, usual + " partitions");
        Dataset<Row> more = spark.read(cluster, "partitions", "24", "value.format", "utf8");
        assertTrue(more.rdd().getNumPartitions() >= 24, more.rdd().getNumPartitions() + " partitions");
        assertEquals(Sparks.checksum(table, "key, value, flags"), Sparks.checksum(more, "key, value, flags"));
        for (FawnPartition each : new Planner(new Settings(Sparks.options(cluster))).scans(2)) {
            assertEquals("[127.0.0.1]", List.of(each.preferredLocations()).toString());
        }
    }

    @Test
    void statisticsAreEstimatedFromSamples() {
        Planner planner = new Planner(new Settings(Sparks.options(cluster)));
        double records = planner.density().records();
        assertTrue(records > RECORDS * 0.8 && records < RECORDS * 1.2, records + " records");
        double each = planner.density().bytes() / records;
        assertTrue(each > 16 && each < 24, each + " bytes a record");
    }

    @Test
    void lookupsJoinAnyNumberOfRowsByGets() throws Exception {
        Dataset<Row> rows = spark.session.range(0, 20_000, 1, 4).selectExpr("concat('key:', id * 6) as k", "id");
        Dataset<Row> joined = FawnLookup.join(rows, "k", Sparks.options(cluster, "value.format", "utf8"));
        assertEquals("k STRING,id BIGINT NOT NULL,value STRING,flags BIGINT,expiry TIMESTAMP,cas BIGINT".replace(" NOT NULL", ""),
                joined.schema().toDDL().replace(" NOT NULL", ""));
        // Half of the keys are there.
        assertEquals("[20000,10000,10000,0]", joined.selectExpr("count(*)", "count(value)",
                "count_if(value = concat('value ', id * 6) and flags = 0 and cas is not null)", "count(expiry)").first().toString());
        assertEquals(1, FawnLookup.join(spark.session.sql("select string(null) as k"), "k", Sparks.options(cluster))
                .where("value is null").count());
        Exception error = org.junit.jupiter.api.Assertions.assertThrows(IllegalArgumentException.class,
                () -> FawnLookup.join(rows, "id", Sparks.options(cluster)));
        assertEquals("the rows have no column 'id' of type STRING or BINARY", error.getMessage());
    }

    @Test
    void joinsOnTheKeyBecomeGets() throws Exception {
        spark.session.range(0, 1000).selectExpr("concat('key:', id * 7) as k", "id").write().mode("overwrite")
                .parquet(System.getProperty("java.io.tmpdir") + "/fawn-spark-join-" + ProcessHandle.current().pid());
        Dataset<Row> side = spark.session.read()
                .parquet(System.getProperty("java.io.tmpdir") + "/fawn-spark-join-" + ProcessHandle.current().pid());
        side.createOrReplaceTempView("side");
        for (String isAdaptive : List.of("false", "true")) {
            spark.session.conf().set("spark.sql.adaptive.enabled", isAdaptive);
            spark.tasks();
            spark.reset();
            List<Row> rows = spark.session.sql("select kv.key, value from kv join side on kv.key = side.k where side.id < 20")
                    .collectAsList();
            assertEquals(20, rows.size());
            assertEquals(20, spark.gets());
            assertEquals(20, spark.records());
        }
        spark.session.conf().set("spark.sql.adaptive.enabled", "false");
    }
}
