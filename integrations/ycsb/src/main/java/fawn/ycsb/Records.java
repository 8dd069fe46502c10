package fawn.ycsb;

import java.io.IOException;

/** Values by key, as one of FAWN's protocols reaches them. Any number of threads may use it. */
interface Records extends AutoCloseable {
    /** A value, and what names its version. */
    final class Found {
        final byte[] value;
        final long cas;

        Found(byte[] value, long cas) {
            this.value = value;
            this.cas = cas;
        }
    }

    /** The value of a key; {@code null} for none. */
    byte[] get(String key) throws IOException, InterruptedException;

    /** The same, with what names its version. */
    Found gets(String key) throws IOException, InterruptedException;

    /** Puts a value, whatever is there. Returns whether it was put. */
    boolean set(String key, byte[] value) throws IOException, InterruptedException;

    /** Puts a value if one is there. Returns whether it was put. */
    boolean replace(String key, byte[] value) throws IOException, InterruptedException;

    /** Puts a value if this version is there. Returns whether it was put. */
    boolean cas(String key, byte[] value, long cas) throws IOException, InterruptedException;

    /** Deletes a value. Returns whether one was there. */
    boolean delete(String key) throws IOException, InterruptedException;

    @Override
    void close() throws IOException;
}
