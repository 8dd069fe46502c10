package fawn.spark;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;

/** Makes rows of records. */
final class RowReader implements PartitionReader<InternalRow> {
    private final Read read;
    private final RowBuilder rows;
    private final RecordSource source;
    private final Counts counts;
    private int made;

    RowReader(Read read, RowBuilder rows, RecordSource source, Counts counts) {
        this.read = read;
        this.rows = rows;
        this.source = source;
        this.counts = counts;
    }

    @Override
    public boolean next() throws IOException {
        if (read.limit > 0 && made >= read.limit) {
            return false;
        }
        while (source.next()) {
            if (read.hasPrefixes(source.key()) && rows.set(source.key(), source.value())) {
                made++;
                return true;
            }
        }
        return false;
    }

    @Override
    public InternalRow get() {
        return rows.row();
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
