package fawn.hadoop;

import fawn.client.Certificates;
import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.Options;
import fawn.client.bulk.RateLimit;
import fawn.client.bulk.WriteQueue;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.MRJobConfig;

/** What a job's configuration says, with defaults. What cannot be meant is an error that names the key. */
final class FawnSettings {
    private static final long MOST_U32 = 0xffff_ffffL;

    private final Configuration conf;

    FawnSettings(Configuration conf) {
        this.conf = conf;
    }

    /** A client with limits on what is under way; {@code 0} for the client's own. */
    FawnClient connect(int inFlight, int inFlightBytes) throws IOException {
        Options options = new Options()
                .connectTimeout(Duration.ofSeconds(number(FawnKeys.CONNECT_TIMEOUT, 60, 1, 86_400)))
                .timeout(timeout());
        if (inFlight > 0) {
            options.inFlight(inFlight).inFlightBytes(inFlightBytes);
        }
        Certificates certificates = certificates();
        try {
            return FawnClient.connect(managers(), certificates == null ? options : options.certificates(certificates));
        } catch (FawnException error) {
            throw new IOException("the job cannot use the cluster at " + managers() + ": " + error.getMessage(), error);
        }
    }

    private Duration timeout() throws IOException {
        return Duration.ofSeconds(number(FawnKeys.TIMEOUT, 10, 1, 86_400));
    }

    private List<String> managers() throws IOException {
        List<String> managers = new ArrayList<>();
        for (String manager : conf.getTrimmedStrings(FawnKeys.MANAGERS)) {
            if (!manager.isEmpty()) {
                managers.add(manager);
            }
        }
        if (managers.isEmpty()) {
            throw new IOException(FawnKeys.MANAGERS + " is not set: name a manager of the cluster, HOST:PORT");
        }
        return managers;
    }

    private Certificates certificates() throws IOException {
        String ca = conf.getTrimmed(FawnKeys.TLS_CA, "");
        String certificate = conf.getTrimmed(FawnKeys.TLS_CERTIFICATE, "");
        String key = conf.getTrimmed(FawnKeys.TLS_KEY, "");
        if (ca.isEmpty() && certificate.isEmpty() && key.isEmpty()) {
            return null;
        }
        if (ca.isEmpty() || certificate.isEmpty() || key.isEmpty()) {
            throw new IOException("mutual TLS needs three files: set " + FawnKeys.TLS_CA + ", " + FawnKeys.TLS_CERTIFICATE
                    + " and " + FawnKeys.TLS_KEY + ", or none of them");
        }
        return new Certificates(Path.of(ca), Path.of(certificate), Path.of(key));
    }

    int splitsPerRange() throws IOException {
        return (int) number(FawnKeys.SPLITS_PER_RANGE, 1, 1, 10_000);
    }

    int partBytes() throws IOException {
        return (int) number(FawnKeys.PART_BYTES, 1 << 20, 1, Integer.MAX_VALUE);
    }

    long inputPatienceMs() throws IOException {
        return 1000 * number(FawnKeys.INPUT_PATIENCE, 300, 1, 86_400);
    }

    /** Makes what a mapper sees of a key. */
    Function<byte[], Writable> inputKey() throws IOException {
        switch (conf.getTrimmed(FawnKeys.INPUT_KEY, "bytes")) {
            case "bytes":
                return BytesWritable::new;
            case "text":
                return Text::new;
            default:
                throw unknown(FawnKeys.INPUT_KEY, "bytes or text");
        }
    }

    /** Makes what a mapper sees of a value. */
    Function<FawnRecord, Writable> inputValue() throws IOException {
        switch (conf.getTrimmed(FawnKeys.INPUT_VALUE, "record")) {
            case "record":
                return record -> record;
            case "bytes":
                return record -> new BytesWritable(record.value());
            case "text":
                return record -> new Text(record.value());
            default:
                throw unknown(FawnKeys.INPUT_VALUE, "record, bytes or text");
        }
    }

    /** What the keys that are read begin with; empty for all. */
    byte[] inputPrefix() {
        return conf.get(FawnKeys.INPUT_PREFIX, "").getBytes(StandardCharsets.UTF_8);
    }

    /** What is put before keys that are written. */
    byte[] outputPrefix() {
        return conf.get(FawnKeys.OUTPUT_PREFIX, "").getBytes(StandardCharsets.UTF_8);
    }

    RateLimit inputRate() throws IOException {
        return new RateLimit(rate(FawnKeys.INPUT_RECORDS_RATE), rate(FawnKeys.INPUT_BYTES_RATE));
    }

    /** Whether records are put only once the task may commit. */
    boolean isPutAtCommit() throws IOException {
        switch (conf.getTrimmed(FawnKeys.OUTPUT_MODE, "direct")) {
            case "direct":
                return false;
            case "commit":
                return true;
            default:
                throw unknown(FawnKeys.OUTPUT_MODE, "direct or commit");
        }
    }

    /** Has a time to live count from now on, for all attempts alike. For the one that submits the job. */
    void fixExpiry(long nowUnix) throws IOException {
        long ttl = number(FawnKeys.TTL, 0, 0, MOST_U32);
        if (ttl > 0) {
            conf.setLong(FawnKeys.EXPIRES_AT, Math.min(nowUnix + ttl, MOST_U32));
        }
    }

    /** The Unix second from which records without an expiry of their own are gone; 0 for never. */
    long expiresAt(long nowUnix) throws IOException {
        if (conf.get(FawnKeys.EXPIRES_AT) == null) {
            fixExpiry(nowUnix);
        }
        return number(FawnKeys.EXPIRES_AT, 0, 0, MOST_U32);
    }

    int inFlight() throws IOException {
        return (int) number(FawnKeys.IN_FLIGHT, 1024, 1, 1_000_000);
    }

    int inFlightBytes() throws IOException {
        return (int) number(FawnKeys.IN_FLIGHT_BYTES, 16 << 20, 1, Integer.MAX_VALUE);
    }

    long mostItemBytes() throws IOException {
        return number(FawnKeys.MOST_ITEM_BYTES, 1 << 20, 1, Integer.MAX_VALUE);
    }

    long outputPatienceMs() throws IOException {
        return 1000 * number(FawnKeys.OUTPUT_PATIENCE, 300, 1, 86_400);
    }

    /** The queue of this task's writes. */
    WriteQueue writeQueue(WriteQueue.Meter meter) throws IOException {
        return new WriteQueue(outputRate(), meter)
                .inFlight(inFlight(), inFlightBytes())
                .patience(Duration.ofMillis(outputPatienceMs()))
                .timeout(timeout());
    }

    /** What this task may put a second: its own limit, or its share of the job's if that is less. */
    RateLimit outputRate() throws IOException {
        int reduces = conf.getInt(MRJobConfig.NUM_REDUCES, 1);
        int writing = reduces > 0 ? reduces : conf.getInt(MRJobConfig.NUM_MAPS, 1);
        int set = (int) number(FawnKeys.TASKS_AT_A_TIME, 0, 0, 1_000_000);
        int atATime = set > 0 ? set : writing;
        return new RateLimit(
                RateLimit.share(rate(FawnKeys.TASK_RECORDS_RATE), rate(FawnKeys.JOB_RECORDS_RATE), atATime),
                RateLimit.share(rate(FawnKeys.TASK_BYTES_RATE), rate(FawnKeys.JOB_BYTES_RATE), atATime));
    }

    private double rate(String key) throws IOException {
        String text = conf.getTrimmed(key, "0");
        try {
            double rate = Double.parseDouble(text);
            if (rate >= 0 && rate < Double.POSITIVE_INFINITY) {
                return rate;
            }
        } catch (NumberFormatException error) {
            // Refused below.
        }
        throw new IOException(key + " is `" + text + "`: set it to a number a second, or to 0 for no limit");
    }

    private long number(String key, long byDefault, long least, long most) throws IOException {
        String text = conf.getTrimmed(key, String.valueOf(byDefault));
        try {
            long number = Long.parseLong(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException error) {
            // Refused below.
        }
        throw new IOException(key + " is `" + text + "`: set it to a whole number from " + least + " to " + most);
    }

    private IOException unknown(String key, String choices) {
        return new IOException(key + " is `" + conf.get(key) + "`: set it to " + choices);
    }
}
