package fawn.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Wrong options, schemas and rows are refused in one sentence that says what to do; no cluster is needed for that. */
class OptionsTest {
    private static Sparks spark;

    @BeforeAll
    static void start() {
        spark = Sparks.local();
    }

    @AfterAll
    static void stop() {
        spark.close();
    }

    /** The messages of an error and its causes. */
    static String messages(Throwable error) {
        StringBuilder all = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) {
            all.append(each.getMessage()).append('\n');
        }
        return all.toString();
    }

    private static void refused(String sentence, Executable what) {
        Throwable error = assertThrows(Throwable.class, what);
        String first = messages(error);
        assertTrue(first.contains(sentence), first);
    }

    private static Map<String, String> options(String... more) {
        Map<String, String> options = new HashMap<>(Map.of("managers", "127.0.0.1:1"));
        for (int at = 0; at < more.length; at += 2) {
            options.put(more[at], more[at + 1]);
        }
        return options;
    }

    private static DataFrameReader reader(String... more) {
        return spark.session.read().format("fawn").options(options(more));
    }

    @Test
    void wrongOptionsAreRefused() {
        refused("option managers is missing: name the cluster's managers as HOST:PORT,HOST:PORT",
                () -> spark.session.read().format("fawn").load());
        refused("option managers is HOST:PORT,HOST:PORT, not 'here'", () -> reader("managers", "here").load());
        refused("format fawn has no option 'manager': the options are managers,", () -> reader("manager", "a:1").load());
        refused("format fawn has no paths", () -> reader().load("/data"));
        refused("option value.format is bytes or utf8 or json or avro, not 'xml'", () -> reader("value.format", "xml").load());
        refused("option timeout is a duration above 0, e.g. 500ms", () -> reader("timeout", "soon").load());
        refused("option split.bytes is a number of bytes above 0", () -> reader("split.bytes", "0").load());
        refused("option partitions is a whole number from 1 to 100000", () -> reader("partitions", "-3").load());
        refused("options tls.ca, tls.cert and tls.key are given together", () -> reader("tls.ca", "ca.pem").load());
        refused("value.format=json needs a schema", () -> reader("value.format", "json").load());
        refused("value.format=avro needs option avro.schema", () -> reader("value.format", "avro").load());
        refused("option avro.schema is no Avro schema", () -> reader("value.format", "avro", "avro.schema", "{").load());
        refused("option avro.schema needs value.format=avro", () -> reader("avro.schema", "{}").load());
        refused("option ttl says when puts expire", () -> reader("ttl", "1h", "operation", "delete").load());
    }

    @Test
    void wrongSchemasAreRefused() {
        refused("a table of format fawn has no column 'name'",
                () -> reader().schema("key STRING, name STRING").load().collectAsList());
        refused("column 'cas' is BIGINT in format fawn, not STRING",
                () -> reader().schema("key STRING, cas STRING").load().collectAsList());
        refused("value.format=json has no column of type INTERVAL",
                () -> reader("value.format", "json").schema("key STRING, i INTERVAL").load().collectAsList());
    }

    private static void write(String rows, String... more) {
        Dataset<Row> made = spark.session.sql(rows);
        made.write().format("fawn").options(options(more)).mode("append").save();
    }

    @Test
    void wrongRowsAreRefused() {
        refused("the rows have no column 'key': they have id, value", () -> write("select 1 as id, 'x' as value"));
        refused("the rows have no column 'value': they have key", () -> write("select 'x' as key"));
        refused("column 'key' is STRING or BINARY in format fawn, not INT", () -> write("select 1 as key, 'x' as value"));
        refused("format fawn cannot write column 'more' with value.format=bytes",
                () -> write("select 'k' as key, 'x' as value, 1 as more"));
        refused("the rows have no column of the value's fields", () -> write("select 'k' as key", "value.format", "json"));
        refused("this would delete every record of the cluster", () -> spark.session.sql("select 'k' as key, 'x' as value")
                .write().format("fawn").options(options()).mode("overwrite").save());
    }

    @Test
    void aClusterThatIsNotThereIsSaid() {
        refused("the cluster does not answer within 300 ms", () -> reader("connect.timeout", "300ms").load().collectAsList());
    }

    @Test
    void sizesAndTimesAreRead() {
        assertEquals(8L << 20, Units.size("x", "8m"));
        assertEquals(3L << 30, Units.size("x", "3GB"));
        assertEquals(1500, Units.size("x", "1500"));
        assertEquals(90, Units.duration("x", "90").getSeconds());
        assertEquals(2 * 86400, Units.duration("x", "2d").getSeconds());
        assertEquals(250, Units.duration("x", "250 ms").toMillis());
    }
}
