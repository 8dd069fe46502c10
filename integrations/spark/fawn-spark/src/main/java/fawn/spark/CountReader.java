package fawn.spark;

import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;

/** Counts records: one row that says how many there are, without making rows of them. */
final class CountReader implements PartitionReader<InternalRow> {
    private final Read read;
    private final RecordSource source;
    private final Counts counts;
    private InternalRow row;

    CountReader(Read read, RecordSource source, Counts counts) {
        this.read = read;
        this.source = source;
        this.counts = counts;
    }

    @Override
    public boolean next() throws IOException {
        if (row != null) {
            return false;
        }
        long number = 0;
        while (source.next()) {
            number += read.hasPrefixes(source.key()) ? 1 : 0;
        }
        Object[] values = new Object[read.counts];
        Arrays.fill(values, number);
        row = new GenericInternalRow(values);
        return true;
    }

    @Override
    public InternalRow get() {
        return row;
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return counts.now();
    }

    @Override
    public void close() throws IOException {
        source.close();
    }
}
