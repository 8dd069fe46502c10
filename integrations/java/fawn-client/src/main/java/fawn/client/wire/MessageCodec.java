package fawn.client.wire;

/** A message's bytes: the version that brought it, and then the message. */
public final class MessageCodec {
    /** The oldest version that this client speaks. */
    public static final int OLDEST = 3;
    /** The newest. */
    public static final int NEWEST = 7;

    private static final int FAREWELLS = 4;
    private static final int SCANS = 5;
    private static final int CONTINUATIONS = 6;

    private MessageCodec() {}

    /** The version that brought a message: who speaks an older one cannot read it. */
    public static int since(Message message) {
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
