package fawn.client;

import fawn.client.wire.RequestId;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * The client's sessions, in which its writes are numbered. There is one for each range, so that a request that is stuck in
 * one range has no other remember what is answered long since.
 *
 * <p>A session's name begins with the second at which it began, and ranges forget old ones. So it is given another name now
 * and then; numbers go on, so that none comes twice under one name.
 */
final class Sessions {
    /** Sessions at most: of more ranges than that, some share one. */
    static final int MOST = 256;
    private static final long LOW_HALF = 0xffff_ffffL;

    /** The lower half of the first one's names; the others follow. */
    private final long low;
    private final Map<Long, Session> byPlace = new HashMap<>();

    /** One session. */
    private static final class Session {
        private long name;
        /** The Unix second in its name; -1 before the first use. */
        private long began = -1;
        private long last;
        /** Numbers that are not answered. */
        private final TreeSet<Long> open = new TreeSet<>();

        void begin(long unix, long lowHalf) {
            began = unix;
            name = unix << 32 | lowHalf;
        }
    }

    /** {@code low}, and the 255 numbers after it, is drawn at random. */
    Sessions(long low) {
        this.low = low & LOW_HALF;
    }

    /** Names a request on keys of a range, or on those of many if that is {@code null}. */
    RequestId number(Long range, long unix) {
        long at = range == null ? 0 : 1 + range % (MOST - 1);
        Session session = byPlace.computeIfAbsent(at, place -> new Session());
        if (session.began < 0 || unix >= session.began + Limits.SESSION_IDLE_S / 2) {
            session.begin(unix, low + at & LOW_HALF);
        }
        session.last++;
        session.open.add(session.last);
        return new RequestId(session.name, session.last);
    }

    /** A range whose time is {@code time} has forgotten the session. */
    void forgotten(long name, long time) {
        Session session = of(name);
        if (session != null && session.name == name) {
            session.begin(Math.min(Math.max(time, session.began + 1), LOW_HALF), name & LOW_HALF);
        }
    }

    /** Up to here all of a session's requests are answered. */
    long answered(long name) {
        Session session = of(name);
        return session.open.isEmpty() ? session.last : session.open.first() - 1;
    }

    /** A request is answered, or given up. */
    void ended(RequestId id) {
        Session session = of(id.session);
        if (session != null) {
            session.open.remove(id.number);
        }
    }

    private Session of(long name) {
        return byPlace.get(name - low & LOW_HALF);
    }
}
