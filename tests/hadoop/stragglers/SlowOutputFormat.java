import fawn.hadoop.FawnOutputFormat;
import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** Writes as the other one does, but the first attempt of the first task takes so long that another attempt is begun. */
public final class SlowOutputFormat extends FawnOutputFormat {
    private static final long SLEEP_MS = 200;

    @Override
    public RecordWriter<Writable, Writable> getRecordWriter(TaskAttemptContext context) throws IOException {
        RecordWriter<Writable, Writable> writer = super.getRecordWriter(context);
        return SlowInputFormat.isSlow(context) ? new Slow(writer) : writer;
    }

    private static final class Slow extends RecordWriter<Writable, Writable> {
        private final RecordWriter<Writable, Writable> writer;

        Slow(RecordWriter<Writable, Writable> writer) {
            this.writer = writer;
        }

        @Override
        public void write(Writable key, Writable value) throws IOException, InterruptedException {
            Thread.sleep(SLEEP_MS);
            writer.write(key, value);
        }

        @Override
        public void close(TaskAttemptContext context) throws IOException, InterruptedException {
            writer.close(context);
        }
    }
}
