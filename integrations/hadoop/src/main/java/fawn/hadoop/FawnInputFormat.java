package fawn.hadoop;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.RangeInfo;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/**
 * Reads all keys and values of a cluster. Each range of the ring is a split, or several; no split is of two ranges. Keys of
 * a split come in the order of their positions, each once, whatever becomes of nodes and ranges meanwhile.
 *
 * <p>Keys are {@link org.apache.hadoop.io.BytesWritable} or {@link org.apache.hadoop.io.Text}; values are
 * {@link FawnRecord} or one of these: {@link FawnKeys#INPUT_KEY}, {@link FawnKeys#INPUT_VALUE}.
 */
public class FawnInputFormat extends InputFormat<Writable, Writable> {
    @Override
    public List<InputSplit> getSplits(JobContext job) throws IOException {
        FawnSettings settings = new FawnSettings(job.getConfiguration());
        // What is wrong with these is better said now than by every task.
        settings.inputKey();
        settings.inputValue();
        List<InputSplit> splits = new ArrayList<>();
        try (FawnClient client = settings.connect(0, 0)) {
            for (RangeInfo range : client.ranges()) {
                splits.addAll(FawnSplit.of(range.interval, range.hosts(), settings.splitsPerRange()));
            }
        } catch (FawnException error) {
            throw new IOException("the job's input cannot be split: " + error.getMessage(), error);
        }
        return splits;
    }

    @Override
    public RecordReader<Writable, Writable> createRecordReader(InputSplit split, TaskAttemptContext context) {
        return new FawnRecordReader();
    }
}
