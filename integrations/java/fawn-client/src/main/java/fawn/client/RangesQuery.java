package fawn.client;

import fawn.client.wire.Address;
import fawn.client.wire.Chain;
import fawn.client.wire.Consistency;
import fawn.client.wire.Member;
import fawn.client.wire.Message;
import fawn.client.wire.Pair;
import fawn.client.wire.RosterMember;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongFunction;

/** Asks the manager which ranges there are, until it is known of every key. It has no sockets and no clock. */
final class RangesQuery {
    /** What is not answered is asked again after so many microseconds. */
    private static final long RETRY_US = 200_000;

    private final ChainMap map = new ChainMap();
    private final CompletableFuture<List<RangeInfo>> ended = new CompletableFuture<>();
    private final long deadlineUs;
    private long dueUs;

    RangesQuery(long deadlineUs) {
        this.deadlineUs = deadlineUs;
    }

    /** Ends with the ranges, or a {@link FawnException}. */
    CompletableFuture<List<RangeInfo>> ended() {
        return ended;
    }

    /** When {@link #tick} has something to do next. */
    long dueUs() {
        return Math.min(dueUs, deadlineUs);
    }

    /** Does what is due; returns whether it goes on. {@code memberOf} says who has a seat, and {@code null} for nobody. */
    boolean tick(Now now, LongFunction<Pair<String, RosterMember>> memberOf, List<Outgoing> out) {
        List<Pair<Long, Chain>> whole = map.whole();
        if (whole != null) {
            List<RangeInfo> ranges = new ArrayList<>();
            whole.forEach(range -> ranges.add(new RangeInfo(range.first, range.second.keys, members(range.second, memberOf))));
            ended.complete(ranges);
        } else if (now.us >= deadlineUs) {
            ended.completeExceptionally(new FawnException(FawnException.Reason.TIMED_OUT,
                    "the managers have not named the nodes of all keys in time: see fawn status", null));
        } else if (now.us >= dueUs) {
            dueUs = now.us + RETRY_US;
            out.add(new Outgoing(new Address.Manager(), null, 0, me -> new Message.AskView(me, 0)));
        }
        return !ended.isDone();
    }

    private static List<RangeMember> members(Chain chain, LongFunction<Pair<String, RosterMember>> memberOf) {
        List<RangeMember> members = new ArrayList<>();
        List<Member> ordered = new ArrayList<>(ChainMap.readable(chain));
        if (chain.rules.consistency != Consistency.WEAK) {
            Collections.reverse(ordered);
        }
        chain.members.stream().filter(member -> !ordered.contains(member)).forEach(ordered::add);
        for (Member member : ordered) {
            Pair<String, RosterMember> known = memberOf.apply(member.node);
            if (known != null) {
                String host = HostPort.hostOf(known.second.said.address);
                members.add(new RangeMember(known.first, host, ChainMap.isArchive(member)));
            }
        }
        return members;
    }

    /** A manager has said who has what. */
    void receive(Message.View view) {
        map.learnChanges(view.since, view.number, view.chains);
        dueUs = map.whole() == null ? dueUs : 0;
    }

    /** The client ends. */
    void close() {
        ended.completeExceptionally(new FawnException(FawnException.Reason.UNREACHED));
    }
}
