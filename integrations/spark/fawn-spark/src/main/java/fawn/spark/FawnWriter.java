package fawn.spark;

import fawn.client.bulk.RateLimit;
import fawn.client.bulk.Spool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Writes the rows of one attempt of a task: as they come or, with a spool, once the attempt may commit. */
final class FawnWriter implements DataWriter<InternalRow> {
    private final Settings settings;
    private final RecordBuilder records;
    /** Where records are kept until the attempt may commit; {@code null} if they need not be. */
    private final Path file;
    private final Spool spool;
    private final Counts counts;
    private final ClientPool.Lease lease;
    private final InFlight writes;

    /** Says nothing: what was written is in the cluster. */
    static final class Written implements WriterCommitMessage {
        private static final long serialVersionUID = 1;
    }

    FawnWriter(Settings settings, RecordBuilder records, RateLimit rate, Counts counts) throws IOException {
        this.settings = settings;
        this.records = records;
        this.counts = counts;
        lease = ClientPool.take(settings.client);
        writes = new InFlight(lease.client(), settings, rate, counts);
        try {
            boolean waits = settings.writeWhen == Settings.WriteWhen.COMMIT;
            file = waits ? Files.createTempFile("fawn-spark", ".spool") : null;
            spool = waits ? new Spool(file) : null;
        } catch (IOException error) {
            lease.close();
            throw error;
        }
    }

    @Override
    public void write(InternalRow row) throws IOException {
        byte[] key = records.key(row);
        boolean isPut = settings.operation == Settings.Operation.PUT;
        byte[] value = isPut ? records.value(row) : null;
        long flags = isPut ? records.flags(row) : 0;
        long expiry = isPut ? records.expiry(row) : 0;
        if (spool == null) {
            writes.add(key, value, flags, expiry);
        } else {
            spool.add(key, value, flags, expiry);
        }
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
        if (spool != null) {
            spool.finish();
            replay();
        }
        writes.finish();
        return new Written();
    }

    private void replay() throws IOException {
        try {
            Spool.read(file, writes::add);
        } catch (InterruptedException error) {
            throw new IllegalStateException("writes say that they were interrupted as an I/O error", error);
        }
    }

    @Override
    public void abort() {
        // What this attempt has asked for is not to take effect after whatever comes next.
        writes.abandon();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return counts.now();
    }

    @Override
    public void close() throws IOException {
        lease.close();
        if (spool != null) {
            spool.close();
            Spool.delete(file);
        }
    }
}
