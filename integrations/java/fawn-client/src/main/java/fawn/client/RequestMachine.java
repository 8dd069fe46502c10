package fawn.client;

import fawn.client.wire.Address;
import fawn.client.wire.Answer;
import fawn.client.wire.Asker;
import fawn.client.wire.Key;
import fawn.client.wire.Message;
import fawn.client.wire.RequestId;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;

/**
 * Whom a request is asked of, when again, and what became of it: crates/fawn-kv/src/client in Java. It has no sockets and no
 * clock, and belongs to one thread.
 *
 * <p>A request has the same ID at every try, so that the cluster carries it out once. Gets go to the owner of the key's
 * wedge as well: a front-end shows what it has cached, which is right only as long as nobody sees a newer version past it.
 */
final class RequestMachine {
    /** Bytes of a continuation that are the client's own. */
    static final int OWN_BYTES = 12;

    /** Tells its own continuations from those of others. */
    private final int low;
    private final Sessions sessions;
    private final Routes routes = new Routes();
    private final TreeSet<Long> fronts = new TreeSet<>();
    private final Reachability reach = new Reachability();
    private final RequestQueue requests = new RequestQueue();
    private final List<Outgoing> out;
    private long tickets;
    private long askedViewUs = Long.MIN_VALUE / 2;

    /** One whose messages go to {@code out}; {@code low} is drawn at random. */
    RequestMachine(long low, List<Outgoing> out) {
        this.low = (int) low;
        this.sessions = new Sessions(low);
        this.out = out;
    }

    /** When {@link #tick} has something to do next. */
    long dueUs() {
        return requests.nextDueUs();
    }

    /** These front-ends are there, and no others. */
    void setFronts(List<Long> known) {
        fronts.clear();
        fronts.addAll(known);
        reach.retain(fronts);
    }

    /** A front-end is being called, to ask it what was to be asked of it. */
    void called(long front, Now now) {
        reach.called(front, now.us);
    }

    /** A front-end has answered the call. */
    void up(long front) {
        reach.up(front);
    }

    /** A front-end cannot be reached any more: what was asked of it may have been carried out, and is asked again. */
    void lost(long front, Now now) {
        reach.lost(front, now.us);
        askOthers(front, now);
    }

    /** A front-end cannot be reached: of what was to be said to it this was not sent, nor will be. */
    void unreached(long front, List<Outgoing> unsent, Now now) {
        reach.unreached(front, now.us);
        for (int at = unsent.size() - 1; at >= 0; at--) {
            Outgoing message = unsent.get(at);
            Request request = requests.get(Tries.ticketOf(message.tag));
            if (message.id != null && request != null && isSame(request.id, message.id)) {
                request.unsent(Tries.numberOf(message.tag));
            }
        }
        askOthers(front, now);
    }

    private void askOthers(long front, Now now) {
        requests.askedOf(front).forEach(ticket -> requests.setDue(ticket, now.us));
    }

    private static boolean isSame(RequestId one, RequestId other) {
        return one.session == other.session && one.number == other.number;
    }

    /** Takes a request on. */
    void ask(Request request, Now now) {
        if (now.us >= askedViewUs + Limits.VIEW_US) {
            askView(now.us);
        }
        long ticket = ++tickets;
        request.id = request.isGet() ? new RequestId(0, ticket) : number(request, now);
        requests.insert(ticket, request, now.us);
        send(ticket, now.us);
    }

    private RequestId number(Request request, Now now) {
        Long range = request.want == Request.Want.FLUSH ? null : routes.rangeAt(request.position);
        return sessions.number(range, now.unix);
    }

    /** Time has passed. */
    void tick(Now now) {
        for (Long ticket = requests.nextDue(now.us); ticket != null; ticket = requests.nextDue(now.us)) {
            if (now.us >= requests.get(ticket).deadlineUs) {
                giveUp(ticket);
            } else {
                askView(now.us);
                send(ticket, now.us);
            }
        }
    }

    /** The client ends: so do all requests. */
    void close() {
        for (Request request : requests.drain()) {
            request.done.accept(lastWord(request));
        }
    }

    /** A message has come, from one who speaks this version. */
    void receive(Message message, int version, Now now) {
        if (message instanceof Message.View) {
            routes.learn((Message.View) message);
        } else if (message instanceof Message.Reply && isOwn((Message.Reply) message)) {
            answered((Message.Reply) message, version, now);
        }
    }

    /**
     * Whether an answer comes with what went with the request, if with anything. A front-end that was started again may take
     * an answer to somebody else for one to this client.
     */
    private boolean isOwn(Message.Reply reply) {
        if (reply.continuation == null) {
            return true;
        }
        long ticket = Tries.ticketOf(reply.tag);
        Request request = requests.get(ticket);
        return request != null && request.continuation != null
                && Arrays.equals(reply.continuation.blob, named(ticket, request.continuation));
    }

    /** What travels with a get that front-ends remember nothing of: whose it is, which, and what the program gave. */
    private byte[] named(long ticket, byte[] continuation) {
        ByteBuffer blob = ByteBuffer.allocate(OWN_BYTES + continuation.length).order(ByteOrder.LITTLE_ENDIAN);
        return blob.putInt(low).putLong(ticket).put(continuation).array();
    }

    /** Asks who owns what, not too often. */
    private void askView(long nowUs) {
        if (nowUs >= askedViewUs + Limits.ASK_VIEW_US) {
            askedViewUs = nowUs;
            long known = routes.number();
            out.add(new Outgoing(new Address.Manager(), null, 0, me -> new Message.AskView(me, known)));
        }
    }

    /**
     * Whom to ask for a key: the owner of its wedge, or another who passes it on; each try goes to another of those. After an
     * owner that said nothing, every other try does: it may be there, and the link to it broken. {@code null}: nobody yet.
     */
    private Long front(Request request, long nowUs) {
        Long owner = routes.ownerAt(request.position);
        owner = owner != null && fronts.contains(owner) ? owner : null;
        boolean isSilent = request.tried > 0 && !request.tries.isRefused();
        boolean goesRound = isSilent && request.tried % 2 == 1;
        if (owner != null && reach.isGood(owner, nowUs) && !goesRound) {
            return owner;
        }
        List<Long> others = new ArrayList<>(fronts);
        others.removeIf(front -> !reach.isGood(front, nowUs));
        if (goesRound && others.size() > 1) {
            others.remove(owner);
        }
        if (others.isEmpty()) {
            // If nobody can be reached, the owner is as good as anybody.
            if (owner != null && reach.mayBeCalled(owner, nowUs)) {
                return owner;
            }
            others.addAll(fronts);
            others.removeIf(front -> !reach.mayBeCalled(front, nowUs));
        }
        if (others.isEmpty()) {
            return null;
        }
        long turn = request.position.prefix() + request.tried;
        return others.get((int) Long.remainderUnsigned(turn, others.size()));
    }

    private void send(long ticket, long nowUs) {
        Request request = requests.get(ticket);
        Long front = front(request, nowUs);
        if (front == null) {
            requests.setDue(ticket, reach.againUs(fronts, nowUs + Limits.NOBODY_US));
            return;
        }
        long tag = Tries.tag(ticket, request.tries.begin());
        out.add(new Outgoing(new Address.Front(front), request.id, tag, builder(ticket, request, tag)));
        request.tried++;
        request.sent++;
        request.to = front;
        requests.setDue(ticket, nowUs + request.waitUs);
        request.waitUs = Math.min(2 * request.waitUs, Limits.RETRY_MOST_US);
    }

    private Outgoing.Builder builder(long ticket, Request request, long tag) {
        RequestId id = request.id;
        byte[] key = request.key;
        if (request.isGet()) {
            byte[] blob = request.continuation == null ? null : named(ticket, request.continuation);
            return me -> new Message.Ask(id, null, new Asker(me, tag), false, key, null, blob);
        }
        long answered = sessions.answered(id.session);
        if (request.want == Request.Want.FLUSH) {
            return me -> new Message.AskFlush(id, answered, new Asker(me, tag), null, 0);
        }
        byte[] operation = request.operation;
        return me -> new Message.Ask(id, answered, new Asker(me, tag), false, key, operation, null);
    }

    private void answered(Message.Reply reply, int version, Now now) {
        long ticket = Tries.ticketOf(reply.tag);
        Request request = requests.get(ticket);
        if (request == null || !isSame(request.id, reply.id)) {
            // To a try of what has ended.
            return;
        }
        Answer answer = reply.answer;
        request.tries.answered(Tries.numberOf(reply.tag), answer, version);
        boolean isRefused = request.tries.isRefused();
        boolean isFlush = request.want == Request.Want.FLUSH;
        if (answer instanceof Answer.Found && request.isGet()) {
            found(ticket, request, ((Answer.Found) answer), now);
        } else if (answer instanceof Answer.Done && request.want == Request.Want.WRITE) {
            Answer.Done done = (Answer.Done) answer;
            end(ticket, RequestOutcome.done(done.outcome, done.position));
        } else if (answer instanceof Answer.Flushed && isFlush) {
            end(ticket, RequestOutcome.of(RequestOutcome.Kind.FLUSHED));
        } else if (answer instanceof Answer.Unknown && !request.isGet()) {
            forgotten(ticket, request, ((Answer.Unknown) answer).time, isRefused && !isFlush, now);
        } else if (answer instanceof Answer.Malformed
                || answer instanceof Answer.Conditional
                || Tries.isLasting(answer) && isRefused) {
            end(ticket, RequestOutcome.refused(answer));
        } else if (answer instanceof Answer.TooLarge) {
            // A seat with a larger limit may have taken another try, which will be answered as well: no more are begun.
            requests.setDue(ticket, Long.MAX_VALUE);
        } else if (answer instanceof Answer.NotMine
                || answer instanceof Answer.AskAgain
                || answer instanceof Answer.Fenced
                || answer instanceof Answer.Busy) {
            askView(now.us);
            long waitUs = Limits.doubled(Limits.REFUSED_LEAST_US, Limits.REFUSED_MOST_US, request.tried);
            requests.setDue(ticket, now.us + waitUs);
        } else {
            again(ticket, now);
        }
    }

    /** Nobody knows yet: the next try may tell. */
    private void again(long ticket, Now now) {
        askView(now.us);
        requests.setDue(ticket, now.us + Limits.REFUSED_LEAST_US);
    }

    private void found(long ticket, Request request, Answer.Found found, Now now) {
        if (found.value != null && !Arrays.equals(found.value.key, request.key)) {
            // Another key than was asked for is a fault of whoever answers.
            again(ticket, now);
        } else {
            end(ticket, RequestOutcome.found(found.value));
        }
    }

    /** Ranges have forgotten the session of a request: one that was not carried out goes on in another. */
    private void forgotten(long ticket, Request request, long time, boolean wasNotDone, Now now) {
        sessions.forgotten(request.id.session, time);
        if (!wasNotDone || request.renamed >= Limits.MOST_NAMES) {
            end(ticket, RequestOutcome.of(RequestOutcome.Kind.UNKNOWN));
            return;
        }
        sessions.ended(request.id);
        request.id = number(request, now);
        request.tries = new Tries();
        request.renamed++;
        send(ticket, now.us);
    }

    /** The deadline of a request has come. */
    private void giveUp(long ticket) {
        end(ticket, lastWord(requests.get(ticket)));
    }

    private static RequestOutcome lastWord(Request request) {
        if (request.sent == 0) {
            return RequestOutcome.of(RequestOutcome.Kind.UNREACHED);
        }
        Answer refusal = request.tries.lastWord();
        return refusal == null
                ? RequestOutcome.of(RequestOutcome.Kind.UNKNOWN)
                : RequestOutcome.refused(refusal);
    }

    private void end(long ticket, RequestOutcome outcome) {
        Request request = requests.remove(ticket);
        if (!request.isGet()) {
            sessions.ended(request.id);
        }
        request.done.accept(outcome);
    }
}
