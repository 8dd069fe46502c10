package fawn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.wire.Ack;
import fawn.client.wire.Address;
import fawn.client.wire.Alive;
import fawn.client.wire.Bookmark;
import fawn.client.wire.Chain;
import fawn.client.wire.Consistency;
import fawn.client.wire.Fences;
import fawn.client.wire.Found;
import fawn.client.wire.Interval;
import fawn.client.wire.Kept;
import fawn.client.wire.Key;
import fawn.client.wire.Member;
import fawn.client.wire.Message;
import fawn.client.wire.Pair;
import fawn.client.wire.Position;
import fawn.client.wire.Rules;
import fawn.client.wire.Sought;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a scan asks for, and what it says has come, without a cluster. */
final class ScanMachineTest {
    private static final long TAG = 4;
    private static final Alive ALIVE = new Alive(9, List.of(), new Fences(List.of()));
    private static final Key MIDDLE = key(0x80);

    private final List<Outgoing> out = new ArrayList<>();
    private ScanMachine scan =
            new ScanMachine(TAG, new Bookmark(List.of(), Key.LOWEST, Key.HIGHEST));
    private long nowUs = 1;

    private static Key key(int first) {
        byte[] bytes = new byte[Key.BYTES];
        bytes[0] = (byte) first;
        return Key.of(bytes);
    }

    private static Member member(long node) {
        return new Member(node, 1);
    }

    private static Position at(long seq) {
        return new Position(1, seq);
    }

    private static Kept kept(String key, long seq) {
        return new Kept(key.getBytes(StandardCharsets.UTF_8), at(seq), null);
    }

    private Now now() {
        return new Now(nowUs, 1000);
    }

    private void view(long number, List<Pair<Long, Chain>> ranges) {
        scan.receive(new Message.View(number - 1, number, ranges, List.of()), now());
    }

    /** A range of these keys with the nodes 1 and 2 for head and tail. */
    private static Pair<Long, Chain> range(long id, Key low, Key high, long epoch) {
        Rules rules = new Rules(Consistency.CHAIN, Ack.DURABLE, 1, false, 100);
        List<Member> members = List.of(member(1), member(2));
        return new Pair<>(id, new Chain(new Interval(low, high), epoch, 1, members, at(0), 1, rules));
    }

    /** The next question, and whom it is for. */
    private Pair<Long, Message.Scan> question() {
        scan.tick(now(), out);
        out.removeIf(message -> message.to instanceof Address.Manager);
        assertEquals(1, out.size(), "a question is asked");
        Outgoing question = out.remove(0);
        return new Pair<>(((Address.Node) question.to).value, (Message.Scan) question.of(new Address.Client(3)));
    }

    private void answer(Pair<Long, Message.Scan> question, Found found) {
        scan.receive(new Message.Scanned(question.second.id, TAG, member(question.first), found), now());
    }

    @Test
    void aRangeIsOverOnceAllThatWasSeenIsThere() {
        view(1, List.of(range(7, Key.LOWEST, Key.HIGHEST, 1)));
        Pair<Long, Message.Scan> first = question();
        assertEquals(2, first.first, "the tail begins");
        assertNull(((Sought.Part) first.second.sought).began);
        answer(first, new Found.Part(List.of(kept("a", 3)), MIDDLE, at(5), at(6)));
        assertEquals(1, scan.nextEvent().kept.size());

        Pair<Long, Message.Scan> second = question();
        assertEquals(MIDDLE, second.second.keys.low);
        assertEquals(5, ((Sought.Part) second.second.sought).began.seq);
        assertEquals(6, second.second.least.seq);
        answer(second, new Found.Part(List.of(), null, at(7), at(8)));
        scan.nextEvent();

        Pair<Long, Message.Scan> third = question();
        assertEquals(5, ((Sought.Records) third.second.sought).after.seq);
        answer(third, new Found.Records(List.of(kept("a", 6)), at(7), ALIVE));
        assertEquals(1, scan.nextEvent().kept.size());
        assertNull(scan.nextEvent(), "8 was seen: it is not over at 7");
        nowUs += 100_000;
        answer(question(), new Found.Records(List.of(), at(8), ALIVE));
        ScanEvent over = scan.nextEvent();
        assertEquals(8, over.at.seq);
        assertEquals(1, over.passes);
        assertTrue(scan.isOver());
    }

    @Test
    void aPartThatIsLargeEnoughEndsBeforeItsRangeAndIsReadOnce() {
        scan = new ScanMachine(TAG, new Bookmark(List.of(), Key.LOWEST, Key.HIGHEST), 10);
        view(1, List.of(range(7, Key.LOWEST, Key.HIGHEST, 1)));
        answer(question(), new Found.Part(List.of(kept("short", 3)), key(0x20), at(5), at(5)));
        assertEquals(1, scan.nextEvent().kept.size());
        answer(question(), new Found.Part(List.of(kept("longer", 4)), MIDDLE, at(6), at(7)));
        assertEquals(1, scan.nextEvent().kept.size());

        Pair<Long, Message.Scan> since = question();
        assertEquals(MIDDLE.predecessor(), since.second.keys.high, "eleven bytes are a part");
        assertEquals(5, ((Sought.Records) since.second.sought).after.seq);
        answer(since, new Found.Records(List.of(), at(7), ALIVE));
        ScanEvent over = scan.nextEvent();
        assertEquals(Key.LOWEST, over.keys.low);
        assertEquals(MIDDLE.predecessor(), over.keys.high);
        assertEquals(7, over.at.seq);
        assertEquals(MIDDLE, over.bookmark.stretches.get(0).from, "the rest is to come");

        Pair<Long, Message.Scan> next = question();
        assertEquals(MIDDLE, next.second.keys.low);
        assertNull(((Sought.Part) next.second.sought).began, "it is as of another record");
        assertEquals(7, next.second.least.seq, "and of none that is earlier");
        answer(next, new Found.TooOld());
        ScanEvent anew = scan.nextEvent();
        assertEquals(MIDDLE, anew.keys.low, "what is over stays so");
        answer(question(), new Found.Part(List.of(), null, at(8), at(8)));
        scan.nextEvent();
        answer(question(), new Found.Records(List.of(), at(8), ALIVE));
        assertEquals(Key.HIGHEST, scan.nextEvent().keys.high);
        assertTrue(scan.isOver());
    }

    @Test
    void whatAnotherPassBringsDoesNotEndAPart() {
        scan = new ScanMachine(TAG, new Bookmark(List.of(), Key.LOWEST, Key.HIGHEST), 1);
        view(1, List.of(range(7, Key.LOWEST, Key.HIGHEST, 1)));
        answer(question(), new Found.Part(List.of(kept("a", 3)), MIDDLE, at(5), at(5)));
        scan.nextEvent();
        answer(question(), new Found.TooOld());
        Pair<Long, Message.Scan> again = question();
        assertEquals(5, ((Sought.Part) again.second.sought).since.seq);
        assertEquals(MIDDLE.predecessor(), again.second.keys.high);
        answer(again, new Found.Part(List.of(kept("a", 6)), key(0x40), at(6), at(6)));
        scan.nextEvent();
        Pair<Long, Message.Scan> rest = question();
        assertEquals(key(0x40), rest.second.keys.low, "the pass goes on");
        assertEquals(MIDDLE.predecessor(), rest.second.keys.high);
    }

    @Test
    void whereARangeWasSplitEachPartGoesOnByItself() {
        view(1, List.of(range(7, Key.LOWEST, Key.HIGHEST, 1)));
        answer(question(), new Found.Part(List.of(), key(0x40), at(5), at(5)));
        scan.nextEvent();
        Key last = key(0x60);
        view(2, List.of(range(8, Key.LOWEST, last, 2), range(9, last.successor(), Key.HIGHEST, 2)));
        Pair<Long, Message.Scan> lower = question();
        assertEquals(8, lower.second.range);
        assertEquals(last, lower.second.keys.high);
        assertEquals(key(0x40), lower.second.keys.low, "it goes on where it was");
        answer(lower, new Found.Part(List.of(), null, at(6), at(6)));
        answer(question(), new Found.Records(List.of(), at(6), ALIVE));
        ScanEvent over = null;
        for (ScanEvent event = scan.nextEvent(); event != null; event = scan.nextEvent()) {
            over = event;
        }
        assertEquals(last, over.keys.high);
        assertEquals(1, over.bookmark.stretches.size(), "a bookmark has the other part from its beginning");
        assertEquals(last.successor(), over.bookmark.stretches.get(0).from);
        assertEquals(9, question().second.range);
        assertFalse(scan.isOver());
    }

    @Test
    void whatIsTooOldOrInvalidBringsAnotherPassOrAnotherQuestion() {
        view(1, List.of(range(7, Key.LOWEST, Key.HIGHEST, 1)));
        Pair<Long, Message.Scan> first = question();
        answer(first, new Found.Part(List.of(), Key.LOWEST, at(5), at(5)));
        assertNull(scan.nextEvent(), "a part that does not go on");
        assertTrue(scan.trouble().contains("invalid"));
        nowUs += 100_000;
        answer(first, new Found.NotMine());
        Pair<Long, Message.Scan> second = question();
        assertEquals(2, second.second.id.number, "a late answer to another question counts for nothing");
        answer(second, new Found.Part(List.of(), null, at(5), at(5)));
        scan.nextEvent();
        answer(question(), new Found.TooOld());
        Pair<Long, Message.Scan> again = question();
        assertEquals(5, ((Sought.Part) again.second.sought).since.seq, "what was written since");
        answer(again, new Found.TooOld());
        assertEquals(Interval.ALL.low, scan.nextEvent().keys.low, "all of it begins anew");
        assertEquals(0, ((Sought.Part) question().second.sought).since.seq);
    }

    @Test
    void aMemberThatIsSilentOrGoneIsLeftForAnother() {
        view(1, List.of(range(7, Key.LOWEST, Key.HIGHEST, 1)));
        answer(question(), new Found.Part(List.of(), MIDDLE, at(5), at(5)));
        scan.nextEvent();
        assertEquals(2, question().first);
        nowUs += 3_000_000;
        assertEquals(1, question().first, "the tail is silent");
        scan.lost(1, now());
        nowUs += 100_000;
        assertEquals(2, question().first);
    }
}
