package fawn.client;

import fawn.client.wire.Address;
import fawn.client.wire.Asker;
import fawn.client.wire.Bookmark;
import fawn.client.wire.Chain;
import fawn.client.wire.Consistency;
import fawn.client.wire.Found;
import fawn.client.wire.Interval;
import fawn.client.wire.Kept;
import fawn.client.wire.Key;
import fawn.client.wire.Member;
import fawn.client.wire.Message;
import fawn.client.wire.Pair;
import fawn.client.wire.Position;
import fawn.client.wire.RequestId;
import fawn.client.wire.Sought;
import fawn.client.wire.Stretch;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads all that is in a cluster, each stretch of keys exactly as one record left it (decision 16): crates/fawn-kv/src/scan in
 * Java. It has no sockets and no clock, and belongs to one thread.
 */
final class ScanMachine {
    /** What is not answered is asked of another member after so many microseconds. */
    private static final long RETRY_US = 3_000_000;
    /** After somebody said to ask elsewhere. */
    private static final long ELSEWHERE_US = 50_000;
    /** However long a node says that it needs, it is asked again after this. */
    private static final long MOST_WAIT_US = 60_000_000;
    /** While more events wait to be taken, nothing is asked. */
    private static final int MOST_EVENTS = 2;

    private final long tag;
    /** After so many bytes a part ends before its range does. */
    private final long partBytes;
    private final ChainMap map = new ChainMap();
    /** Those that were begun and are not over, the one under way last. */
    private final List<ScanStretch> stretches = new ArrayList<>();
    /** The first key of those that no stretch was begun for; {@code null} for none. */
    private Key rest;
    private final Key last;
    private final ArrayDeque<ScanEvent> events = new ArrayDeque<>();
    /** Number of the last question, and the node that it was asked of; -1 once it is answered. */
    private long asked;
    private long waitsFor = -1;
    /** Tries since the last answer that brought anything. */
    private int tries;
    private long dueUs;
    private String trouble;

    /** One that goes on from a bookmark, whose parts end with their ranges; no two of a client have one tag. */
    ScanMachine(long tag, Bookmark bookmark) {
        this(tag, bookmark, Long.MAX_VALUE);
    }

    /** One whose parts end after about so many bytes as well. */
    ScanMachine(long tag, Bookmark bookmark, long partBytes) {
        this.tag = tag;
        this.partBytes = partBytes;
        bookmark.stretches.forEach(stretch -> stretches.add(new ScanStretch(stretch)));
        rest = bookmark.rest;
        last = bookmark.last;
    }

    ScanEvent nextEvent() {
        return events.poll();
    }

    private boolean hasAll() {
        return stretches.isEmpty() && rest == null;
    }

    /** Whether everything has come, and was taken. */
    boolean isOver() {
        return events.isEmpty() && hasAll();
    }

    /** When {@link #tick} has something to do next; {@link Long#MAX_VALUE} for never. */
    long dueUs() {
        return !hasAll() && events.size() < MOST_EVENTS ? dueUs : Long.MAX_VALUE;
    }

    /** Why nothing has come for a while; {@code null} if something has. */
    String trouble() {
        return trouble;
    }

    /** A node cannot be reached, or not any more. */
    void lost(long node, Now now) {
        if (waitsFor == node) {
            fail("a node cannot be reached", ELSEWHERE_US, now);
        }
    }

    private void fail(String why, long waitUs, Now now) {
        waitsFor = -1;
        trouble = why;
        dueUs = now.us + waitUs;
    }

    /** Time has passed, or an event was taken. */
    void tick(Now now, List<Outgoing> out) {
        if (now.us < dueUs()) {
            return;
        }
        if (waitsFor >= 0) {
            waitsFor = -1;
            trouble = "a node does not answer";
        }
        dueUs = now.us + RETRY_US;
        if (tries > 0 || map.isEmpty()) {
            long known = map.number();
            out.add(new Outgoing(new Address.Manager(), null, 0, me -> new Message.AskView(me, known)));
        }
        tries++;
        Pair<Long, Chain> range = find();
        if (range == null) {
            fail("no node of the next keys is known", ELSEWHERE_US, now);
            return;
        }
        ScanStretch stretch = current();
        Member to = whom(stretch, range.second);
        asked++;
        waitsFor = to.node;
        out.add(question(stretch, range.first, to));
    }

    private Outgoing question(ScanStretch stretch, long range, Member to) {
        Key low = stretch.from == null ? stretch.keys.low : stretch.from;
        Interval keys = new Interval(low, stretch.keys.high);
        Position after = stretch.began == null ? stretch.since : stretch.began;
        Sought sought = stretch.from == null
                ? new Sought.Records(after)
                : new Sought.Part(stretch.since, stretch.began);
        Position least = stretch.least;
        RequestId id = new RequestId(tag, asked);
        return new Outgoing(new Address.Node(to.node), null, 0,
                me -> new Message.Scan(range, id, new Asker(me, tag), keys, least, sought));
    }

    private ScanStretch current() {
        return stretches.get(stretches.size() - 1);
    }

    /** The range that the stretch under way is in: one is begun where there is none, and cut where it is in several. */
    private Pair<Long, Chain> find() {
        Key low = stretches.isEmpty() ? rest : current().keys.low;
        Pair<Long, Chain> range = map.lookup(low);
        if (range == null) {
            return null;
        }
        Key end = range.second.keys.high;
        if (stretches.isEmpty()) {
            Key high = end.compareTo(last) < 0 ? end : last;
            Key next = high.successor();
            rest = next != null && next.compareTo(last) <= 0 ? next : null;
            stretches.add(new ScanStretch(new Interval(low, high)));
        } else if (current().keys.high.compareTo(end) > 0) {
            ScanStretch upper = current().cut(end);
            stretches.add(stretches.size() - 1, upper);
        }
        return range;
    }

    /**
     * Whom to ask: who answers gets of the range where nothing has come yet, another member after each try in vain; an
     * archive only where there are no others.
     */
    private Member whom(ScanStretch stretch, Chain chain) {
        if (isWeak(chain)) {
            return chain.members.get(0);
        }
        List<Member> members = ChainMap.readable(chain);
        int place = members.size() - 1;
        if (ScanStretch.compare(stretch.least, ScanStretch.NOTHING) == 0) {
            return members.get(place);
        }
        for (int at = 0; stretch.source != null && at < members.size(); at++) {
            if (isSame(members.get(at), stretch.source)) {
                place = at;
            }
        }
        return members.get(Math.floorMod(place + tries - 1, members.size()));
    }

    private static boolean isWeak(Chain chain) {
        return chain.rules.consistency == Consistency.WEAK;
    }

    private static boolean isSame(Member one, Member other) {
        return one.node == other.node && one.incarnation == other.incarnation;
    }

    /** A message has come. */
    void receive(Message message, Now now) {
        if (message instanceof Message.View) {
            Message.View view = (Message.View) message;
            boolean isFirst = map.isEmpty();
            map.learnChanges(view.since, view.number, view.chains);
            if (isFirst && waitsFor < 0) {
                dueUs = now.us;
            }
        } else if (message instanceof Message.Scanned) {
            Message.Scanned scanned = (Message.Scanned) message;
            boolean isLast = scanned.id.session == tag && scanned.id.number == asked;
            if (isLast && waitsFor == scanned.from.node) {
                waitsFor = -1;
                dueUs = now.us;
                found(scanned.from, scanned.found, now);
            }
        }
    }

    private void found(Member from, Found found, Now now) {
        ScanStretch stretch = current();
        if (isOtherLog(from, stretch)) {
            anew(stretch);
        } else if (found instanceof Found.NotMine) {
            fail("the nodes do not have the requested keys", ELSEWHERE_US, now);
        } else if (found instanceof Found.Later) {
            long waitUs = Math.min(((Found.Later) found).waitUs & Long.MAX_VALUE, MOST_WAIT_US);
            fail("a node has no lease, or is busy, or lags", waitUs, now);
        } else if (found instanceof Found.Unreadable) {
            fail("a node cannot read its disk", ELSEWHERE_US, now);
        } else if (!isPossible(found, stretch)) {
            fail("a node's reply is invalid: it does not continue from the requested position", ELSEWHERE_US, now);
        } else {
            stretch.source = from;
            tries = 0;
            trouble = null;
            if (found instanceof Found.Part) {
                part((Found.Part) found, stretch);
            } else if (found instanceof Found.Records) {
                records((Found.Records) found, stretch, now);
            } else if (stretch.from == null) {
                stretch.passAgain();
            } else {
                anew(stretch);
            }
        }
    }

    /** Whether an answer can be one to the last question: what it shows goes on, within what was asked for. */
    private static boolean isPossible(Found found, ScanStretch stretch) {
        if (found instanceof Found.Part) {
            Key next = ((Found.Part) found).next;
            return stretch.from != null && (next == null
                    || stretch.from.compareTo(next) < 0 && next.compareTo(stretch.keys.high) <= 0);
        }
        if (found instanceof Found.Records) {
            Found.Records records = (Found.Records) found;
            Position after = stretch.began == null ? stretch.since : stretch.began;
            int order = ScanStretch.compare(records.upto, after);
            return stretch.from == null && (order > 0 || order == 0 && records.ended != null);
        }
        return true;
    }

    private void part(Found.Part part, ScanStretch stretch) {
        stretch.began = stretch.began == null ? part.at : stretch.began;
        stretch.least = later(stretch.least, part.upto);
        stretch.from = part.next;
        events.add(ScanEvent.versions(part.kept));
        stretch.bytes += sizeOf(part.kept);
        boolean isFirstPass = ScanStretch.compare(stretch.since, ScanStretch.NOTHING) == 0;
        if (isFirstPass && part.next != null && stretch.bytes >= partBytes) {
            stretches.add(stretches.size() - 1, stretch.cutUnread());
        }
    }

    private static long sizeOf(List<Kept> versions) {
        long size = 0;
        for (Kept kept : versions) {
            size += kept.key.length + (kept.version == null ? 0 : kept.version.value.length);
        }
        return size;
    }

    private void records(Found.Records records, ScanStretch stretch, Now now) {
        stretch.began = records.upto;
        boolean isAll = ScanStretch.compare(records.upto, stretch.least) >= 0;
        stretch.least = later(stretch.least, records.upto);
        if (!records.kept.isEmpty()) {
            events.add(ScanEvent.versions(records.kept));
        }
        if (records.ended != null && isAll) {
            stretches.remove(stretches.size() - 1);
            events.add(ScanEvent.over(stretch.keys, records.upto, records.ended, stretch.passes, restarted()));
        } else if (records.ended != null) {
            // It knows of less than was seen: it will know of more.
            dueUs = now.us + ELSEWHERE_US;
        }
    }

    private static Position later(Position one, Position other) {
        return ScanStretch.compare(one, other) >= 0 ? one : other;
    }

    /** Where a scan goes on that keeps nothing of the stretches that are not over. */
    private Bookmark restarted() {
        List<Stretch> begun = new ArrayList<>();
        for (ScanStretch each : stretches) {
            begun.add(new Stretch(each.keys, each.keys.low, ScanStretch.NOTHING, null, ScanStretch.NOTHING, null, 1));
        }
        return new Bookmark(begun, rest, last);
    }

    /** Whether what a member shows goes with nothing of what has come: in a weak range each has a log of its own. */
    private boolean isOtherLog(Member from, ScanStretch stretch) {
        Pair<Long, Chain> range = map.lookup(stretch.keys.low);
        return range != null && isWeak(range.second) && stretch.source != null && !isSame(stretch.source, from);
    }

    private void anew(ScanStretch stretch) {
        stretch.anew();
        events.add(ScanEvent.anew(stretch.keys));
    }
}
