import fawn.hadoop.FawnInputFormat;
import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** Reads as the other one does, but the first attempt of the first task takes so long that another attempt is begun. */
public final class SlowInputFormat extends FawnInputFormat {
    private static final long SLEEP_MS = 500;

    @Override
    public RecordReader<Writable, Writable> createRecordReader(InputSplit split, TaskAttemptContext context) {
        RecordReader<Writable, Writable> reader = super.createRecordReader(split, context);
        return isSlow(context) ? new Slow(reader) : reader;
    }

    static boolean isSlow(TaskAttemptContext context) {
        return context.getTaskAttemptID().getTaskID().getId() == 0 && context.getTaskAttemptID().getId() == 0;
    }

    private static final class Slow extends RecordReader<Writable, Writable> {
        private final RecordReader<Writable, Writable> reader;

        Slow(RecordReader<Writable, Writable> reader) {
            this.reader = reader;
        }

        @Override
        public void initialize(InputSplit split, TaskAttemptContext context) throws IOException, InterruptedException {
            reader.initialize(split, context);
        }

        @Override
        public boolean nextKeyValue() throws IOException, InterruptedException {
            Thread.sleep(SLEEP_MS);
            return reader.nextKeyValue();
        }

        @Override
        public Writable getCurrentKey() throws IOException, InterruptedException {
            return reader.getCurrentKey();
        }

        @Override
        public Writable getCurrentValue() throws IOException, InterruptedException {
            return reader.getCurrentValue();
        }

        @Override
        public float getProgress() throws IOException, InterruptedException {
            return reader.getProgress();
        }

        @Override
        public void close() throws IOException {
            reader.close();
        }
    }
}
