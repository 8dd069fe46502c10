package fawn.client;

import fawn.client.wire.Answer;

/** Why there is no answer, and what to do about it, in a sentence. */
public final class FawnException extends Exception {
    private static final long serialVersionUID = 1;

    /** What went wrong. */
    private final Reason reason;

    /** What can go wrong. */
    public enum Reason {
        /** The client cannot connect. */
        CONNECT("the client cannot connect"),
        /** Certificate files are of no use, or another side's certificate is. */
        TLS("the certificates cannot be used"),
        /** No key has so many bytes. Nothing was done. */
        KEY("a key has 1 to 65535 bytes"),
        /** No continuation has so many bytes. Nothing was done. */
        CONTINUATION("a continuation has at most 4084 bytes"),
        /** No cluster can take so many bytes of key and value at a time. Nothing was sent. */
        OVERSIZE("a write has at most 142606080 bytes of key and value: split the value"),
        /** The cluster takes no value that long. Nothing was done. */
        TOO_LARGE("the value is too long for the cluster: split it, or start nodes with a larger --max-item-size"),
        /** Too few nodes that have the key live. Nothing was done. */
        TOO_FEW("too few replicas of the key are up for a write: see fawn status"),
        /** A disk is full. Nothing was done. */
        FULL("a node of the key's chain has no room for more values: delete something, or add a node"),
        /** A disk cannot be read. Nothing was done. */
        UNREADABLE("a node cannot read its record of the key: see its log"),
        /** Too much is under way. Nothing was done. */
        BUSY("too many requests are in flight to start this one in time: send fewer at once"),
        /** Nobody could be asked in time. Nothing was done. */
        UNREACHED("no node of the key's chain answered in time: see fawn status"),
        /** A scan does not go on. It may be begun again at its last bookmark. */
        STALLED("no node of the next keys has sent them in time"),
        /** A get has no answer in time. */
        TIMED_OUT("no answer in time: retry"),
        /** A write may have been carried out, or may be yet. */
        UNKNOWN("outcome unknown: the write may have been applied, or may be yet; read the key before retrying"),
        /** The value there is no number. Nothing was changed. */
        NOT_A_NUMBER("the value is not a number that can be incremented"),
        /** The cluster is a weak one. Nothing was done. */
        CONDITIONAL("this cluster was created with --consistency weak, and refuses operations that depend on the current "
                + "value"),
        /** What was put would have expired sooner than it should. Nothing was done. */
        AHEAD("the expiry clock of the key's range is ahead of the system clock: retry in half a minute"),
        /** Some process of the cluster is of an older release. Nothing was done. */
        NEEDS_UPGRADE("not all processes of the cluster are of a release that has this operation: upgrade them, see fawn "
                + "status"),
        /** The other side is of another release, or broken. */
        MALFORMED("the client cannot decode the cluster's reply: run the same release on both sides"),
        /** The thread was interrupted while it waited. A write may have been carried out, or may be yet. */
        INTERRUPTED("the thread was interrupted while it waited: read the key before retrying a write");

        private final String sentence;

        Reason(String sentence) {
            this.sentence = sentence;
        }
    }

    FawnException(Reason reason) {
        this(reason, reason.sentence, null);
    }

    FawnException(Reason reason, String sentence, Throwable cause) {
        super(sentence, cause);
        this.reason = reason;
    }

    /** What went wrong. */
    public Reason reason() {
        return reason;
    }

    /** Whether it is certain that nothing was changed, nor will be. */
    public boolean isCertain() {
        return reason != Reason.UNKNOWN && reason != Reason.INTERRUPTED;
    }

    /** Whether time may mend it, so that the same operation may succeed later. */
    public boolean mayPass() {
        switch (reason) {
            case TOO_FEW:
            case FULL:
            case UNREADABLE:
            case BUSY:
            case UNREACHED:
            case STALLED:
            case TIMED_OUT:
            case UNKNOWN:
            case AHEAD:
                return true;
            default:
                return false;
        }
    }

    /** Of a refusal. */
    static FawnException refused(Answer answer) {
        return new FawnException(reasonOf(answer));
    }

    private static Reason reasonOf(Answer answer) {
        if (answer instanceof Answer.TooLarge) {
            return Reason.TOO_LARGE;
        }
        if (answer instanceof Answer.TooFew) {
            return Reason.TOO_FEW;
        }
        if (answer instanceof Answer.Full) {
            return Reason.FULL;
        }
        if (answer instanceof Answer.Unreadable) {
            return Reason.UNREADABLE;
        }
        if (answer instanceof Answer.Malformed) {
            return Reason.MALFORMED;
        }
        if (answer instanceof Answer.Conditional) {
            return Reason.CONDITIONAL;
        }
        if (answer instanceof Answer.NeedsUpgrade) {
            return Reason.NEEDS_UPGRADE;
        }
        return answer instanceof Answer.Ahead ? Reason.AHEAD : Reason.BUSY;
    }
}
