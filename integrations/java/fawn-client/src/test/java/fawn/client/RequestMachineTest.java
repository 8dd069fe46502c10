package fawn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.wire.Address;
import fawn.client.wire.Answer;
import fawn.client.wire.Asker;
import fawn.client.wire.Cas;
import fawn.client.wire.Continuation;
import fawn.client.wire.FrontMember;
import fawn.client.wire.Interval;
import fawn.client.wire.Kept;
import fawn.client.wire.Key;
import fawn.client.wire.Message;
import fawn.client.wire.Outcome;
import fawn.client.wire.Position;
import fawn.client.wire.Wedge;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Whom is asked, when again, and what a request ends with, without a cluster. */
final class RequestMachineTest {
    private static final long DEADLINE_US = 10_000_000;
    private static final long UNIX = 1_800_000_000L;
    private static final int VERSION = 6;
    private static final long OWNER = 7;

    private final List<Outgoing> out = new ArrayList<>();
    private final List<RequestOutcome> ended = new ArrayList<>();
    private RequestMachine machine;
    private long nowUs = 1;

    @BeforeEach
    void makeMachine() {
        machine = new RequestMachine(5, out);
        machine.setFronts(List.of(6L, OWNER, 8L));
        Wedge all = new Wedge(Interval.ALL, 1, new FrontMember(OWNER, 1), false);
        machine.receive(new Message.View(0, 1, List.of(), List.of(all)), VERSION, now());
    }

    private Now now() {
        return new Now(nowUs, UNIX);
    }

    private void ask(Request.Want want) {
        byte[] operation = want == Request.Want.WRITE ? new byte[] {1} : null;
        machine.ask(new Request(want, new byte[] {'k'}, Key.LOWEST, operation, DEADLINE_US, ended::add), now());
    }

    /** The questions that have been sent since this was last called. */
    private List<Outgoing> sent() {
        List<Outgoing> questions = new ArrayList<>(out);
        questions.removeIf(message -> message.to instanceof Address.Manager);
        out.clear();
        return questions;
    }

    private Outgoing onlySent() {
        List<Outgoing> questions = sent();
        assertEquals(1, questions.size());
        return questions.get(0);
    }

    private static Message.Ask ask(Outgoing question) {
        return (Message.Ask) question.of(new Address.Client(3));
    }

    private static long front(Outgoing question) {
        return ((Address.Front) question.to).value;
    }

    private void pass(long us) {
        nowUs += us;
        machine.tick(now());
    }

    private void answer(Outgoing question, Answer answer, int version) {
        machine.receive(new Message.Reply(question.id, question.tag, null, 0, answer), version, now());
    }

    private static Answer done() {
        return new Answer.Done(new Outcome.Stored(new Cas.Appended(), 1), new Position(1, 42), false, null);
    }

    @Test
    void aContinuationComesBackAndNoOtherClientsIsTakenForIt() {
        byte[] program = {9, 8};
        machine.ask(new Request(Request.Want.GET, new byte[] {'k'}, Key.LOWEST, null, program, DEADLINE_US, ended::add), now());
        Outgoing question = onlySent();
        byte[] blob = ask(question).continuation;
        assertEquals(RequestMachine.OWN_BYTES + program.length, blob.length);
        assertEquals(5, blob[0], "whose it is");
        byte[] others = blob.clone();
        others[0]++;
        for (byte[] given : List.of(others, blob)) {
            Continuation continuation = new Continuation(new Asker(new Address.Client(3), question.tag), given);
            Answer found = new Answer.Found(new Kept(new byte[] {'k'}, new Position(1, 1), null));
            machine.receive(new Message.Reply(question.id, question.tag, continuation, 0, found), VERSION, now());
            assertEquals(given == blob ? 1 : 0, ended.size());
        }
        ask(Request.Want.GET);
        assertEquals(null, ask(onlySent()).continuation);
    }

    @Test
    void theOwnerIsAskedAndEveryOtherTryGoesRoundItUnderTheSameName() {
        ask(Request.Want.WRITE);
        Outgoing first = onlySent();
        assertEquals(OWNER, front(first));
        assertEquals(UNIX << 32 | 5, first.id.session);
        assertEquals(0, ask(first).answered);
        pass(Limits.RETRY_LEAST_US - 1);
        assertEquals(List.of(), sent(), "not yet");
        pass(1);
        Outgoing second = onlySent();
        assertNotEquals(OWNER, front(second));
        pass(2 * Limits.RETRY_LEAST_US);
        Outgoing third = onlySent();
        assertEquals(OWNER, front(third));
        assertEquals(first.id, third.id);
        assertEquals(first.tag + 2, third.tag, "tries are told apart");
        answer(first, done(), VERSION);
        answer(second, done(), VERSION);
        assertEquals(1, ended.size(), "it ends once");
        assertEquals(42, ended.get(0).position.seq);

        ask(Request.Want.WRITE);
        assertEquals(1, ask(onlySent()).answered, "the first was answered");
    }

    @Test
    void aRefusedTryIsMadeAgainSoonAndARequestThatWasRefusedToTheEndDidNothing() {
        ask(Request.Want.WRITE);
        answer(onlySent(), new Answer.Busy(), VERSION);
        pass(2 * Limits.REFUSED_LEAST_US);
        assertEquals(OWNER, front(onlySent()), "who has refused has not been silent");

        makeMachine();
        ended.clear();
        ask(Request.Want.WRITE);
        Outgoing question = onlySent();
        answer(question, new Answer.Full(), VERSION);
        assertEquals(RequestOutcome.Kind.REFUSED, ended.get(0).kind);
        assertTrue(ended.get(0).refusal instanceof Answer.Full);
    }

    @Test
    void aDeadlineSaysWhetherAnythingMayHaveBeenDone() {
        ask(Request.Want.WRITE);
        pass(DEADLINE_US);
        assertEquals(RequestOutcome.Kind.UNKNOWN, ended.get(0).kind, "it was sent and not answered");

        makeMachine();
        nowUs = 1;
        sent();
        ask(Request.Want.WRITE);
        Outgoing question = onlySent();
        answer(question, new Answer.NotMine(), VERSION);
        nowUs = DEADLINE_US;
        machine.close();
        assertEquals(RequestOutcome.Kind.REFUSED, ended.get(1).kind, "all tries were refused");

        makeMachine();
        nowUs = 1;
        sent();
        ask(Request.Want.WRITE);
        machine.called(OWNER, now());
        machine.unreached(OWNER, sent(), now());
        machine.close();
        assertEquals(RequestOutcome.Kind.UNREACHED, ended.get(2).kind, "nothing was sent");
    }

    @Test
    void afterALostConnectionAnotherFrontEndIsAskedAtOnce() {
        ask(Request.Want.GET);
        assertEquals(OWNER, front(onlySent()));
        machine.lost(OWNER, now());
        machine.tick(now());
        assertNotEquals(OWNER, front(onlySent()));
        pass(Limits.AVOID_US);
        sent();
        ask(Request.Want.GET);
        assertEquals(OWNER, front(onlySent()), "it is tried again later");
    }

    @Test
    void aValueThatOneSeatFindsTooLongWasNotStoredOnlyIfEveryTryWasRefused() {
        ask(Request.Want.WRITE);
        Outgoing first = onlySent();
        pass(Limits.RETRY_LEAST_US);
        Outgoing second = onlySent();
        answer(second, new Answer.TooLarge(), VERSION);
        assertEquals(List.of(), ended, "the first may be carried out where more is taken");
        pass(DEADLINE_US / 2);
        assertEquals(List.of(), sent(), "what is too long is not sent again and again");
        answer(first, new Answer.TooLarge(), VERSION);
        assertEquals(RequestOutcome.Kind.REFUSED, ended.get(0).kind);
        assertTrue(ended.get(0).refusal instanceof Answer.TooLarge);

        makeMachine();
        nowUs = 1;
        sent();
        ask(Request.Want.WRITE);
        Outgoing slow = onlySent();
        pass(Limits.RETRY_LEAST_US);
        Outgoing quick = onlySent();
        answer(quick, new Answer.TooLarge(), VERSION);
        answer(slow, done(), VERSION);
        assertEquals(RequestOutcome.Kind.DONE, ended.get(1).kind);
        assertEquals(2, ended.size());
    }

    @Test
    void atItsDeadlineAWriteOfWhichOneTryIsOpenIsUnknownAndOneThatIsTooLongAtOnceIsRefused() {
        ask(Request.Want.WRITE);
        answer(onlySent(), new Answer.TooLarge(), VERSION);
        assertTrue(ended.get(0).refusal instanceof Answer.TooLarge, "there is no other try");

        makeMachine();
        sent();
        ask(Request.Want.WRITE);
        sent();
        pass(Limits.RETRY_LEAST_US);
        answer(onlySent(), new Answer.TooLarge(), VERSION);
        pass(DEADLINE_US);
        assertEquals(RequestOutcome.Kind.UNKNOWN, ended.get(1).kind);
    }

    @Test
    void aForgottenSessionEndsAsUnknownUnlessNothingWasDone() {
        ask(Request.Want.WRITE);
        Outgoing first = onlySent();
        answer(first, new Answer.Unknown(UNIX + 9), VERSION);
        Outgoing renamed = onlySent();
        assertEquals(UNIX + 9, renamed.id.session >>> 32, "it goes on under a later name");
        answer(renamed, done(), VERSION);
        assertEquals(RequestOutcome.Kind.DONE, ended.get(0).kind);

        ask(Request.Want.WRITE);
        answer(onlySent(), new Answer.Unknown(UNIX), 5);
        assertEquals(RequestOutcome.Kind.UNKNOWN, ended.get(1).kind, "an older release is not sure");

        ask(Request.Want.WRITE);
        Outgoing one = onlySent();
        pass(Limits.RETRY_LEAST_US);
        Outgoing other = onlySent();
        answer(other, new Answer.Unknown(UNIX), VERSION);
        assertEquals(RequestOutcome.Kind.UNKNOWN, ended.get(2).kind, "the first try may have been carried out");
        answer(one, done(), VERSION);
        assertEquals(3, ended.size());
    }

    @Test
    void anAnswerAboutAnotherKeyIsAskedForAgain() {
        ask(Request.Want.GET);
        Outgoing first = onlySent();
        answer(first, new Answer.Found(new Kept(new byte[] {'x'}, new Position(1, 1), null)), VERSION);
        assertEquals(List.of(), ended);
        pass(Limits.REFUSED_LEAST_US);
        answer(onlySent(), new Answer.Found(null), VERSION);
        assertEquals(RequestOutcome.Kind.FOUND, ended.get(0).kind);
    }

    @Test
    void aRequestThatIsStuckHoldsBackItsOwnRangeAlone() {
        Sessions sessions = new Sessions(0xffff_fffaL);
        var stuck = sessions.number(7L, 1000);
        var other = sessions.number(8L, 1000);
        var same = sessions.number(7L, 1000);
        sessions.ended(other);
        sessions.ended(same);
        assertEquals(stuck.session, same.session);
        assertEquals(stuck.number - 1, sessions.answered(stuck.session));
        assertEquals(other.number, sessions.answered(other.session));
        sessions.ended(stuck);
        assertEquals(same.number, sessions.answered(stuck.session));
        sessions.forgotten(stuck.session, 900);
        var later = sessions.number(7L, 1000);
        assertEquals(1001, later.session >>> 32);
        assertEquals(same.number + 1, later.number, "no number comes twice");
    }
}
