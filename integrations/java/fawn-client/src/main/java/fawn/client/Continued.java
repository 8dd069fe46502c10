package fawn.client;

import java.util.Optional;

/** What a get has found, with the continuation that went with it: see {@link FawnClient#getWith}. */
public final class Continued {
    /** What is there; empty for nothing. */
    public final Optional<Value> value;
    /** The program's own bytes. */
    public final byte[] continuation;

    Continued(Optional<Value> value, byte[] continuation) {
        this.value = value;
        this.continuation = continuation;
    }
}
