package fawn.client;

import fawn.client.wire.Address;
import fawn.client.wire.Frame;
import fawn.client.wire.Message;
import fawn.client.wire.MessageCodec;
import fawn.client.wire.WireWriter;
import java.util.ArrayList;
import java.util.List;

/** A connection to a seat: one event loop of a member, with its node and its front-end. */
final class SeatConnection {
    /** A seat that was asked and says nothing for so long, in microseconds, is called again. */
    private static final long SILENT_US = 10_000_000;
    /** One that takes nothing for so long, in nanoseconds, is gone. */
    private static final long STALLED_NS = 10_000_000_000L;
    private static final int KEEP_BYTES = 1 << 20;
    private static final long NEVER = Long.MAX_VALUE;

    final Link link;
    /** What waits until the seat says what it calls this client. */
    private final List<Outgoing> held = new ArrayList<>();
    private final WireWriter output = new WireWriter(1024);
    private Address me;
    private int version;
    private long owesSinceUs = NEVER;

    SeatConnection(Link link) {
        this.link = link;
    }

    /** Whether it stands. */
    boolean isUp() {
        return me != null;
    }

    /** What has not been sent, because it has not stood. */
    List<Outgoing> held() {
        return held;
    }

    /** The version that is spoken; the newest before that is known. */
    int version() {
        return me == null ? MessageCodec.NEWEST : version;
    }

    /** It stands; returns whether the other side can read all that has waited. */
    boolean up(Address name, int spoken, long nowUs) {
        me = name;
        version = spoken;
        boolean isRead = true;
        for (Outgoing message : held) {
            isRead &= put(message, nowUs);
        }
        held.clear();
        return isRead;
    }

    /** Says something; returns whether the other side can read it. */
    boolean put(Outgoing outgoing, long nowUs) {
        if (me == null) {
            held.add(outgoing);
            return true;
        }
        Message message = spoken(outgoing.of(me));
        if (MessageCodec.since(message) > version) {
            return false;
        }
        Frame.of(outgoing.to, me, message).write(output);
        owesSinceUs = Math.min(owesSinceUs, nowUs);
        return true;
    }

    /** A get with a continuation as one without, where the other side knows of none: its front-end remembers it then. */
    private Message spoken(Message message) {
        if (!(message instanceof Message.Ask) || MessageCodec.since(message) <= version) {
            return message;
        }
        Message.Ask ask = (Message.Ask) message;
        return new Message.Ask(ask.id, ask.answered, ask.asker, ask.forwarded, ask.key, ask.operation, null);
    }

    /** It has said something. */
    void heard() {
        owesSinceUs = NEVER;
    }

    /** Whether nothing comes over it any more. */
    boolean isSilent(long nowUs) {
        return owesSinceUs != NEVER && nowUs - owesSinceUs > SILENT_US || link.isStalled(STALLED_NS);
    }

    /** Sends what there is to say. */
    void flush() {
        if (output.length() > 0) {
            link.send(output);
            output.clear(KEEP_BYTES);
        }
    }
}
