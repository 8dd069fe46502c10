package fawn.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.Cluster;
import fawn.client.FawnClient;
import fawn.client.Item;
import fawn.client.Options;
import fawn.client.Value;
import java.nio.charset.StandardCharsets;
import java.sql.Timestamp;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is written in a format is read in it, and is what other clients see. */
class FormatsTest {
    private static Cluster cluster;
    private static Sparks spark;
    private static FawnClient client;

    @BeforeAll
    static void start() throws Exception {
        cluster = Cluster.start(2, 2, false);
        spark = Sparks.local();
        client = cluster.connect(new Options());
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
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void write(Dataset<Row> rows, String... options) {
        rows.write().format("fawn").options(Sparks.options(cluster, options)).mode("append").save();
    }

    @Test
    void bytesOfEveryLengthComeBack() throws Exception {
        Dataset<Row> rows = spark.session.range(0, 2000).selectExpr(
                "unhex(concat('00ff', sha2(string(id), 256))) as key",
                "unhex(repeat(sha2(string(id), 256), int(id % 50))) as value", "id % 7 as flags");
        write(rows);
        Dataset<Row> found = spark.read(cluster, "key.format", "bytes");
        assertEquals(Sparks.checksum(rows, "key, value, flags"), Sparks.checksum(found, "key, value, flags"));
        assertEquals("(0,0)", found.selectExpr("count(expiry)", "count(*) - count(cas)").first().toString()
                .replace('[', '(').replace(']', ')'));
    }

    @Test
    void textIsWhatOtherClientsSee() throws Exception {
        write(spark.session.sql("select 'grün' as key, 'straße €' as value"), "value.format", "utf8");
        Value value = client.get(utf8("grün")).orElseThrow();
        assertEquals("straße €", new String(value.bytes, StandardCharsets.UTF_8));
        client.put(utf8("empty"), Item.of(new byte[0]).withFlags(0xffff_ffffL).expiringAt(4_000_000_000L));
        List<Row> rows = spark.read(cluster, "value.format", "utf8").orderBy("key").collectAsList();
        assertEquals(2, rows.size());
        assertEquals("empty", rows.get(0).getString(0));
        assertEquals("", rows.get(0).getString(1));
        assertEquals(0xffff_ffffL, rows.get(0).getLong(2));
        assertEquals(new Timestamp(4_000_000_000_000L), rows.get(0).getTimestamp(3));
        assertEquals("straße €", rows.get(1).getString(1));
        assertNull(rows.get(1).get(3));
        assertEquals(value.cas, rows.get(1).getLong(4));
    }

    private static final String JSON_SCHEMA = "key STRING, name STRING, age INT, score DOUBLE, price DECIMAL(10,2), "
            + "ok BOOLEAN, at TIMESTAMP, day DATE, raw BINARY, tags ARRAY<STRING>, sizes MAP<STRING, BIGINT>, "
            + "home STRUCT<street: STRING, number: SMALLINT>";

    @Test
    void jsonHasEveryType() throws Exception {
        Dataset<Row> rows = spark.session.range(0, 500).selectExpr("concat('user:', id) as key", "concat('N \"', id) as name",
                "if(id % 10 = 0, null, int(id)) as age", "id / 7 as score", "cast(id * 1.01 as decimal(10,2)) as price",
                "id % 2 = 0 as ok", "timestamp_micros(1700000000123456 + id) as at", "date_add(date'2024-02-28', int(id)) as day",
                "unhex(sha2(string(id), 256)) as raw", "array('a', null, string(id)) as tags",
                "map('x', id, 'y', null) as sizes", "named_struct('street', concat('S', id), 'number', smallint(id)) as home");
        write(rows, "value.format", "json");
        Dataset<Row> found = spark.session.read().format("fawn").schema(JSON_SCHEMA)
                .options(Sparks.options(cluster, "value.format", "json")).load();
        String columns = "key, name, age, score, price, ok, at, day, raw, tags, sizes.x, home";
        assertEquals(Sparks.checksum(rows, columns), Sparks.checksum(found, columns));
        // A field in a struct, alone.
        assertEquals(499L * 500 / 2, found.selectExpr("sum(home.number)").first().getLong(0));
        String text = new String(client.get(utf8("user:10")).orElseThrow().bytes, StandardCharsets.UTF_8);
        assertTrue(text.startsWith("{\"name\":\"N \\\"10\",\"score\":1.42857"), text);
    }

    @Test
    void aValueOfAnotherFormatIsAnErrorOrNullOrSkipped() throws Exception {
        client.put(utf8("a"), utf8("{\"n\": 1}"));
        client.put(utf8("b"), utf8("{\"n\": "));
        client.put(utf8("c"), utf8("{\"n\": \"x\"}"));
        String[] errors = {"fail", "null", "skip"};
        long[] counts = {0, 3, 1};
        for (int at = 1; at < 3; at++) {
            Dataset<Row> rows = spark.session.read().format("fawn").schema("key STRING, n INT")
                    .options(Sparks.options(cluster, "value.format", "json", "value.errors", errors[at])).load();
            assertEquals(counts[at], rows.collectAsList().size());
            assertEquals(1, rows.where("n is not null").collectAsList().size());
        }
        Dataset<Row> rows = spark.session.read().format("fawn").schema("key STRING, n INT")
                .options(Sparks.options(cluster, "value.format", "json")).load();
        Exception error = assertThrows(Exception.class, rows::collectAsList);
        assertTrue(OptionsTest.messages(error).contains("is not of value.format json"), OptionsTest.messages(error));
        // What is not decoded is not judged.
        assertEquals(3, rows.select("key").collectAsList().size());
    }

    @Test
    void avroGoesByItsSchema() throws Exception {
        String schema = "{\"type\": \"record\", \"name\": \"R\", \"fields\": [{\"name\": \"name\", \"type\": \"string\"},"
                + "{\"name\": \"n\", \"type\": \"long\"}, {\"name\": \"part\", \"type\": [\"null\", \"double\"]}]}";
        Dataset<Row> rows = spark.session.range(0, 300).selectExpr("concat('k', id) as key", "concat('name ', id) as name",
                "id * id as n", "if(id % 3 = 0, null, id / 3) as part");
        write(rows, "value.format", "avro", "avro.schema", schema);
        Dataset<Row> found = spark.read(cluster, "value.format", "avro", "avro.schema", schema);
        assertEquals(Sparks.checksum(rows, "key, name, n, part"), Sparks.checksum(found, "key, name, n, part"));
        assertEquals(299L * 299, found.where("key = 'k299'").select("n").first().getLong(0));
        client.put(utf8("bad"), new byte[] {1, 2, 3});
        Exception error = assertThrows(Exception.class, () -> found.where("key = 'bad'").collectAsList());
        assertTrue(OptionsTest.messages(error).contains("is not of value.format avro"), OptionsTest.messages(error));
    }

    @Test
    void fieldsWithTheNamesOfColumnsOfTheRecordNeedAPrefix() throws Exception {
        client.put(utf8("k"), utf8("{\"key\": \"inner\", \"flags\": \"many\"}"));
        Row row = spark.session.read().format("fawn").schema("_key STRING, key STRING, flags STRING, _flags BIGINT")
                .options(Sparks.options(cluster, "value.format", "json", "columns.prefix", "_")).load().first();
        assertEquals("[k,inner,many,0]", row.toString());
    }

    @Test
    void certificatesAreShown() throws Exception {
        try (Cluster safe = Cluster.start(1, 1, true)) {
            String files = safe.certificatesDirectory().toString();
            String[] options = {"tls.ca", files + "/ca.pem", "tls.cert", files + "/app.pem", "tls.key", files + "/app-key.pem"};
            spark.session.sql("select 'k' as key, 'v' as value").write().format("fawn")
                    .options(Sparks.options(safe, options)).mode("append").save();
            assertEquals(1, spark.read(safe, options).where("key = 'k' and value = X'76'").count());
            Exception error = assertThrows(Exception.class, () -> spark.read(safe, "connect.timeout", "1s").count());
            assertTrue(OptionsTest.messages(error).contains("the cluster does not answer"), OptionsTest.messages(error));
        }
    }

    @Test
    void binaryKeysAreReadAsBytes() throws Exception {
        byte[] key = {0, (byte) 0xff, 10};
        client.put(key, utf8("v"));
        Row row = spark.read(cluster, "key.format", "bytes").where("key = X'00FF0A'").first();
        assertArrayEquals(key, row.<byte[]>getAs("key"));
    }
}
