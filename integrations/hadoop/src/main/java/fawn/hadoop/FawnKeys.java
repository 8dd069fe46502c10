package fawn.hadoop;

/** The keys of a job's configuration. The README of this module has them as a table. */
public final class FawnKeys {
    /** Managers of the cluster, {@code HOST:PORT}, separated by commas; one that answers is enough. */
    public static final String MANAGERS = "fawn.managers";
    /** Certificate files for mutual TLS, as paths on every machine of the job; either all three or none. */
    public static final String TLS_CA = "fawn.tls.ca";
    /** The client's own certificate. */
    public static final String TLS_CERTIFICATE = "fawn.tls.certificate";
    /** The certificate's private key. */
    public static final String TLS_KEY = "fawn.tls.key";
    /** Seconds within which a task connects. */
    public static final String CONNECT_TIMEOUT = "fawn.connect.timeout.s";
    /** Seconds that one try of an operation takes at most. */
    public static final String TIMEOUT = "fawn.timeout.s";

    /** Splits that each range of the ring becomes. */
    public static final String SPLITS_PER_RANGE = "fawn.input.splits.per.range";
    /** Bytes after which a part of a scan ends: what a task holds in memory. */
    public static final String PART_BYTES = "fawn.input.part.bytes";
    /** How a mapper sees keys: {@code bytes} or {@code text}. */
    public static final String INPUT_KEY = "fawn.input.key";
    /** How a mapper sees values: {@code record}, {@code bytes} or {@code text}. */
    public static final String INPUT_VALUE = "fawn.input.value";
    /** Only keys that begin with this are read; mappers see them without it. */
    public static final String INPUT_PREFIX = "fawn.input.prefix";
    /** Seconds that a task waits for the next part before it fails. */
    public static final String INPUT_PATIENCE = "fawn.input.patience.s";
    /** Records that one task reads a second at most; 0 for no limit. */
    public static final String INPUT_RECORDS_RATE = "fawn.input.records.per.second";
    /** Bytes that one task reads a second at most; 0 for no limit. */
    public static final String INPUT_BYTES_RATE = "fawn.input.bytes.per.second";

    /** When records are put: {@code direct} or {@code commit}. */
    public static final String OUTPUT_MODE = "fawn.output.mode";
    /** Put before every key. */
    public static final String OUTPUT_PREFIX = "fawn.output.prefix";
    /** Seconds after the job's submission when records expire; 0 for never. */
    public static final String TTL = "fawn.output.ttl.s";
    /** The Unix second that {@link #TTL} came to when the job was submitted. */
    public static final String EXPIRES_AT = "fawn.output.expires.at";
    /** Puts that a task has under way at most. */
    public static final String IN_FLIGHT = "fawn.output.in.flight";
    /** Bytes of keys and values of those. */
    public static final String IN_FLIGHT_BYTES = "fawn.output.in.flight.bytes";
    /** Longest record, as nodes count it by {@code --max-item-size}: key, value and 63 bytes. A longer one fails its task. */
    public static final String MOST_ITEM_BYTES = "fawn.output.max.item.bytes";
    /** Seconds that a task tries to put one record before it fails. */
    public static final String OUTPUT_PATIENCE = "fawn.output.patience.s";
    /** Records that one task puts a second at most; 0 for no limit. */
    public static final String TASK_RECORDS_RATE = "fawn.output.records.per.second";
    /** Bytes that one task puts a second at most; 0 for no limit. */
    public static final String TASK_BYTES_RATE = "fawn.output.bytes.per.second";
    /** Records that the job puts a second at most; 0 for no limit. Each task has an equal share. */
    public static final String JOB_RECORDS_RATE = "fawn.output.job.records.per.second";
    /** Bytes that the job puts a second at most; 0 for no limit. Each task has an equal share. */
    public static final String JOB_BYTES_RATE = "fawn.output.job.bytes.per.second";
    /** Tasks that write at a time, by which the job's limits are divided; 0 for all that the job has. */
    public static final String TASKS_AT_A_TIME = "fawn.output.tasks.at.a.time";

    private FawnKeys() {}
}
