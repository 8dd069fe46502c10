package fawn.client;

import fawn.client.wire.Kept;

/** A value as it was found. */
public final class Value {
    /** The value: perhaps empty. */
    public final byte[] bytes;
    /** What was put with it: unsigned, 32 bits. */
    public final long flags;
    /** Names this version of it: see {@link FawnClient#cas}. */
    public final long cas;
    /** The Unix second from which it is not there any more; 0 for never. */
    public final long expiry;

    private Value(byte[] bytes, long flags, long cas, long expiry) {
        this.bytes = bytes;
        this.flags = flags;
        this.cas = cas;
        this.expiry = expiry;
    }

    /** The value of a key; {@code null} if there is none. */
    static Value of(Kept kept) {
        if (kept == null || kept.version == null) {
            return null;
        }
        Long clientCas = kept.version.clientCas;
        long cas = clientCas == null ? kept.position.seq : clientCas;
        return new Value(kept.version.value, kept.version.flags, cas, kept.version.expiry);
    }
}
