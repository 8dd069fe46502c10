package fawn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.wire.Ack;
import fawn.client.wire.Chain;
import fawn.client.wire.Consistency;
import fawn.client.wire.Enrolment;
import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import fawn.client.wire.Member;
import fawn.client.wire.NodeClass;
import fawn.client.wire.Message;
import fawn.client.wire.Pair;
import fawn.client.wire.Position;
import fawn.client.wire.RosterMember;
import fawn.client.wire.Rules;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** What is said of the ranges, without a cluster. */
final class RangesQueryTest {
    private static final Key MIDDLE = Key.of(new byte[] {
        (byte) 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});

    /** The number of an archive. */
    private static final long ARCHIVE = 3 | 1L << 31;

    private final List<Outgoing> out = new ArrayList<>();
    private final RangesQuery query = new RangesQuery(1_000_000);

    private static Pair<Long, Chain> range(long id, Key low, Key high, Consistency consistency) {
        Rules rules = new Rules(consistency, Ack.DURABLE, 1, false, 100);
        List<Member> members = List.of(new Member(1, 1), new Member(2, 1), new Member(9, 1));
        return new Pair<>(id, new Chain(new Interval(low, high), 1, 1, members, new Position(0, 0), 1, rules));
    }

    /** The members a, b and c, which is an archive; nobody knows node 9. */
    private static Pair<String, RosterMember> memberOf(long seat) {
        if (seat == ARCHIVE) {
            Enrolment said = new Enrolment("c", new byte[16], "three.example:7401", null, NodeClass.ARCHIVE, false, 1, "", null, 1, "");
            return new Pair<>(said.name, new RosterMember(said, seat, seat, null));
        }
        if (seat > 2) {
            return null;
        }
        String address = seat == 1 ? "[fd00::1]:7401" : "two.example:7401";
        Enrolment said = new Enrolment(seat == 1 ? "a" : "b", new byte[16], address, null, NodeClass.SERVING, true, 1, "", null, 1, "");
        return new Pair<>(said.name, new RosterMember(said, seat, seat, null));
    }

    private boolean tick(long us) {
        return query.tick(new Now(us, 1000), RangesQueryTest::memberOf, out);
    }

    @Test
    void rangesAreToldOnceAllAreKnownTheReaderFirst() {
        assertTrue(tick(1));
        assertTrue(tick(2));
        assertEquals(1, out.size(), "asked once");
        query.receive(new Message.View(0, 4, List.of(range(2, MIDDLE, Key.HIGHEST, Consistency.WEAK)), List.of()));
        assertTrue(tick(300_000), "the lower half is not known");
        assertEquals(2, out.size());
        query.receive(new Message.View(0, 5, List.of(range(1, Key.LOWEST, MIDDLE.predecessor(), Consistency.CHAIN)),
                List.of()));
        assertFalse(tick(300_001));
        List<RangeInfo> ranges = query.ended().join();
        assertEquals(2, ranges.size());
        RangeInfo chain = ranges.get(0);
        assertEquals(1, chain.id);
        assertEquals("b", chain.members.get(0).name, "the tail that is known");
        assertEquals("two.example", chain.members.get(0).host);
        assertEquals("fd00::1", chain.members.get(1).host);
        assertEquals("a", ranges.get(1).members.get(0).name, "the owner of a weak range");
    }

    @Test
    void recordsAreReadOnTheHostsOfArchivesOnlyIfThereAreNoOthers() {
        Rules rules = new Rules(Consistency.CHAIN, Ack.DURABLE, 1, false, 100);
        for (boolean isAlone : new boolean[] {false, true}) {
            RangesQuery query = new RangesQuery(1_000_000);
            List<Member> members = isAlone ? List.of(new Member(ARCHIVE, 1))
                    : List.of(new Member(1, 1), new Member(2, 1), new Member(ARCHIVE, 1));
            Chain chain = new Chain(new Interval(Key.LOWEST, Key.HIGHEST), 1, 1, members, new Position(0, 0), 1, rules);
            query.tick(new Now(1, 1000), RangesQueryTest::memberOf, out);
            query.receive(new Message.View(0, 4, List.of(new Pair<>(1L, chain)), List.of()));
            query.tick(new Now(2, 1000), RangesQueryTest::memberOf, out);
            RangeInfo range = query.ended().join().get(0);
            assertEquals("c", range.members.get(range.members.size() - 1).name);
            assertEquals(isAlone ? List.of("three.example") : List.of("two.example", "fd00::1"), range.hosts());
        }
    }

    @Test
    void itEndsAtItsDeadline() {
        assertTrue(tick(1));
        assertFalse(tick(1_000_000));
        CompletionException error = assertThrows(CompletionException.class, () -> query.ended().join());
        assertTrue(error.getCause().getMessage().contains("fawn status"));
    }
}
