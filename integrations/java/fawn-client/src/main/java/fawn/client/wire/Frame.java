package fawn.client.wire;

import java.util.zip.CRC32C;

/** What goes over a link: a message with its addresses, or a control, behind its length and checksum (docs/wire.md, "Links"). */
public final class Frame {
    /** Bytes before the body: its length and its CRC-32C, four each, lowest byte first. */
    public static final int HEADER_BYTES = 8;
    /** The longest body that is taken from one who is known. */
    public static final int MOST_BYTES = 136 << 20;
    /** The longest body that is taken before. */
    public static final int MOST_GREETING_BYTES = 4096;

    private static final int MESSAGE = 0;
    private static final int CONTROL = 1;

    /** For whom; {@code null} with a control. */
    public final Address to;
    /** From whom; {@code null} with a control. */
    public final Address from;
    /** The message; {@code null} with a control. */
    public final Message message;
    /** The control; {@code null} with a message, or if this client does not know it. */
    public final Control control;

    private Frame(Address to, Address from, Message message, Control control) {
        this.to = to;
        this.from = from;
        this.message = message;
        this.control = control;
    }

    /** One with a message. */
    public static Frame of(Address to, Address from, Message message) {
        return new Frame(to, from, message, null);
    }

    /** One with a control. */
    public static Frame of(Control control) {
        return new Frame(null, null, null, control);
    }

    /** Appends the frame's bytes. */
    public void write(WireWriter out) {
        int start = out.length();
        out.raw(new byte[HEADER_BYTES]);
        if (message == null) {
            out.u8(CONTROL);
            control.write(out);
        } else {
            out.u8(MESSAGE);
            to.write(out);
            from.write(out);
            MessageCodec.append(message, out);
        }
        int body = start + HEADER_BYTES;
        out.fixed32At(start, out.length() - body);
        out.fixed32At(start + 4, checksum(out.buffer(), body, out.length()));
    }

    /**
     * The length of the body that a header is before.
     *
     * @throws WireException if it is longer than {@code most}
     */
    public static int bodyLength(byte[] header, int most) throws WireException {
        long length = fixed32(header, 0);
        if (length > most) {
            throw new WireException("a frame of " + length + " bytes is longer than the limit of " + most
                    + ": check that the other side is a FAWN of this cluster");
        }
        return (int) length;
    }

    /**
     * The frame of a header and the body after it.
     *
     * @throws WireException if it was changed on its way, or cannot be read
     */
    public static Frame read(byte[] header, byte[] body) throws WireException {
        if (checksum(body, 0, body.length) != (int) fixed32(header, 4)) {
            throw new WireException(
                    "a frame's checksum is wrong: check the network and the other side's memory");
        }
        WireReader in = new WireReader(body, 0, body.length);
        int kind = in.u8();
        if (kind == MESSAGE) {
            Address to = Address.read(in);
            Address from = Address.read(in);
            return new Frame(to, from, MessageCodec.decode(in), null);
        }
        if (kind == CONTROL) {
            return new Frame(null, null, null, Control.read(in));
        }
        throw new WireException("a frame's kind is " + kind + ": run a client of the cluster's release");
    }

    private static long fixed32(byte[] bytes, int at) {
        long value = 0;
        for (int byteAt = 3; byteAt >= 0; byteAt--) {
            value = value << 8 | (bytes[at + byteAt] & 0xff);
        }
        return value;
    }

    private static int checksum(byte[] bytes, int start, int end) {
        CRC32C checksum = new CRC32C();
        checksum.update(bytes, start, end - start);
        return (int) checksum.getValue();
    }
}
