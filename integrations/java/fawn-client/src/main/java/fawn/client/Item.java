package fawn.client;

import fawn.client.wire.MessageCodec;
import fawn.client.wire.Mode;
import fawn.client.wire.Operation;
import fawn.client.wire.Store;
import java.time.Duration;

/** A value that is to be put, with its flags and its expiry. */
public final class Item {
    private static final long MOST_U32 = 0xffff_ffffL;

    private final byte[] bytes;
    private final long flags;
    private final long expiry;

    private Item(byte[] bytes, long flags, long expiry) {
        this.bytes = bytes;
        this.flags = flags;
        this.expiry = expiry;
    }

    /** One without flags that never expires. */
    public static Item of(byte[] bytes) {
        return new Item(bytes, 0, 0);
    }

    /** The same with the program's own flags, which come back with the value: 0 to 4294967295. */
    public Item withFlags(long flags) {
        if (flags < 0 || flags > MOST_U32) {
            throw new IllegalArgumentException("flags are 0 to 4294967295, not " + flags);
        }
        return new Item(bytes, flags, expiry);
    }

    /**
     * The same, and it is not there any more after so long, by whole seconds from now by this machine's clock: that must
     * be right. What would end after 2106 ends then.
     */
    public Item expiringIn(Duration time) {
        return new Item(bytes, flags, unixIn(time));
    }

    /**
     * The same, and it is not there any more from this Unix second on, 1 to 4294967295; one that is over already deletes the
     * key.
     */
    public Item expiringAt(long unix) {
        if (unix < 1 || unix > MOST_U32) {
            throw new IllegalArgumentException("an expiry is a Unix second from 1 to 4294967295, not " + unix);
        }
        return new Item(bytes, flags, unix);
    }

    /** The Unix second that is so long from now, from 1 to 4294967295. */
    static long unixIn(Duration time) {
        long now = System.currentTimeMillis() / 1000;
        long seconds = Math.min(time.getSeconds(), MOST_U32);
        return Math.max(1, Math.min(now + seconds, MOST_U32));
    }

    /** Bytes of the value. */
    int length() {
        return bytes.length;
    }

    /** Bytes of the operation that stores it. */
    byte[] operation(Mode mode, Long compare) {
        return MessageCodec.encode(
                new Operation.Store(new Store(mode, bytes, flags, expiry, compare, null, false)));
    }
}
