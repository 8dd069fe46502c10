package fawn.spark;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.RangeInfo;
import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Divides a read among tasks. It asks the cluster where keys lie, and how much there is. */
final class Planner {
    private final Settings settings;
    private List<RangeInfo> ranges;
    private Density density;
    private boolean isSampled;

    Planner(Settings settings) {
        this.settings = settings;
    }

    /** Asks which ranges there are, once. */
    private List<RangeInfo> ranges(FawnClient client) throws IOException {
        if (ranges == null) {
            try {
                ranges = client.ranges();
            } catch (FawnException error) {
                throw new IOException(error.getMessage(), error);
            }
        }
        return ranges;
    }

    /** How much there is; {@code null} if that is not known. */
    synchronized Density density() {
        if (!isSampled && settings.statistics == Settings.Statistics.SAMPLE) {
            try (ClientPool.Lease lease = ClientPool.take(settings.client)) {
                density = Density.of(lease.client(), ranges(lease.client()));
            } catch (IOException error) {
                // The read itself will say so.
                density = null;
            }
        }
        isSampled = true;
        return density;
    }

    /** Gets: sorted by the node that answers and then by position, and cut into parts of equal length. */
    synchronized List<FawnPartition> gets(List<byte[]> keys) throws IOException {
        List<FawnPartition> partitions = new ArrayList<>();
        if (keys.isEmpty()) {
            return partitions;
        }
        try (ClientPool.Lease lease = ClientPool.take(settings.client)) {
            List<RangeInfo> all = ranges(lease.client());
            List<Located> located = new ArrayList<>(keys.size());
            keys.forEach(key -> located.add(new Located(key, lease.client().position(key), all)));
            located.sort(Comparator.comparing((Located key) -> key.owner).thenComparing(key -> key.position));
            int count = (keys.size() + settings.getsPerTask - 1) / settings.getsPerTask;
            for (int at = 0; at < count; at++) {
                int from = (int) ((long) at * located.size() / count);
                int upto = (int) ((long) (at + 1) * located.size() / count);
                partitions.add(together(located.subList(from, upto)));
            }
        }
        return partitions;
    }

    private static FawnPartition together(List<Located> located) {
        List<byte[]> keys = new ArrayList<>(located.size());
        Map<String, Integer> hosts = new LinkedHashMap<>();
        for (Located each : located) {
            keys.add(each.key);
            if (!each.range.members.isEmpty()) {
                hosts.merge(each.range.members.get(0).host, 1, Integer::sum);
            }
        }
        List<String> byKeys = new ArrayList<>(hosts.keySet());
        byKeys.sort(Comparator.comparing((String host) -> -hosts.get(host)));
        return FawnPartition.gets(keys, byKeys);
    }

    /** A key, and the range that it is in. */
    private static final class Located {
        private final byte[] key;
        private final Key position;
        private final RangeInfo range;
        private final String owner;

        private Located(byte[] key, Key position, List<RangeInfo> ranges) {
            this.key = key;
            this.position = position;
            int low = 0;
            int high = ranges.size() - 1;
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (ranges.get(middle).interval.high.compareTo(position) < 0) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            range = ranges.get(low);
            owner = range.members.isEmpty() ? "" : range.members.get(0).name;
        }
    }

    /** A scan of everything: small ranges with one reader share a task, large ones are cut. */
    synchronized List<FawnPartition> scans(int parallelism) throws IOException {
        List<RangeInfo> all;
        try (ClientPool.Lease lease = ClientPool.take(settings.client)) {
            all = ranges(lease.client());
        }
        Density known = density();
        int least = settings.partitions > 0 ? settings.partitions : 2 * parallelism;
        // The share of all positions that a task is to have.
        double share = known == null ? 1.0 / Math.max(least, all.size())
                : Math.min(1.0 / least, settings.splitBytes / Math.max(known.bytes(), 1));
        Map<String, Pack> open = new LinkedHashMap<>();
        List<FawnPartition> partitions = new ArrayList<>();
        for (RangeInfo range : all) {
            double own = Density.share(range.interval);
            int pieces = (int) Math.max(1, Math.min(100_000, Math.ceil(own / share * 0.999)));
            String owner = range.members.isEmpty() ? "" : range.members.get(0).name;
            for (Interval piece : range.interval.divide(pieces)) {
                Pack pack = open.computeIfAbsent(owner, key -> new Pack());
                if (pack.share > 0 && pack.share + own / pieces > share * 1.25) {
                    partitions.add(pack.partition());
                    pack = new Pack();
                    open.put(owner, pack);
                }
                pack.hosts.addAll(range.hosts());
                pack.intervals.add(new byte[][] {piece.low.toBytes(), piece.high.toBytes()});
                pack.share += own / pieces;
            }
        }
        open.values().forEach(pack -> partitions.add(pack.partition()));
        return partitions;
    }

    /** Intervals that will be one partition. */
    private static final class Pack {
        private final List<byte[][]> intervals = new ArrayList<>();
        private final Set<String> hosts = new LinkedHashSet<>();
        private double share;

        private FawnPartition partition() {
            return FawnPartition.scan(intervals, new ArrayList<>(hosts));
        }
    }
}
