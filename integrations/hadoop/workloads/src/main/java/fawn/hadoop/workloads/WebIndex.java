package fawn.hadoop.workloads;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;

/**
 * An inverted index of pages. Each word has the pages that it is about, the weightiest first. A page weighs one for each time
 * that the word is in its text, and four for each time that it is in the text of a link to it.
 */
final class WebIndex {
    /** Pages that are listed for a word at most. */
    static final String MOST_PAGES = "workload.webindex.pages";
    private static final int OF_LINK = 4;

    private WebIndex() {}

    static void setUp(Job job) {
        job.setMapperClass(Weigh.class);
        job.setReducerClass(Postings.class);
    }

    /** What a page says of each word: a weight, and of which page. */
    public static final class Weigh extends Mapper<Text, Text, Text, Text> {
        @Override
        protected void map(Text path, Text html, Context context) throws IOException, InterruptedException {
            Page page = new Page(path.toString(), html.toString());
            emit(path.toString(), page.text(), 1, context);
            for (Page.Link link : page.links()) {
                emit(link.target, link.text, OF_LINK, context);
            }
        }

        private static void emit(String path, String text, int weight, Context context)
                throws IOException, InterruptedException {
            Map<String, Integer> weights = new HashMap<>();
            Words.of(text).forEach(word -> weights.merge(word, weight, Integer::sum));
            for (Map.Entry<String, Integer> word : weights.entrySet()) {
                context.write(new Text(word.getKey()), new Text(word.getValue() + " " + path));
            }
        }
    }

    /** All pages of a word: their number, then weight and path of each. */
    public static final class Postings extends Reducer<Text, Text, Text, Text> {
        @Override
        protected void reduce(Text word, Iterable<Text> weights, Context context) throws IOException, InterruptedException {
            Map<String, Long> pages = new HashMap<>();
            for (Text each : weights) {
                String posting = each.toString();
                int space = posting.indexOf(' ');
                pages.merge(posting.substring(space + 1), Long.valueOf(posting.substring(0, space)), Long::sum);
            }
            List<Map.Entry<String, Long>> sorted = new ArrayList<>(pages.entrySet());
            sorted.sort(Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
                    .thenComparing(Map.Entry.comparingByKey()));
            int most = context.getConfiguration().getInt(MOST_PAGES, 1000);
            StringBuilder line = new StringBuilder().append(sorted.size());
            for (Map.Entry<String, Long> page : sorted.subList(0, Math.min(most, sorted.size()))) {
                line.append(' ').append(page.getValue()).append(' ').append(page.getKey());
            }
            context.write(word, new Text(line.toString()));
        }
    }
}
