package fawn.spark;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.Item;
import fawn.client.Swap;
import fawn.client.Value;
import fawn.client.bulk.KeyText;
import fawn.client.bulk.WriteQueue;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** Changes records that were read, each only if it is still the version that was read. */
final class RowChangeWriter implements DeltaWriter<InternalRow> {
    private final RecordBuilder ids;
    /** {@code null} where records are only deleted. */
    private final RecordBuilder rows;
    private final Counts counts;
    private final ClientPool.Lease lease;
    private final InFlight writes;
    private final boolean hasFlags;
    private final boolean hasExpiry;

    /** Makes the writers of a statement's tasks. */
    static final class Factory implements DeltaWriterFactory {
        private static final long serialVersionUID = 1;

        private final Settings settings;
        private final Layout layout;
        private final StructType rows;
        private final StructType ids;
        private final StructType versions;
        private final int atATime;

        Factory(Settings settings, Layout layout, StructType rows, StructType ids, StructType versions, int atATime) {
            this.settings = settings;
            this.layout = layout;
            this.rows = rows;
            this.ids = ids;
            this.versions = versions;
            this.atATime = atATime;
            // The order of the columns of RowChanges.requiredMetadataAttributes.
            if (!Arrays.equals(versions.fieldNames(), new String[] {layout.flags, layout.expiry, layout.cas})) {
                throw new IllegalStateException("Spark brings other metadata than was asked for: " + versions.simpleString());
            }
        }

        @Override
        public DeltaWriter<InternalRow> createWriter(int partition, long task) {
            try {
                return new RowChangeWriter(this);
            } catch (IOException error) {
                throw new UncheckedIOException(error.getMessage(), error);
            }
        }
    }

    private RowChangeWriter(Factory of) throws IOException {
        ids = RecordBuilder.ofKeys(of.settings, of.layout, of.ids);
        rows = of.rows.fields().length == 0 ? null : new RecordBuilder(of.settings, of.layout, of.rows);
        hasFlags = Arrays.asList(of.rows.fieldNames()).contains(of.layout.flags);
        hasExpiry = Arrays.asList(of.rows.fieldNames()).contains(of.layout.expiry);
        counts = new Counts();
        lease = ClientPool.take(of.settings.client);
        writes = new InFlight(lease.client(), of.settings, of.settings.rate(of.atATime), counts);
    }

    @Override
    public void insert(InternalRow row) throws IOException {
        byte[] key = rows.key(row);
        writes.add(key, rows.value(row), rows.flags(row), rows.expiry(row));
    }

    @Override
    public void delete(InternalRow version, InternalRow id) throws IOException {
        byte[] key = ids.key(id);
        long cas = version.getLong(2);
        writes.change(key, key.length, new Checked(lease.client(), key, null, cas));
    }

    @Override
    public void update(InternalRow version, InternalRow id, InternalRow row) throws IOException {
        byte[] key = ids.key(id);
        byte[] newKey = rows.key(row);
        byte[] value = rows.value(row);
        long flags = hasFlags ? rows.flags(row) : version.getLong(0);
        long oldExpiry = version.isNullAt(1) ? 0 : Math.floorDiv(version.getLong(1), 1_000_000L);
        long expiry = hasExpiry ? rows.expiry(row) : oldExpiry;
        if (Arrays.equals(key, newKey)) {
            long size = (long) key.length + value.length;
            writes.change(key, size, new Checked(lease.client(), key, new Wanted(value, flags, expiry), version.getLong(2)));
        } else {
            writes.add(newKey, value, flags, expiry);
            delete(version, id);
        }
    }

    /** What a record is to become. */
    private static final class Wanted {
        private final byte[] value;
        private final long flags;
        private final long expiry;

        private Wanted(byte[] value, long flags, long expiry) {
            this.value = value;
            this.flags = flags;
            this.expiry = expiry;
        }

        private boolean is(Value found) {
            return Arrays.equals(found.bytes, value) && found.flags == flags && found.expiry == expiry;
        }
    }

    /** A change of one version of a record. What an earlier attempt has done already is done. */
    private static final class Checked implements WriteQueue.Write {
        private final FawnClient client;
        private final byte[] key;
        /** {@code null}: the record is to be gone. */
        private final Wanted wanted;
        private final long cas;

        private Checked(FawnClient client, byte[] key, Wanted wanted, long cas) {
            this.client = client;
            this.key = key;
            this.wanted = wanted;
            this.cas = cas;
        }

        @Override
        public CompletableFuture<?> begin() {
            if (wanted == null) {
                return client.deleteCasAsync(key, cas);
            }
            Item item = RecordBuilder.item(wanted.value, wanted.flags, wanted.expiry);
            return client.casAsync(key, item, cas);
        }

        @Override
        public void end(Object result) throws IOException {
            Swap swap = (Swap) result;
            if (swap.isDone() || wanted == null && swap.result == Swap.Result.NOT_FOUND) {
                return;
            }
            try {
                Optional<Value> found = client.get(key);
                boolean isDone = wanted == null ? !found.isPresent() : found.isPresent() && wanted.is(found.get());
                if (!isDone) {
                    throw new IOException("another program has changed the record of key "
                            + KeyText.of(key) + " since it was read: run the statement again");
                }
            } catch (FawnException error) {
                throw Retry.failed(error);
            }
        }
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
        writes.finish();
        return new FawnWriter.Written();
    }

    @Override
    public void abort() {
        writes.abandon();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return counts.now();
    }

    @Override
    public void close() {
        lease.close();
    }
}
