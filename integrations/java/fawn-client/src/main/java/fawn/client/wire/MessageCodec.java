package fawn.client.wire;

import java.util.List;

/** A message's bytes: the version that brought it, and then the message. */
public final class MessageCodec {
    /** The oldest version that this client speaks. */
    public static final int OLDEST = 3;
    /** The newest. */
    public static final int NEWEST = 8;

    private static final int FAREWELLS = 4;
    private static final int SCANS = 5;
    private static final int CONTINUATIONS = 6;
    private static final int PARTS = 8;

    /** The numbers of the operations on parts of values. */
    private static final int VIEW = 7;

    private static final int EDIT = 8;

    private MessageCodec() {}

    /** The version that brought a message: who speaks an older one cannot read it. */
    public static int since(Message message) {
        if (isOfPart(message)) {
            return PARTS;
        }
        if (message instanceof Message.Farewell || message instanceof Message.FrontFarewell) {
            return FAREWELLS;
        }
        if (message instanceof Message.Scan || message instanceof Message.Scanned) {
            return SCANS;
        }
        boolean isOfSix = message instanceof Message.Relayed
                || message instanceof Message.Probe
                || message instanceof Message.Echo
                || message instanceof Message.FrontCutOff
                || message instanceof Message.NodeCutOff
                || message instanceof Message.Ask && ((Message.Ask) message).continuation != null
                || message instanceof Message.Reply && isOfSix(((Message.Reply) message).answer);
        return isOfSix ? CONTINUATIONS : OLDEST;
    }

    /** Whether it carries an operation on a part of a value, or what one came to. */
    private static boolean isOfPart(Message message) {
        if (message instanceof Message.Request) {
            return isOfPart(((Message.Request) message).operation);
        }
        if (message instanceof Message.Ask) {
            return isOfPart(((Message.Ask) message).operation);
        }
        if (message instanceof Message.Reply) {
            Answer answer = ((Message.Reply) message).answer;
            return answer instanceof Answer.NeedsUpgrade
                    || answer instanceof Answer.Done && isOfPart(((Answer.Done) answer).outcome);
        }
        if (message instanceof Message.Feed) {
            return isOfPart(((Message.Feed) message).entries);
        }
        if (message instanceof Message.Fetched) {
            Given given = ((Message.Fetched) message).records;
            return given instanceof Given.Records && isOfPart(((Given.Records) given).value.entries);
        }
        return message instanceof Message.CopyPart && isOfPart(((Message.CopyPart) message).meta);
    }

    /** Looks at the operation's number alone. */
    private static boolean isOfPart(byte[] operation) {
        if (operation == null) {
            return false;
        }
        try {
            long number = new WireReader(operation, 0, operation.length).u32();
            return number == VIEW || number == EDIT;
        } catch (WireException error) {
            return false;
        }
    }

    private static boolean isOfPart(Outcome outcome) {
        return outcome instanceof Outcome.Integer
                || outcome instanceof Outcome.Computed
                || outcome instanceof Outcome.Refused;
    }

    private static boolean isOfPart(List<Entry> entries) {
        for (Entry entry : entries) {
            if (entry.asked != null && isOfPart(entry.asked.outcome)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOfPart(Meta meta) {
        if (meta == null) {
            return false;
        }
        for (Pair<Long, Session> session : meta.sessions.by) {
            for (Pair<Long, Pair<Position, Outcome>> done : session.second.done) {
                if (isOfPart(done.second.second)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean isOfSix(Answer answer) {
        return answer instanceof Answer.Conditional || answer instanceof Answer.Ahead;
    }

    /** The message's bytes. */
    public static byte[] encode(Message message) {
        WireWriter out = new WireWriter(128);
        append(message, out);
        return out.toBytes();
    }

    static void append(Message message, WireWriter out) {
        out.u8(since(message));
        message.write(out);
    }

    /**
     * The message that these bytes are. Memory is bounded by their number.
     *
     * @throws WireException if they are none, or one of a version that is not spoken
     */
    public static Message decode(byte[] bytes) throws WireException {
        return decode(new WireReader(bytes, 0, bytes.length));
    }

    static Message decode(WireReader in) throws WireException {
        int version = in.u8();
        if (version < OLDEST || version > NEWEST) {
            throw new WireException("a message has version " + version + ", and this client speaks " + OLDEST + " to "
                    + NEWEST + ": run releases with a common version");
        }
        Message message = Message.read(in);
        in.end();
        if (since(message) != version) {
            throw new WireException("version " + version + " has no such message");
        }
        return message;
    }

    /** The bytes of an operation, as requests carry them. */
    public static byte[] encode(Operation operation) {
        WireWriter out = new WireWriter(64);
        operation.write(out);
        return out.toBytes();
    }

    /**
     * The operation that these bytes are.
     *
     * @throws WireException if they are none
     */
    public static Operation decodeOperation(byte[] bytes) throws WireException {
        WireReader in = new WireReader(bytes, 0, bytes.length);
        Operation operation = Operation.read(in);
        in.end();
        return operation;
    }

    /** The bytes of a bookmark, from which a scan goes on later or in another process. */
    public static byte[] encode(Bookmark bookmark) {
        WireWriter out = new WireWriter(64);
        bookmark.write(out);
        return out.toBytes();
    }

    /**
     * The bookmark that these bytes are.
     *
     * @throws WireException if they are none
     */
    public static Bookmark decodeBookmark(byte[] bytes) throws WireException {
        WireReader in = new WireReader(bytes, 0, bytes.length);
        Bookmark bookmark = Bookmark.read(in);
        in.end();
        return bookmark;
    }
}
