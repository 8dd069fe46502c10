package fawn.spark;

import java.util.List;

/** Names of the options. */
final class Names {
    static final String MANAGERS = "managers";
    static final String TLS_CA = "tls.ca";
    static final String TLS_CERT = "tls.cert";
    static final String TLS_KEY = "tls.key";
    static final String CONNECT_TIMEOUT = "connect.timeout";
    static final String TIMEOUT = "timeout";
    static final String RETRY_TIMEOUT = "retry.timeout";
    static final String IN_FLIGHT = "in.flight";
    static final String IN_FLIGHT_BYTES = "in.flight.bytes";
    static final String KEY_FORMAT = "key.format";
    static final String VALUE_FORMAT = "value.format";
    static final String VALUE_ERRORS = "value.errors";
    static final String AVRO_SCHEMA = "avro.schema";
    static final String COLUMNS_PREFIX = "columns.prefix";
    static final String SPLIT_BYTES = "split.bytes";
    static final String PARTITIONS = "partitions";
    static final String GETS_PER_TASK = "gets.per.task";
    static final String RUNTIME_FILTER_KEYS = "runtime.filter.keys";
    static final String STATISTICS = "statistics";
    static final String TASK_RECORDS = "task.records.per.second";
    static final String TASK_BYTES = "task.bytes.per.second";
    static final String JOB_RECORDS = "job.records.per.second";
    static final String JOB_BYTES = "job.bytes.per.second";
    static final String OPERATION = "operation";
    static final String TTL = "ttl";
    static final String WRITE_WHEN = "write.when";
    static final String CONFIRM_TRUNCATE = "confirm.truncate";

    static final List<String> ALL = List.of(MANAGERS, TLS_CA, TLS_CERT, TLS_KEY, CONNECT_TIMEOUT, TIMEOUT, RETRY_TIMEOUT,
            IN_FLIGHT, IN_FLIGHT_BYTES, KEY_FORMAT, VALUE_FORMAT, VALUE_ERRORS, AVRO_SCHEMA, COLUMNS_PREFIX, SPLIT_BYTES,
            PARTITIONS, GETS_PER_TASK, RUNTIME_FILTER_KEYS, STATISTICS, TASK_RECORDS, TASK_BYTES, JOB_RECORDS, JOB_BYTES,
            OPERATION, TTL, WRITE_WHEN, CONFIRM_TRUNCATE);
    /** What Spark itself adds to the options of tables, catalogs and streams. */
    static final List<String> SPARKS = List.of("provider", "owner", "comment", "location", "external", "is_managed_location",
            "collation", "checkpointlocation", "queryname");

    private Names() {}
}
