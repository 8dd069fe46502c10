package fawn.spark;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.RangeInfo;
import fawn.client.Scan;
import fawn.client.ScanPart;
import fawn.client.Value;
import fawn.client.wire.Interval;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * How much there is, judged by the first part of some ranges. Positions are hashes of keys, so that records lie evenly among
 * them.
 */
final class Density {
    private static final int SAMPLES = 4;
    private static final double POSITIONS = Math.pow(2, 64);

    private final double records;
    private final double bytes;

    private Density(double records, double bytes) {
        this.records = records;
        this.bytes = bytes;
    }

    /** Records in the whole cluster. */
    double records() {
        return records;
    }

    /** Bytes of their keys and values. */
    double bytes() {
        return bytes;
    }

    /** The share of all positions that an interval has. */
    static double share(Interval interval) {
        double low = unsigned(interval.low.prefix());
        return (unsigned(interval.high.prefix()) - low + 1) / POSITIONS;
    }

    private static double unsigned(long number) {
        return (number >>> 1) * 2.0 + (number & 1);
    }

    /** Reads some parts of 256 KiB; {@code null} if a node does not send its part. */
    static Density of(FawnClient client, List<RangeInfo> ranges) {
        List<Scan> scans = new ArrayList<>();
        for (int at = 0; at < Math.min(SAMPLES, ranges.size()); at++) {
            RangeInfo range = ranges.get((int) ((long) at * ranges.size() / Math.min(SAMPLES, ranges.size())));
            scans.add(client.scan(range.interval, 1));
        }
        try {
            double share = 0;
            double records = 0;
            double bytes = 0;
            for (Scan scan : scans) {
                ScanPart part = scan.next();
                if (part == null) {
                    return null;
                }
                share += share(part.interval);
                for (Map.Entry<byte[], Value> entry : part.entries().entrySet()) {
                    records++;
                    bytes += entry.getKey().length + entry.getValue().bytes.length;
                }
            }
            return new Density(records / share, bytes / share);
        } catch (FawnException error) {
            return null;
        } finally {
            scans.forEach(Scan::close);
        }
    }
}
