package fawn.hadoop;

/** What tasks count, beside Hadoop's own counters. */
public enum FawnCounter {
    /** Records that scans have shown. */
    RECORDS_READ,
    /** Bytes of their keys and values. */
    BYTES_READ,
    /** Records whose keys do not begin with the prefix that is sought. */
    RECORDS_SKIPPED,
    /** Parts of scans, each as of one record. */
    PARTS_READ,
    /** Passes over a part beyond its first, because much was written meanwhile or a member failed. */
    PASSES_REPEATED,
    /** Times that no part came for a minute. */
    READ_STALLS,
    /** Records that were put and acknowledged. */
    RECORDS_WRITTEN,
    /** Keys that were deleted, whether or not they were there. */
    RECORDS_DELETED,
    /** Bytes of keys and values that were put. */
    BYTES_WRITTEN,
    /** Puts and deletions that failed and were tried again under another request ID. */
    WRITE_RETRIES,
    /** Milliseconds that tasks waited for acknowledgements. */
    WRITE_WAIT_MS,
    /** Milliseconds that tasks waited because of limits on records or bytes a second. */
    RATE_WAIT_MS
}
