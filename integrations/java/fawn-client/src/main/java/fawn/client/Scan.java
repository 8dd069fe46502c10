package fawn.client;

import fawn.client.wire.Alive;
import fawn.client.wire.Flush;
import fawn.client.wire.Interval;
import fawn.client.wire.Kept;
import fawn.client.wire.Key;
import fawn.client.wire.Pair;
import fawn.client.wire.PositionHash;
import fawn.client.wire.Version;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * All keys and values of a cluster, or of an interval of positions, in parts. Each part is exactly as one record of its range
 * left it. Parts share no common time; of one range, a later part is as of no earlier record, unless the cluster is weak.
 *
 * <p>Keys come in the order of their positions, which are hashes. A part is kept in memory until it is whole and consistent,
 * and no key comes in two parts, whatever becomes of nodes, chains and ranges meanwhile: what is not whole is read again from
 * another member. Parts end with their ranges, so that the largest range has to fit, or after some bytes as well: see
 * {@link FawnClient#scan(Interval, int)}. Not to be used by several threads at once.
 */
public final class Scan implements AutoCloseable {
    /** A scan of which nothing has come for so long has stalled. */
    private static final long STALLED_MS = 60_000;

    private final ScanTask task;
    private final Runnable wake;
    private final PositionHash hash;
    /** By position, the newest version of each key that has come; several keys may share one. */
    private final TreeMap<Key, List<Kept>> newest = new TreeMap<>();
    private boolean isOver;

    Scan(ScanTask task, Runnable wake, PositionHash hash, boolean isOver) {
        this.task = task;
        this.wake = wake;
        this.hash = hash;
        this.isOver = isOver;
    }

    /**
     * The next part; {@code null} if that was all.
     *
     * @throws FawnException {@code STALLED} if nothing comes for a minute. It may be asked for again
     */
    public ScanPart next() throws FawnException {
        while (!isOver) {
            ScanEvent event = event();
            if (event.at != null) {
                isOver = event.bookmark.stretches.isEmpty() && event.bookmark.rest == null;
                return part(event);
            }
            if (event.keys != null) {
                newest.subMap(event.keys.low, true, event.keys.high, true).clear();
            }
            event.kept.forEach(this::learn);
        }
        return null;
    }

    private ScanEvent event() throws FawnException {
        try {
            ScanEvent event = task.take(STALLED_MS);
            if (event == null) {
                throw new FawnException(FawnException.Reason.STALLED,
                        "no node of the next keys has sent them for " + STALLED_MS / 1000 + " s: " + task.trouble(), null);
            }
            wake.run();
            return event;
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new FawnException(FawnException.Reason.INTERRUPTED);
        }
    }

    private void learn(Kept kept) {
        List<Kept> here = newest.computeIfAbsent(hash.position(kept.key), position -> new ArrayList<>(1));
        for (int at = 0; at < here.size(); at++) {
            if (Arrays.equals(here.get(at).key, kept.key)) {
                if (ScanStretch.compare(kept.position, here.get(at).position) >= 0) {
                    here.set(at, kept);
                }
                return;
            }
        }
        here.add(kept);
    }

    private ScanPart part(ScanEvent over) {
        Interval keys = over.keys;
        Map<Key, List<Kept>> here = newest.subMap(keys.low, true, keys.high, true);
        TreeMap<Key, Flush> flushes = new TreeMap<>();
        for (Pair<Key, Flush> flush : over.alive.flushes) {
            flushes.put(flush.first, flush.second);
        }
        Map<byte[], Value> entries = new LinkedHashMap<>();
        here.forEach((position, versions) -> {
            Map.Entry<Key, Flush> flush = flushes.floorEntry(position);
            for (Kept kept : versions) {
                if (isShown(kept, flush == null ? null : flush.getValue(), over.alive)) {
                    entries.put(kept.key, Value.of(kept));
                }
            }
        });
        here.clear();
        return new ScanPart(keys, over.at, over.alive.time, over.passes, over.bookmark, entries);
    }

    /** Whether a version was there as of the record. */
    private static boolean isShown(Kept kept, Flush flush, Alive alive) {
        Version version = kept.version;
        if (version == null || version.expiry != 0 && version.expiry <= alive.time) {
            return false;
        }
        if (flush == null) {
            return true;
        }
        boolean isDue = flush.due > 0 && flush.due <= alive.time;
        return !isDue && Long.compareUnsigned(kept.position.seq, flush.upto) > 0;
    }

    /** Ends the scan. */
    @Override
    public void close() {
        isOver = true;
        task.close();
        wake.run();
    }
}
