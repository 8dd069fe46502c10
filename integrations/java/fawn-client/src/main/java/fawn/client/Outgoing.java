package fawn.client;

import fawn.client.wire.Address;
import fawn.client.wire.Message;
import fawn.client.wire.RequestId;

/** A message that is to be sent. It names the client as the other side does, which is known once a link stands. */
final class Outgoing {
    /** For whom. */
    final Address to;
    /** The request of which it is a try; {@code null} if it is none. */
    final RequestId id;
    /** The try's tag. */
    final long tag;
    private final Builder builder;

    /** Makes the message of a client that is called so. */
    interface Builder {
        Message of(Address me);
    }

    Outgoing(Address to, RequestId id, long tag, Builder builder) {
        this.to = to;
        this.id = id;
        this.tag = tag;
        this.builder = builder;
    }

    Message of(Address me) {
        return builder.of(me);
    }
}
