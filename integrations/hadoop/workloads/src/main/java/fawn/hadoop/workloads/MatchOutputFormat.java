package fawn.hadoop.workloads;

import fawn.hadoop.FawnOutputFormat;
import java.io.IOException;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.OutputFormat;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** Puts what Hadoop's Grep has found into a cluster: the match is the key, and how often it was there the value. */
public final class MatchOutputFormat extends OutputFormat<LongWritable, Text> {
    private final FawnOutputFormat format = new FawnOutputFormat();

    @Override
    public void checkOutputSpecs(JobContext job) throws IOException {
        format.checkOutputSpecs(job);
    }

    @Override
    public OutputCommitter getOutputCommitter(TaskAttemptContext context) {
        return format.getOutputCommitter(context);
    }

    @Override
    public RecordWriter<LongWritable, Text> getRecordWriter(TaskAttemptContext context) throws IOException {
        RecordWriter<Writable, Writable> writer = format.getRecordWriter(context);
        return new RecordWriter<>() {
            @Override
            public void write(LongWritable count, Text match) throws IOException, InterruptedException {
                writer.write(match, new Text(count.toString()));
            }

            @Override
            public void close(TaskAttemptContext attempt) throws IOException, InterruptedException {
                writer.close(attempt);
            }
        };
    }
}
