package fawn.spark;

import fawn.client.bulk.RateLimit;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The options of a read or a write, checked. */
final class Settings implements Serializable {
    private static final long serialVersionUID = 1;

    enum KeyFormat { UTF8, BYTES }

    enum ValueKind { BYTES, UTF8, JSON, AVRO }

    /** What becomes of a record whose value is not of the format. */
    enum ValueErrors { FAIL, NULL, SKIP }

    enum Operation { PUT, DELETE }

    /** When rows are written: as they come, or once Spark lets the attempt commit. */
    enum WriteWhen { ROW, COMMIT }

    enum Statistics { SAMPLE, NONE }

    final ClientSettings client;
    final Duration retryTimeout;
    final KeyFormat keyFormat;
    final ValueKind valueKind;
    final ValueErrors valueErrors;
    final String avroSchema;
    final String prefix;
    final long splitBytes;
    /** Least number of partitions of a scan; 0 for one for each range. */
    final int partitions;
    final int getsPerTask;
    final int runtimeFilterKeys;
    final Statistics statistics;
    /** Limits per second; 0 for none. */
    final long taskRecords;
    final long taskBytes;
    final long jobRecords;
    final long jobBytes;
    final Operation operation;
    /** {@code null} for none. */
    final Duration ttl;
    final WriteWhen writeWhen;
    final boolean mayTruncate;

    /** Checks options: their names are in lower case. */
    Settings(Map<String, String> options) {
        options.keySet().forEach(Settings::checkName);
        client = new ClientSettings(
                managers(options.getOrDefault(Names.MANAGERS, "")),
                tls(options),
                Units.duration(Names.CONNECT_TIMEOUT, options.getOrDefault(Names.CONNECT_TIMEOUT, "10s")),
                Units.duration(Names.TIMEOUT, options.getOrDefault(Names.TIMEOUT, "10s")),
                (int) Units.count(Names.IN_FLIGHT, options.getOrDefault(Names.IN_FLIGHT, "2048"), 65_536),
                (int) Math.min(Integer.MAX_VALUE,
                        Units.size(Names.IN_FLIGHT_BYTES, options.getOrDefault(Names.IN_FLIGHT_BYTES, "64m"))));
        retryTimeout = Units.duration(Names.RETRY_TIMEOUT, options.getOrDefault(Names.RETRY_TIMEOUT, "1m"));
        keyFormat = choice(options, Names.KEY_FORMAT, KeyFormat.UTF8);
        valueKind = choice(options, Names.VALUE_FORMAT, ValueKind.BYTES);
        valueErrors = choice(options, Names.VALUE_ERRORS, ValueErrors.FAIL);
        avroSchema = options.get(Names.AVRO_SCHEMA);
        prefix = options.getOrDefault(Names.COLUMNS_PREFIX, "");
        splitBytes = Units.size(Names.SPLIT_BYTES, options.getOrDefault(Names.SPLIT_BYTES, "128m"));
        partitions = options.containsKey(Names.PARTITIONS)
                ? (int) Units.count(Names.PARTITIONS, options.get(Names.PARTITIONS), 100_000) : 0;
        getsPerTask = (int) Units.count(Names.GETS_PER_TASK, options.getOrDefault(Names.GETS_PER_TASK, "10000"), 10_000_000);
        runtimeFilterKeys = (int) Units.count(
                Names.RUNTIME_FILTER_KEYS, options.getOrDefault(Names.RUNTIME_FILTER_KEYS, "100000"), 10_000_000);
        statistics = choice(options, Names.STATISTICS, Statistics.SAMPLE);
        taskRecords = rate(options, Names.TASK_RECORDS, false);
        taskBytes = rate(options, Names.TASK_BYTES, true);
        jobRecords = rate(options, Names.JOB_RECORDS, false);
        jobBytes = rate(options, Names.JOB_BYTES, true);
        operation = choice(options, Names.OPERATION, Operation.PUT);
        ttl = options.containsKey(Names.TTL) ? Units.duration(Names.TTL, options.get(Names.TTL)) : null;
        writeWhen = choice(options, Names.WRITE_WHEN, WriteWhen.ROW);
        mayTruncate = choice(options, Names.CONFIRM_TRUNCATE, Confirmed.FALSE) == Confirmed.TRUE;
        if (avroSchema != null && valueKind != ValueKind.AVRO) {
            throw new IllegalArgumentException("option avro.schema needs value.format=avro");
        }
        if (ttl != null && operation == Operation.DELETE) {
            throw new IllegalArgumentException("option ttl says when puts expire: leave it out with operation=delete");
        }
    }

    /** What one of so many tasks that run at a time may read or write. */
    RateLimit rate(int atATime) {
        return new RateLimit(RateLimit.share(taskRecords, jobRecords, atATime), RateLimit.share(taskBytes, jobBytes, atATime));
    }

    private enum Confirmed { FALSE, TRUE }

    private static void checkName(String name) {
        if (name.equals("path") || name.equals("paths")) {
            throw new IllegalArgumentException("format fawn has no paths: call load() or save() without one, and set managers");
        }
        if (Names.ALL.contains(name) || Names.SPARKS.contains(name)) {
            return;
        }
        throw new IllegalArgumentException(
                "format fawn has no option '" + name + "': the options are " + String.join(", ", Names.ALL));
    }

    private static List<String> managers(String text) {
        List<String> managers = new ArrayList<>();
        for (String each : text.split(",")) {
            String manager = each.trim();
            if (!manager.isEmpty()) {
                if (!manager.matches(".+:\\d{1,5}")) {
                    throw new IllegalArgumentException("option managers is HOST:PORT,HOST:PORT, not '" + text + "'");
                }
                managers.add(manager);
            }
        }
        if (managers.isEmpty()) {
            throw new IllegalArgumentException("option managers is missing: name the cluster's managers as HOST:PORT,HOST:PORT");
        }
        return managers;
    }

    private static List<String> tls(Map<String, String> options) {
        List<String> files = new ArrayList<>();
        for (String name : List.of(Names.TLS_CA, Names.TLS_CERT, Names.TLS_KEY)) {
            if (options.containsKey(name)) {
                files.add(options.get(name));
            }
        }
        if (!files.isEmpty() && files.size() < 3) {
            throw new IllegalArgumentException("options tls.ca, tls.cert and tls.key are given together, or none of them");
        }
        return files;
    }

    private static long rate(Map<String, String> options, String name, boolean isBytes) {
        String text = options.get(name);
        if (text == null) {
            return 0;
        }
        return isBytes ? Units.size(name, text) : Units.count(name, text, 1_000_000_000_000L);
    }

    private static <E extends Enum<E>> E choice(Map<String, String> options, String name, E fallback) {
        String text = options.get(name);
        if (text == null) {
            return fallback;
        }
        List<String> all = new ArrayList<>();
        for (E each : fallback.getDeclaringClass().getEnumConstants()) {
            if (each.name().equalsIgnoreCase(text.trim())) {
                return each;
            }
            all.add(each.name().toLowerCase(Locale.ROOT));
        }
        throw new IllegalArgumentException("option " + name + " is " + String.join(" or ", all) + ", not '" + text + "'");
    }
}
