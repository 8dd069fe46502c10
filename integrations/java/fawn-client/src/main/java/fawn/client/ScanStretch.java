package fawn.client;

import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import fawn.client.wire.Member;
import fawn.client.wire.Position;
import fawn.client.wire.Stretch;

/** How far a scan is with one stretch of keys. */
final class ScanStretch {
    static final Position NOTHING = new Position(0, 0);

    Interval keys;
    /** Where the pass goes on; {@code null}: it is over, and records are asked for. */
    Key from;
    /** All that was committed up to here came before; the lowest position: this is the first pass. */
    Position since = NOTHING;
    /** What was committed when the pass began; {@code null} until that is known. Then up to where records have come. */
    Position began;
    /** The newest position up to which anything may have been seen. */
    Position least = NOTHING;
    /** Who has answered last; {@code null} for nobody. */
    Member source;
    long passes = 1;
    /** Bytes of keys and values that have come of it. */
    long bytes;

    /** One of which nothing has come. */
    ScanStretch(Interval keys) {
        this.keys = keys;
        this.from = keys.low;
    }

    /** One of a bookmark. */
    ScanStretch(Stretch stretch) {
        this(stretch.keys);
        from = stretch.from;
        since = stretch.since;
        began = stretch.began;
        least = stretch.least;
        source = stretch.source;
        passes = stretch.passes;
    }

    static int compare(Position one, Position other) {
        int byEpoch = Long.compare(one.epoch, other.epoch);
        return byEpoch != 0 ? byEpoch : Long.compareUnsigned(one.seq, other.seq);
    }

    /** Takes the keys after {@code last}, which are some but not all, out, as a stretch of their own which is as far. */
    ScanStretch cut(Key last) {
        Key next = last.successor();
        ScanStretch rest = new ScanStretch(new Interval(next, keys.high));
        rest.from = from;
        rest.since = since;
        rest.began = began;
        rest.least = least;
        rest.source = source;
        rest.passes = passes;
        keys = new Interval(keys.low, last);
        if (from != null && from.compareTo(last) > 0) {
            from = null;
        } else if (from != null) {
            rest.from = next;
        }
        return rest;
    }

    /**
     * Takes the keys that the pass has not come to out, as a stretch of which nothing has come. It is to be as of a record of
     * its own, which is no earlier than any that was seen so far.
     */
    ScanStretch cutUnread() {
        ScanStretch unread = cut(from.predecessor());
        unread.began = null;
        unread.passes = 1;
        return unread;
    }

    /** Asks for what was written since what has come. */
    void passAgain() {
        since = began == null ? since : began;
        began = null;
        from = keys.low;
        passes++;
    }

    /** Begins anew. */
    void anew() {
        from = keys.low;
        since = NOTHING;
        began = null;
        least = NOTHING;
        source = null;
        bytes = 0;
        passes++;
    }
}
