package fawn.spark;

import fawn.client.FawnException;
import fawn.client.Scan;
import fawn.client.ScanPart;
import fawn.client.Value;
import fawn.client.bulk.RateLimit;
import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** All records of some intervals of positions. Some intervals are read at a time, so that nodes work while rows are made. */
final class ScanSource implements RecordSource {
    private static final int LANES = 3;
    private static final int PART_BYTES = 1 << 20;
    /** A reader that ends early asks for no more than it needs. */
    private static final int LIMITED_PART_BYTES = 1 << 16;

    private final ClientPool.Lease lease;
    private final Read read;
    private final RateLimit rate;
    private final Counts counts;
    private final ArrayDeque<Interval> rest = new ArrayDeque<>();
    private final ArrayDeque<Scan> lanes = new ArrayDeque<>();
    private final int partBytes;
    private Iterator<Map.Entry<byte[], Value>> part = Collections.emptyIterator();
    private Map.Entry<byte[], Value> record;

    ScanSource(ClientPool.Lease lease, Read read, byte[][][] intervals, RateLimit rate, Counts counts) {
        this.lease = lease;
        this.read = read;
        this.rate = rate;
        this.counts = counts;
        boolean isLimited = read.limit > 0;
        partBytes = isLimited ? LIMITED_PART_BYTES : PART_BYTES;
        int pieces = isLimited ? 1 : (LANES + intervals.length - 1) / intervals.length;
        for (Interval interval : all(intervals)) {
            rest.addAll(interval.divide(pieces));
        }
        for (int lane = 0; lane < (isLimited ? 1 : LANES); lane++) {
            open();
        }
    }

    private static List<Interval> all(byte[][][] intervals) {
        List<Interval> all = new ArrayList<>();
        for (byte[][] interval : intervals) {
            all.add(new Interval(Key.of(interval[0]), Key.of(interval[1])));
        }
        return all;
    }

    private void open() {
        Interval next = rest.poll();
        if (next != null) {
            lanes.add(lease.client().scan(next, partBytes));
        }
    }

    @Override
    public boolean next() throws IOException {
        while (!part.hasNext()) {
            if (lanes.isEmpty()) {
                return false;
            }
            nextPart();
        }
        record = part.next();
        return true;
    }

    /** Takes a part of the lane whose turn it is. */
    private void nextPart() throws IOException {
        Scan lane = lanes.poll();
        long beganNs = System.nanoTime();
        ScanPart next = take(lane);
        counts.waitNs += System.nanoTime() - beganNs;
        if (next == null) {
            lane.close();
            open();
            return;
        }
        lanes.add(lane);
        long bytes = 0;
        for (Map.Entry<byte[], Value> each : next.entries().entrySet()) {
            bytes += each.getKey().length + each.getValue().bytes.length;
        }
        counts.take(rate, next.entries().size(), bytes);
        part = next.entries().entrySet().iterator();
    }

    private ScanPart take(Scan lane) throws IOException {
        Retry retry = new Retry(read.settings.retryTimeout, counts);
        for (;;) {
            try {
                return lane.next();
            } catch (FawnException error) {
                retry.after(error);
            }
        }
    }

    @Override
    public byte[] key() {
        return record.getKey();
    }

    @Override
    public Value value() {
        return record.getValue();
    }

    @Override
    public void close() {
        lanes.forEach(Scan::close);
        lease.close();
    }
}
