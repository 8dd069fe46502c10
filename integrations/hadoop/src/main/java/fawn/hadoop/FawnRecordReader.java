package fawn.hadoop;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.Scan;
import fawn.client.ScanPart;
import fawn.client.Value;
import fawn.client.bulk.RateLimit;
import fawn.client.wire.Interval;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** Reads a split by a scan that goes on with other members when one fails. */
final class FawnRecordReader extends RecordReader<Writable, Writable> {
    private TaskAttemptContext context;
    private Interval interval;
    private FawnClient client;
    private Scan scan;
    private long patienceMs;
    private byte[] prefix;
    private RateLimit rate;
    private Function<byte[], Writable> makeKey;
    private Function<FawnRecord, Writable> makeValue;
    private Iterator<Map.Entry<byte[], Value>> entries = Collections.emptyIterator();
    private Writable key;
    private Writable value;
    private float progress;

    @Override
    public void initialize(InputSplit split, TaskAttemptContext attempt) throws IOException {
        FawnSettings settings = new FawnSettings(attempt.getConfiguration());
        context = attempt;
        interval = ((FawnSplit) split).interval();
        patienceMs = settings.inputPatienceMs();
        prefix = settings.inputPrefix();
        rate = settings.inputRate();
        makeKey = settings.inputKey();
        makeValue = settings.inputValue();
        client = settings.connect(0, 0);
        scan = client.scan(interval, settings.partBytes());
    }

    @Override
    public boolean nextKeyValue() throws IOException, InterruptedException {
        Map.Entry<byte[], Value> entry = nextEntry();
        if (entry == null) {
            key = null;
            value = null;
            progress = 1;
            return false;
        }
        byte[] found = entry.getKey();
        long size = (long) found.length + entry.getValue().bytes.length;
        long waitNs = rate.take(1, size, System.nanoTime());
        if (waitNs > 0) {
            context.progress();
            TimeUnit.NANOSECONDS.sleep(waitNs);
            count(FawnCounter.RATE_WAIT_MS, waitNs / 1_000_000);
        }
        count(FawnCounter.RECORDS_READ, 1);
        count(FawnCounter.BYTES_READ, size);
        key = makeKey.apply(Arrays.copyOfRange(found, prefix.length, found.length));
        value = makeValue.apply(FawnRecord.of(entry.getValue()));
        return true;
    }

    /** The next whose key begins with the prefix; {@code null} if that was all. */
    private Map.Entry<byte[], Value> nextEntry() throws IOException {
        for (;;) {
            while (entries.hasNext()) {
                Map.Entry<byte[], Value> entry = entries.next();
                byte[] found = entry.getKey();
                int length = prefix.length;
                if (found.length >= length && Arrays.equals(found, 0, length, prefix, 0, length)) {
                    return entry;
                }
                count(FawnCounter.RECORDS_SKIPPED, 1);
            }
            ScanPart part = part();
            if (part == null) {
                return null;
            }
            entries = part.entries().entrySet().iterator();
            count(FawnCounter.PARTS_READ, 1);
            count(FawnCounter.PASSES_REPEATED, part.passes - 1);
            double done = part.interval.high.toNumber().subtract(interval.low.toNumber()).doubleValue();
            double all = interval.high.toNumber().subtract(interval.low.toNumber()).doubleValue();
            progress = all == 0 ? 1 : (float) (done / all);
        }
    }

    /** The next part, for as long as patience lasts. A scan that has stalled goes on when it is asked again. */
    private ScanPart part() throws IOException {
        long endNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMs);
        for (;;) {
            context.progress();
            try {
                return scan.next();
            } catch (FawnException error) {
                boolean isOver = error.reason() != FawnException.Reason.STALLED || System.nanoTime() - endNs >= 0;
                if (isOver) {
                    throw new IOException("a split cannot be read on: " + error.getMessage(), error);
                }
                count(FawnCounter.READ_STALLS, 1);
            }
        }
    }

    private void count(FawnCounter counter, long by) {
        context.getCounter(counter).increment(by);
    }

    @Override
    public Writable getCurrentKey() {
        return key;
    }

    @Override
    public Writable getCurrentValue() {
        return value;
    }

    @Override
    public float getProgress() {
        return progress;
    }

    @Override
    public void close() {
        if (scan != null) {
            scan.close();
        }
        if (client != null) {
            client.close();
        }
    }
}
