package fawn.client;

import fawn.client.wire.Interval;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;

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

    /** The hosts on which its records are read, once each, that of the reader first: those of archives only if there are no others. */
    public List<String> hosts() {
        List<String> all = hosts(member -> true);
        List<String> serving = hosts(member -> !member.isArchive);
        return serving.isEmpty() ? all : serving;
    }

    private List<String> hosts(Predicate<RangeMember> which) {
        return members.stream().filter(which).map(member -> member.host).distinct().collect(Collectors.toUnmodifiableList());
    }
}
