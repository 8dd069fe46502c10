package fawn.hadoop.workloads;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/**
 * Random records as Hadoop's RandomWriter makes them: keys of 10 to 1009 bytes, values of 0 to 19,999. Here a seed determines
 * them, so that each attempt of a task makes the same.
 */
public final class RandomRecords extends InputFormat<BytesWritable, BytesWritable> {
    static final String BYTES = "workload.random.bytes";
    static final String SPLITS = "workload.random.splits";
    static final String SEED = "workload.random.seed";
    private static final int KEY_LEAST = 10;
    private static final int KEY_RANGE = 1000;
    private static final int VALUE_RANGE = 20_000;

    /** So many bytes out of one generator. */
    public static final class Split extends InputSplit implements Writable {
        private long bytes;
        private long seed;

        /** For Hadoop. */
        public Split() {}

        Split(long bytes, long seed) {
            this.bytes = bytes;
            this.seed = seed;
        }

        @Override
        public long getLength() {
            return bytes;
        }

        @Override
        public String[] getLocations() {
            return new String[0];
        }

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeLong(bytes);
            out.writeLong(seed);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            bytes = in.readLong();
            seed = in.readLong();
        }
    }

    @Override
    public List<InputSplit> getSplits(JobContext job) {
        long bytes = job.getConfiguration().getLong(BYTES, 0);
        int count = job.getConfiguration().getInt(SPLITS, 1);
        SplittableRandom seeds = new SplittableRandom(job.getConfiguration().getLong(SEED, 1));
        List<InputSplit> splits = new ArrayList<>();
        for (int split = 0; split < count; split++) {
            splits.add(new Split((bytes + split) / count, seeds.nextLong()));
        }
        return splits;
    }

    @Override
    public RecordReader<BytesWritable, BytesWritable> createRecordReader(InputSplit split, TaskAttemptContext context) {
        return new Reader();
    }

    private static final class Reader extends RecordReader<BytesWritable, BytesWritable> {
        private SplittableRandom random;
        private long bytes;
        private long done;
        private byte[] key;
        private byte[] value;

        @Override
        public void initialize(InputSplit split, TaskAttemptContext context) {
            bytes = ((Split) split).bytes;
            random = new SplittableRandom(((Split) split).seed);
        }

        @Override
        public boolean nextKeyValue() {
            if (done >= bytes) {
                return false;
            }
            key = new byte[KEY_LEAST + random.nextInt(KEY_RANGE)];
            random.nextBytes(key);
            value = new byte[random.nextInt(VALUE_RANGE)];
            random.nextBytes(value);
            done += key.length + value.length;
            return true;
        }

        @Override
        public BytesWritable getCurrentKey() {
            return new BytesWritable(key);
        }

        @Override
        public BytesWritable getCurrentValue() {
            return new BytesWritable(value);
        }

        @Override
        public float getProgress() {
            return bytes == 0 ? 1 : Math.min(1, (float) done / bytes);
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }
}
