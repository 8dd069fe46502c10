package fawn.spark;

import fawn.client.bulk.RateLimit;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** Makes the readers of a read's tasks. */
final class FawnReaderFactory implements PartitionReaderFactory {
    private static final long serialVersionUID = 1;

    private final Read read;
    /** Tasks that run at a time, at most. */
    private final int atATime;

    FawnReaderFactory(Read read, int atATime) {
        this.read = read;
        this.atATime = atATime;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        FawnPartition own = (FawnPartition) partition;
        Counts counts = new Counts();
        RowBuilder rows = new RowBuilder(read);
        try {
            ClientPool.Lease lease = ClientPool.take(read.settings.client);
            RateLimit rate = read.settings.rate(atATime);
            RecordSource source = own.keys == null
                    ? new ScanSource(lease, read, own.intervals, rate, counts)
                    : new GetSource(lease, read, own.keys, rate, counts);
            return read.counts > 0 ? new CountReader(read, source, counts) : new RowReader(read, rows, source, counts);
        } catch (IOException error) {
            throw new UncheckedIOException(error.getMessage(), error);
        }
    }
}
