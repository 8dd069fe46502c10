package fawn.hadoop.workloads;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;

/** Phrases of N words, and how often each occurs, for those that occur often enough. */
final class NGram {
    static final String WORDS = "workload.ngram.words";
    static final String LEAST = "workload.ngram.least";

    private NGram() {}

    static void setUp(Job job) {
        job.setMapperClass(Phrases.class);
        job.setCombinerClass(Sum.class);
        job.setReducerClass(Frequent.class);
        job.setMapOutputValueClass(LongWritable.class);
    }

    /** Each phrase of a paragraph. */
    public static final class Phrases extends Mapper<Text, Text, Text, LongWritable> {
        private static final LongWritable ONE = new LongWritable(1);
        private final Text phrase = new Text();

        @Override
        protected void map(Text key, Text paragraph, Context context) throws IOException, InterruptedException {
            int count = context.getConfiguration().getInt(WORDS, 3);
            List<String> words = Words.of(paragraph.toString());
            for (int at = 0; at + count <= words.size(); at++) {
                phrase.set(String.join(" ", words.subList(at, at + count)));
                context.write(phrase, ONE);
            }
        }
    }

    private static long sum(Iterable<LongWritable> counts) {
        long sum = 0;
        for (LongWritable count : counts) {
            sum += count.get();
        }
        return sum;
    }

    /** How often a phrase was seen so far. */
    public static final class Sum extends Reducer<Text, LongWritable, Text, LongWritable> {
        @Override
        protected void reduce(Text phrase, Iterable<LongWritable> counts, Context context)
                throws IOException, InterruptedException {
            context.write(phrase, new LongWritable(sum(counts)));
        }
    }

    /** Those that are frequent, with their numbers as text. */
    public static final class Frequent extends Reducer<Text, LongWritable, Text, Text> {
        @Override
        protected void reduce(Text phrase, Iterable<LongWritable> counts, Context context)
                throws IOException, InterruptedException {
            long sum = sum(counts);
            if (sum >= context.getConfiguration().getLong(LEAST, 2)) {
                context.write(phrase, new Text(String.valueOf(sum)));
            }
        }
    }
}
