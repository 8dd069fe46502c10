package fawn.spark;

import fawn.client.Item;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Writes the rows of one attempt of a task: as they come or, with a spool, once the attempt may commit. */
final class FawnWriter implements DataWriter<InternalRow> {
    private final Settings settings;
    private final RecordBuilder records;
    private final Spool spool;
    private final Pace pace;
    private final Counts counts;
    private final ClientPool.Lease lease;
    private final InFlight writes;

    /** Says nothing: what was written is in the cluster. */
    static final class Written implements WriterCommitMessage {
        private static final long serialVersionUID = 1;
    }

    FawnWriter(Settings settings, RecordBuilder records, Pace pace, Counts counts) throws IOException {
        this.settings = settings;
        this.records = records;
        this.pace = pace;
        this.counts = counts;
        lease = ClientPool.take(settings.client);
        writes = new InFlight(lease.client(), settings, counts);
        try {
            spool = settings.writeWhen == Settings.WriteWhen.COMMIT ? new Spool() : null;
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
            send(key, value, flags, expiry);
        } else {
            spool.add(key, value, flags, expiry);
        }
    }

    private void send(byte[] key, byte[] value, long flags, long expiry) throws IOException {
        pace.take(1, (long) key.length + (value == null ? 0 : value.length));
        Item item = value == null ? null : RecordBuilder.item(value, flags, expiry);
        writes.add(key, item);
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
        if (spool != null) {
            spool.replay(this::send);
        }
        writes.finish();
        return new Written();
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
        }
    }
}
