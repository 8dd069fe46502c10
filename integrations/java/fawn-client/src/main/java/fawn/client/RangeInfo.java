package fawn.client;

import fawn.client.wire.Interval;
import java.util.List;

/** A range of the cluster: which keys it has, and who serves them. */
public final class RangeInfo {
    /** Names the range; no other range ever has the same number. */
    public final long id;
    /** The positions of its keys. */
    public final Interval interval;
    /** The members of its chain. The one that answers reads comes first; archives come last. */
    public final List<RangeMember> members;

    RangeInfo(long id, Interval interval, List<RangeMember> members) {
        this.id = id;
        this.interval = interval;
        this.members = List.copyOf(members);
    }
}
