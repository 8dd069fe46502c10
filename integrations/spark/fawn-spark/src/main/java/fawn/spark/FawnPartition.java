package fawn.spark;

import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;

/** The part of a read that one task does: keys to get, or intervals of positions to scan. */
final class FawnPartition implements InputPartition {
    private static final long serialVersionUID = 1;

    /** {@code null} for a scan. */
    final byte[][] keys;
    /** The lowest and the highest position of each interval; {@code null} for gets. */
    final byte[][][] intervals;
    private final String[] hosts;

    private FawnPartition(byte[][] keys, byte[][][] intervals, List<String> hosts) {
        this.keys = keys;
        this.intervals = intervals;
        this.hosts = hosts.toArray(new String[0]);
    }

    static FawnPartition gets(List<byte[]> keys, List<String> hosts) {
        return new FawnPartition(keys.toArray(new byte[0][]), null, hosts);
    }

    static FawnPartition scan(List<byte[][]> intervals, List<String> hosts) {
        return new FawnPartition(null, intervals.toArray(new byte[0][][]), hosts);
    }

    /** The hosts that have the records, the one that answers reads first. */
    @Override
    public String[] preferredLocations() {
        return hosts;
    }
}
