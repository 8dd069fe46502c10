package fawn.client.wire;

import java.io.IOException;

/** Bytes that are no message, or no frame. Nothing that follows them on a connection can be read either. */
public final class WireException extends IOException {
    private static final long serialVersionUID = 1;

    /** One with a sentence that says what is wrong with the bytes. */
    public WireException(String what) {
        super(what);
    }
}
