package fawn.hadoop.workloads;

import fawn.hadoop.FawnInputFormat;
import fawn.hadoop.FawnKeys;
import fawn.hadoop.FawnOutputFormat;
import fawn.hadoop.FawnRecord;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.Grep;
import org.apache.hadoop.examples.RandomWriter;
import org.apache.hadoop.examples.Sort;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.OutputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.hadoop.util.GenericOptionsParser;

/**
 * The workloads of the paper on Gordon, section 5.1, each from HDFS or FAWN to HDFS or FAWN. RandomWriter to HDFS, Sort and
 * Grep are those of Hadoop's examples; Identity, N-Gram, WebIndex and random records for FAWN are made here.
 */
public final class Workload {
    private static final List<String> FLAGS = List.of("--from", "--to", "--format", "--bytes", "--maps", "--seed",
            "--reduces", "--words", "--least", "--pages", "--pattern");
    private static final List<String> NAMES = List.of("randomwriter", "identity", "sort", "grep-simple", "grep-complex",
            "ngram", "webindex", "remove", "summary", "print");
    /** A name, up to three words in lower case, one that joins, and another name. */
    private static final String COMPLEX =
            "([A-Z][a-z]+) ([a-z]+ ){1,3}(and|und|et|y|i|of|de|von) ([a-z]+ )?[A-Z][a-z]+";

    private final Configuration conf;
    /** What Hadoop's own programs are to be given before their arguments: settings and jars. */
    private final List<String> generic;
    private final Arguments arguments;
    /** Settings that the data sets bring with them. */
    private final Map<String, String> settings = new TreeMap<>();

    private Workload(Configuration conf, List<String> generic, Arguments arguments) {
        this.conf = conf;
        this.generic = generic;
        this.arguments = arguments;
    }

    /** {@code [-D KEY=VALUE]... [-libjars JARS] NAME [FLAGS]}. Exits with what the job comes to. */
    public static void main(String[] words) throws Exception {
        Configuration conf = new Configuration();
        String[] rest = new GenericOptionsParser(conf, words).getRemainingArgs();
        List<String> generic = Arrays.asList(words).subList(0, words.length - rest.length);
        try {
            if (rest.length == 0 || !NAMES.contains(rest[0])) {
                throw new IllegalArgumentException("name a workload: " + String.join(", ", NAMES));
            }
            List<String> flags = Arrays.asList(rest).subList(1, rest.length);
            System.exit(new Workload(conf, generic, new Arguments(flags, FLAGS)).run(rest[0]));
        } catch (IllegalArgumentException error) {
            System.err.println("workload: " + error.getMessage());
            System.exit(2);
        }
    }

    private int run(String name) throws Exception {
        switch (name) {
            case "randomwriter":
                return randomWriter(arguments.dataset("--to"));
            case "sort":
                return sort(arguments.dataset("--from"), arguments.dataset("--to"));
            case "grep-simple":
                return grep("the");
            case "grep-complex":
                return grep(COMPLEX);
            case "remove":
                return remove(arguments.dataset("--from"));
            case "summary":
                return Summary.print(conf, arguments.dataset("--from"), isText("sequence"), false);
            case "print":
                return Summary.print(conf, arguments.dataset("--from"), isText("text"), true);
            default:
                return ours(name, arguments.dataset("--from"), arguments.dataset("--to"));
        }
    }

    private boolean isText(String byDefault) {
        String format = arguments.text("--format", byDefault);
        if (!format.equals("text") && !format.equals("sequence")) {
            throw new IllegalArgumentException("--format is `" + format + "`: say text or sequence");
        }
        return format.equals("text");
    }

    /** The class of a job's input, which is given to it as a setting. */
    private Class<? extends InputFormat<?, ?>> read(Dataset from, boolean isText, String value) {
        if (from.isFawn()) {
            settings.put(FawnKeys.MANAGERS, from.managers);
            settings.put(FawnKeys.INPUT_PREFIX, from.path);
            settings.put(FawnKeys.INPUT_KEY, isText ? "text" : "bytes");
            settings.put(FawnKeys.INPUT_VALUE, value);
            return FawnInputFormat.class;
        }
        return isText ? KeyValueTextInputFormat.class : sequenceInput();
    }

    @SuppressWarnings("unchecked")
    private static Class<? extends InputFormat<?, ?>> sequenceInput() {
        return (Class<? extends InputFormat<?, ?>>) (Class<?>) SequenceFileInputFormat.class;
    }

    private void write(Dataset to) {
        String managers = settings.get(FawnKeys.MANAGERS);
        if (managers != null && !managers.equals(to.managers)) {
            throw new IllegalArgumentException("a job reads and writes one FAWN cluster: name the same managers twice");
        }
        settings.put(FawnKeys.MANAGERS, to.managers);
        settings.put(FawnKeys.OUTPUT_PREFIX, to.path);
    }

    /** What is on the command line counts more than what is said here. */
    private void apply() {
        settings.forEach((key, value) -> {
            if (conf.get(key) == null) {
                conf.set(key, value);
            }
        });
    }

    /** Runs one of Hadoop's own programs, which ends this process. */
    private String[] hadoops(List<String> words) {
        List<String> all = new ArrayList<>(generic);
        settings.forEach((key, value) -> {
            if (conf.get(key) == null) {
                all.addAll(List.of("-D", key + "=" + value));
            }
        });
        all.addAll(words);
        return all.toArray(new String[0]);
    }

    private int randomWriter(Dataset to) throws Exception {
        long bytes = arguments.number("--bytes", 10_000_000);
        int maps = (int) arguments.number("--maps", 4);
        if (!to.isFawn()) {
            settings.put(RandomWriter.TOTAL_BYTES, String.valueOf(bytes));
            settings.put(RandomWriter.BYTES_PER_MAP, String.valueOf(Math.max(1, bytes / maps)));
            RandomWriter.main(hadoops(List.of(to.path)));
            return 1;
        }
        conf.setLong(RandomRecords.BYTES, bytes);
        conf.setInt(RandomRecords.SPLITS, maps);
        conf.setLong(RandomRecords.SEED, arguments.number("--seed", 1));
        write(to);
        apply();
        Job job = Job.getInstance(conf, "randomwriter");
        job.setJarByClass(Workload.class);
        job.setInputFormatClass(RandomRecords.class);
        job.setNumReduceTasks(0);
        return into(job, to, false);
    }

    private int sort(Dataset from, Dataset to) throws Exception {
        boolean isText = isText("sequence");
        List<String> words = new ArrayList<>(List.of("-r", String.valueOf(arguments.number("--reduces", 2))));
        words.addAll(List.of("-inFormat", input(read(from, isText, isText ? "text" : "bytes")).getName()));
        if (isText) {
            words.addAll(List.of("-outKey", Text.class.getName(), "-outValue", Text.class.getName()));
        }
        if (to.isFawn()) {
            write(to);
            words.addAll(List.of("-outFormat", FawnOutputFormat.class.getName()));
        } else if (isText) {
            words.addAll(List.of("-outFormat", TextOutputFormat.class.getName()));
        }
        words.add(from.isFawn() ? "/unused" : from.path);
        words.add(to.isFawn() ? "/unused" : to.path);
        Sort.main(hadoops(words));
        return 1;
    }

    /** Deletes all records of a data set in FAWN: maps read them, and write a deletion of each. */
    private int remove(Dataset from) throws Exception {
        if (!from.isFawn()) {
            throw new IllegalArgumentException("remove deletes records of FAWN: remove files with `cluster fs -- -rm -r`");
        }
        Class<? extends InputFormat<?, ?>> input = read(from, false, "record");
        write(from);
        apply();
        Job job = Job.getInstance(conf, "remove");
        job.setJarByClass(Workload.class);
        job.setInputFormatClass(input.asSubclass(InputFormat.class));
        job.setMapperClass(Deletions.class);
        job.setNumReduceTasks(0);
        return into(job, from, false);
    }

    /** A deletion of each record. */
    public static final class Deletions extends Mapper<BytesWritable, FawnRecord, BytesWritable, FawnRecord> {
        @Override
        protected void map(BytesWritable key, FawnRecord record, Context context) throws IOException, InterruptedException {
            context.write(key, FawnRecord.deletion());
        }
    }

    /** The input's class, or the one that the command line names instead. */
    private Class<?> input(Class<?> usual) {
        return conf.getClass(MRJobConfig.INPUT_FORMAT_CLASS_ATTR, usual);
    }

    private int grep(String byDefault) throws Exception {
        Dataset from = arguments.dataset("--from");
        Dataset to = arguments.dataset("--to");
        settings.put(MRJobConfig.INPUT_FORMAT_CLASS_ATTR, read(from, true, "text").getName());
        if (to.isFawn()) {
            write(to);
            settings.put(MRJobConfig.OUTPUT_FORMAT_CLASS_ATTR, MatchOutputFormat.class.getName());
        }
        Grep.main(hadoops(List.of(from.isFawn() ? "/unused" : from.path, to.isFawn() ? "/unused" : to.path,
                arguments.text("--pattern", byDefault))));
        return 1;
    }

    private int ours(String name, Dataset from, Dataset to) throws Exception {
        boolean isIdentity = name.equals("identity");
        boolean isText = !isIdentity || isText("sequence");
        Class<? extends InputFormat<?, ?>> input = read(from, isText, isText ? "text" : "bytes");
        if (to.isFawn()) {
            write(to);
        }
        conf.setLong(NGram.WORDS, arguments.number("--words", 3));
        conf.setLong(NGram.LEAST, arguments.number("--least", 2));
        conf.setLong(WebIndex.MOST_PAGES, arguments.number("--pages", 1000));
        apply();
        Job job = Job.getInstance(conf, name);
        job.setJarByClass(Workload.class);
        job.setInputFormatClass(input(input).asSubclass(InputFormat.class));
        if (!from.isFawn()) {
            FileInputFormat.setInputPaths(job, new Path(from.path));
        }
        job.setNumReduceTasks((int) arguments.number("--reduces", 2));
        if (name.equals("ngram")) {
            NGram.setUp(job);
        } else if (name.equals("webindex")) {
            WebIndex.setUp(job);
        }
        return into(job, to, isText);
    }

    private int into(Job job, Dataset to, boolean isText) throws IOException, InterruptedException, ClassNotFoundException {
        job.setOutputKeyClass(isText ? Text.class : BytesWritable.class);
        job.setOutputValueClass(isText ? Text.class : BytesWritable.class);
        Class<?> usual = to.isFawn() ? FawnOutputFormat.class : isText ? TextOutputFormat.class : SequenceFileOutputFormat.class;
        job.setOutputFormatClass(
                conf.getClass(MRJobConfig.OUTPUT_FORMAT_CLASS_ATTR, usual).asSubclass(OutputFormat.class));
        if (!to.isFawn()) {
            FileOutputFormat.setOutputPath(job, new Path(to.path));
        }
        return job.waitForCompletion(true) ? 0 : 1;
    }
}
