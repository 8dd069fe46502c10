package fawn.hadoop;

import fawn.client.bulk.ItemSize;
import fawn.client.bulk.Spool;
import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** Writes a task's records: to the cluster, or into the attempt's spool. */
abstract class FawnRecordWriter extends RecordWriter<Writable, Writable> {
    private final byte[] prefix;
    private final long mostItemBytes;

    private FawnRecordWriter(FawnSettings settings) throws IOException {
        prefix = settings.outputPrefix();
        mostItemBytes = settings.mostItemBytes();
    }

    static FawnRecordWriter of(TaskAttemptContext context) throws IOException {
        FawnSettings settings = new FawnSettings(context.getConfiguration());
        return settings.isPutAtCommit() ? new Spooled(settings, context) : new Direct(settings, context);
    }

    abstract void write(byte[] key, FawnRecord record) throws IOException, InterruptedException;

    @Override
    public final void write(Writable key, Writable value) throws IOException, InterruptedException {
        byte[] written = bytes(key, "key");
        byte[] whole = Arrays.copyOf(prefix, prefix.length + written.length);
        System.arraycopy(written, 0, whole, prefix.length, written.length);
        FawnRecord record = value instanceof FawnRecord ? (FawnRecord) value : new FawnRecord(bytes(value, "value"));
        long size = (long) whole.length + record.value().length;
        if (ItemSize.of(size) > mostItemBytes) {
            throw new IOException(ItemSize.tooLarge(whole, size, FawnKeys.MOST_ITEM_BYTES + " allows, " + mostItemBytes,
                    ", and set " + FawnKeys.MOST_ITEM_BYTES + " alike"));
        }
        write(whole, record);
    }

    private static byte[] bytes(Writable of, String what) throws IOException {
        if (of instanceof BytesWritable) {
            return ((BytesWritable) of).copyBytes();
        }
        if (of instanceof Text) {
            return ((Text) of).copyBytes();
        }
        if (of instanceof NullWritable && what.equals("value")) {
            return new byte[0];
        }
        throw new IOException("a " + what + " of class " + (of == null ? "null" : of.getClass().getName())
                + " cannot be written: use BytesWritable or Text" + (what.equals("value") ? ", or FawnRecord" : ""));
    }

    /** Puts each record as it comes; all are there once the task has ended. */
    private static final class Direct extends FawnRecordWriter {
        private final FawnStore store;

        Direct(FawnSettings settings, TaskAttemptContext context) throws IOException {
            super(settings);
            store = new FawnStore(settings, context);
        }

        @Override
        void write(byte[] key, FawnRecord record) throws IOException, InterruptedException {
            store.put(key, record);
        }

        @Override
        public void close(TaskAttemptContext context) throws IOException, InterruptedException {
            try {
                store.flush();
            } finally {
                store.close();
            }
        }
    }

    /** Keeps records for the committer. */
    private static final class Spooled extends FawnRecordWriter {
        private final Spool spool;

        Spooled(FawnSettings settings, TaskAttemptContext context) throws IOException {
            super(settings);
            spool = new Spool(FawnOutputCommitter.spool(context.getTaskAttemptID()));
        }

        @Override
        void write(byte[] key, FawnRecord record) throws IOException {
            spool.add(key, record.isDeletion() ? null : record.value(), record.flags(), record.expiry());
        }

        @Override
        public void close(TaskAttemptContext context) throws IOException {
            spool.finish();
        }
    }
}
