package fawn.client;

import fawn.client.wire.Key;
import fawn.client.wire.RequestId;
import java.util.function.Consumer;

/** One thing that a program wants, until it has ended. */
final class Request {
    enum Want { GET, WRITE, FLUSH }

    final Want want;
    /** Empty for a flush. */
    final byte[] key;
    final Key position;
    /** An operation's bytes; {@code null} but for a write. */
    final byte[] operation;
    /** What is to come back with what a get has found; {@code null} for none. */
    final byte[] continuation;
    final long deadlineUs;
    /** Is told what became of it, once. */
    final Consumer<RequestOutcome> done;

    /** What it is called, at every try. */
    RequestId id;
    Tries tries = new Tries();
    /** How often it was given another name. */
    int renamed;
    /** Tries so far. */
    int tried;
    /** Those of them that were sent, or may yet be. */
    int sent;
    /** The front-end that the last try went to; -1 for none. */
    long to = -1;
    /** How long it waits before the next try. */
    long waitUs = Limits.RETRY_LEAST_US;
    /** When it is tried again. Changed by {@link RequestQueue} alone. */
    long dueUs;

    Request(Want want, byte[] key, Key position, byte[] operation, long deadlineUs, Consumer<RequestOutcome> done) {
        this(want, key, position, operation, null, deadlineUs, done);
    }

    Request(Want want, byte[] key, Key position, byte[] operation, byte[] continuation, long deadlineUs,
            Consumer<RequestOutcome> done) {
        this.want = want;
        this.key = key;
        this.position = position;
        this.operation = operation;
        this.continuation = continuation;
        this.deadlineUs = deadlineUs;
        this.done = done;
    }

    boolean isGet() {
        return want == Want.GET;
    }

    /** A try was not sent, and will not be. The next waits no longer for it. */
    void unsent(int number) {
        tries.unsent(number);
        sent = Math.max(sent - 1, 0);
        waitUs = Math.max(waitUs / 2, Limits.RETRY_LEAST_US);
    }
}
