package fawn.client;

import fawn.client.wire.Bookmark;
import fawn.client.wire.Interval;
import fawn.client.wire.Position;
import java.util.Collections;
import java.util.Map;

/** All that was in an interval of positions, as of one record: see {@link Scan}. */
public final class ScanPart {
    /** The positions: a range of the cluster, or some of one. No two parts of a scan share any. */
    public final Interval interval;
    /** As of which record: its epoch and its number in the range. */
    public final Position asOf;
    /** The range's time as of then, a Unix second: values that expire later are here. */
    public final long time;
    /** Times that the keys were read until nothing was missing. */
    public final long passes;
    /** Where a scan goes on after this part, in this process or in another: see {@link FawnClient#scan(Bookmark)}. */
    public final Bookmark bookmark;
    private final Map<byte[], Value> entries;

    ScanPart(Interval interval, Position asOf, long time, long passes, Bookmark bookmark, Map<byte[], Value> entries) {
        this.interval = interval;
        this.asOf = asOf;
        this.time = time;
        this.passes = passes;
        this.bookmark = bookmark;
        this.entries = entries;
    }

    /** Keys and values in the order of the keys' positions, to be gone through; arrays are not found by their bytes. */
    public Map<byte[], Value> entries() {
        return Collections.unmodifiableMap(entries);
    }
}
