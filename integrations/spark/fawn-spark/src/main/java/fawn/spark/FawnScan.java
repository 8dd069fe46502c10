package fawn.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.OptionalLong;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.types.StructType;

/** A read: gets of the keys where they are known, and otherwise a scan of all ranges. */
final class FawnScan implements Scan, Batch, SupportsReportStatistics, SupportsRuntimeV2Filtering {
    private final Read read;
    private KeySet keys;
    private Planner planner;
    private int tasks;

    FawnScan(Read read, KeySet keys) {
        this.read = read;
        this.keys = keys;
    }

    @Override
    public StructType readSchema() {
        return read.columns;
    }

    @Override
    public String description() {
        String what = keys.isBounded() ? "gets of " + keys.size() + " keys" : "scan of all ranges";
        String limit = read.limit > 0 ? ", limit " + read.limit + " a task" : "";
        String prefix = read.prefixes.isEmpty() ? "" : ", keys by prefix";
        return "fawn " + what + prefix + limit + (read.counts > 0 ? ", count" : "");
    }

    @Override
    public Batch toBatch() {
        return this;
    }

    private synchronized Planner planner() {
        if (planner == null) {
            planner = new Planner(read.settings);
        }
        return planner;
    }

    /** Tasks that run at a time, at most. */
    static int parallelism() {
        return SparkContext.getOrCreate().defaultParallelism();
    }

    @Override
    public InputPartition[] planInputPartitions() {
        try {
            List<FawnPartition> partitions = keys.isBounded()
                    ? planner().gets(keys.keys()) : planner().scans(parallelism());
            tasks = partitions.size();
            return partitions.toArray(new InputPartition[0]);
        } catch (IOException error) {
            throw new UncheckedIOException(error.getMessage(), error);
        }
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        int atATime = tasks == 0 ? parallelism() : Math.min(tasks, parallelism());
        return new FawnReaderFactory(read, atATime);
    }

    @Override
    public Statistics estimateStatistics() {
        Density density = planner().density();
        boolean isKnown = density != null && density.records() > 0;
        double rows = keys.isBounded() ? keys.size() : isKnown ? density.records() : -1;
        double bytes = !isKnown ? -1 : rows * density.bytes() / density.records();
        return new Statistics() {
            @Override
            public OptionalLong sizeInBytes() {
                return bytes < 0 ? OptionalLong.empty() : OptionalLong.of((long) bytes);
            }

            @Override
            public OptionalLong numRows() {
                return rows < 0 ? OptionalLong.empty() : OptionalLong.of((long) rows);
            }
        };
    }

    @Override
    public NamedReference[] filterAttributes() {
        boolean hasKey = List.of(read.columns.fieldNames()).contains(read.layout.key);
        return hasKey && !keys.isBounded() ? new NamedReference[] {Expressions.column(read.layout.key)}
                : new NamedReference[0];
    }

    @Override
    public void filter(Predicate[] predicates) {
        KeySet wanted = KeySet.of(List.of(predicates), read.layout.key);
        if (wanted.isBounded() && wanted.size() <= read.settings.runtimeFilterKeys) {
            keys = keys.and(wanted);
        }
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return Counts.metrics();
    }
}
