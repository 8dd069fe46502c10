package fawn.hadoop;

import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.OutputFormat;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/**
 * Puts a job's records into a cluster. Keys are {@link org.apache.hadoop.io.BytesWritable} or
 * {@link org.apache.hadoop.io.Text}, from 1 to 65535 bytes long; values are one of these, or {@link FawnRecord}.
 *
 * <p>Hadoop may run a task several times, also at once. {@link FawnKeys#OUTPUT_MODE} says which of these attempts write:
 * {@code direct}, all of them, each record when it comes; {@code commit}, one at a time, when it has ended. The README says
 * what each guarantees.
 */
public class FawnOutputFormat extends OutputFormat<Writable, Writable> {
    @Override
    public void checkOutputSpecs(JobContext job) throws IOException {
        FawnSettings settings = new FawnSettings(job.getConfiguration());
        settings.isPutAtCommit();
        settings.outputRate();
        settings.outputPatienceMs();
        settings.fixExpiry(System.currentTimeMillis() / 1000);
        // Whether the cluster answers.
        settings.connect(settings.inFlight(), settings.inFlightBytes()).close();
    }

    @Override
    public RecordWriter<Writable, Writable> getRecordWriter(TaskAttemptContext context) throws IOException {
        return FawnRecordWriter.of(context);
    }

    @Override
    public OutputCommitter getOutputCommitter(TaskAttemptContext context) {
        return new FawnOutputCommitter();
    }
}
