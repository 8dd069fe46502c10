package fawn.client;

import fawn.client.wire.Alive;
import fawn.client.wire.Bookmark;
import fawn.client.wire.Interval;
import fawn.client.wire.Kept;
import fawn.client.wire.Position;
import java.util.List;

/** What has come of a stretch of keys. */
final class ScanEvent {
    /** Versions of keys: parts of a pass, or records, of which the highest position counts; empty with the others. */
    final List<Kept> kept;
    /** Keys of which all that has come is of no use any more, or that are over; {@code null} with versions. */
    final Interval keys;
    /** As of which record they are over; {@code null} with all others. */
    final Position at;
    /** What decides which versions can be seen as of then. */
    final Alive alive;
    /** Passes that it took. */
    final long passes;
    /** Where a scan goes on that has what is over, and nothing else. */
    final Bookmark bookmark;

    private ScanEvent(List<Kept> kept, Interval keys, Position at, Alive alive, long passes, Bookmark bookmark) {
        this.kept = kept;
        this.keys = keys;
        this.at = at;
        this.alive = alive;
        this.passes = passes;
        this.bookmark = bookmark;
    }

    static ScanEvent versions(List<Kept> kept) {
        return new ScanEvent(kept, null, null, null, 0, null);
    }

    static ScanEvent anew(Interval keys) {
        return new ScanEvent(List.of(), keys, null, null, 0, null);
    }

    static ScanEvent over(Interval keys, Position at, Alive alive, long passes, Bookmark bookmark) {
        return new ScanEvent(List.of(), keys, at, alive, passes, bookmark);
    }
}
