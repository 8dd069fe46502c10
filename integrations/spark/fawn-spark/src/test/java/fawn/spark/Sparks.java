package fawn.spark;

import fawn.client.Cluster;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.collection.Iterator;

/** Spark in this process, and what its tasks have reported. */
final class Sparks implements AutoCloseable {
    final SparkSession session;
    private final Map<String, Long> metrics = new HashMap<>();
    private int tasks;

    private Sparks(SparkSession.Builder builder) {
        session = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
                .config("spark.driver.host", "127.0.0.1").config("spark.sql.session.timeZone", "UTC")
                .config("spark.sql.ansi.enabled", "false").getOrCreate();
        session.sparkContext().addSparkListener(new SparkListener() {
            @Override
            public void onTaskEnd(SparkListenerTaskEnd end) {
                ended(end);
            }
        });
    }

    static Sparks local() {
        return new Sparks(SparkSession.builder().master("local[2]").config("spark.sql.adaptive.enabled", "false"));
    }

    static Sparks of(SparkSession.Builder builder) {
        return new Sparks(builder);
    }

    private synchronized void ended(SparkListenerTaskEnd end) {
        tasks++;
        Iterator<AccumulableInfo> all = end.taskInfo().accumulables().iterator();
        while (all.hasNext()) {
            AccumulableInfo each = all.next();
            if (each.name().isDefined() && each.update().isDefined() && each.update().get() instanceof Number) {
                metrics.merge(each.name().get(), ((Number) each.update().get()).longValue(), Long::sum);
            }
        }
    }

    /** Forgets what was reported. */
    synchronized void reset() {
        metrics.clear();
        tasks = 0;
    }

    /** What tasks have reported since the last {@link #reset}, by the metric's description. */
    long metric(String description) throws Exception {
        session.sparkContext().listenerBus().waitUntilEmpty();
        synchronized (this) {
            return metrics.getOrDefault(description, 0L);
        }
    }

    long records() throws Exception {
        return metric("records exchanged with nodes");
    }

    long gets() throws Exception {
        return metric("gets");
    }

    int tasks() throws Exception {
        session.sparkContext().listenerBus().waitUntilEmpty();
        synchronized (this) {
            return tasks;
        }
    }

    /** The table of a cluster, with more options as names and values in turn. */
    Dataset<Row> read(Cluster cluster, String... options) {
        return session.read().format("fawn").options(options(cluster, options)).load();
    }

    static Map<String, String> options(Cluster cluster, String... options) {
        Map<String, String> all = new HashMap<>(Map.of("managers", cluster.manager()));
        for (int at = 0; at < options.length; at += 2) {
            all.put(options[at], options[at + 1]);
        }
        return all;
    }

    /** The number of rows and a sum of hashes of these columns, in which their order does not count. */
    static String checksum(Dataset<Row> rows, String columns) {
        return rows.selectExpr("count(*) as n", "sum(cast(xxhash64(" + columns + ") as decimal(38,0))) as hashes")
                .first().toString();
    }

    @Override
    public void close() {
        session.stop();
    }
}
