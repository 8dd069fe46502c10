package fawn.client;

import fawn.client.wire.Answer;

/** The tries of one request: which of them may have been carried out, or may be yet. */
final class Tries {
    /** Tries that are told apart, and one more that stands for all others. */
    private static final int MOST = 64;
    /** Since this version front-ends answer {@code Unknown} only if nothing was done, nor will be. */
    private static final int SURE_UNKNOWNS = 6;

    private long begun;
    /** Those that may have been carried out, a bit each. */
    private long open;
    /** The last refusal, if it says more than that it may be tried again. */
    private Answer refusal;

    /** The tag of a try: it comes back with the answer. */
    static long tag(long ticket, int number) {
        return ticket * MOST | number;
    }

    static long ticketOf(long tag) {
        return tag >>> 6;
    }

    static int numberOf(long tag) {
        return (int) (tag & (MOST - 1));
    }

    /** The number of the next try. */
    int begin() {
        int number = (int) Math.min(begun, MOST - 1);
        begun++;
        open |= 1L << number;
        return number;
    }

    /** A try was answered, by one who speaks this version. A refusal says that nothing was done by it, nor will be. */
    void answered(int number, Answer answer, int version) {
        if (answer instanceof Answer.Unknown && version < SURE_UNKNOWNS) {
            return;
        }
        if (answer instanceof Answer.NotMine
                || answer instanceof Answer.Busy
                || answer instanceof Answer.Fenced
                || answer instanceof Answer.AskAgain
                || answer instanceof Answer.Unknown) {
            refusal = null;
        } else if (isLasting(answer)) {
            refusal = answer;
        } else {
            return;
        }
        close(number);
    }

    /** Whether a refusal is one that another try of the same seat would get as well. */
    static boolean isLasting(Answer answer) {
        return answer instanceof Answer.TooFew
                || answer instanceof Answer.Full
                || answer instanceof Answer.Unreadable
                || answer instanceof Answer.TooLarge
                || answer instanceof Answer.Ahead
                || answer instanceof Answer.NeedsUpgrade;
    }

    /** A try was not sent, and will not be. If it was the last, the next may have its number. */
    void unsent(int number) {
        close(number);
        if (number < MOST - 1 && number + 1 == begun) {
            begun = number;
        }
    }

    private void close(int number) {
        if (number < MOST - 1) {
            open &= ~(1L << number);
        }
    }

    /** Whether nothing was done, nor will be. */
    boolean isRefused() {
        return open == 0;
    }

    /** What is said at the deadline: a refusal if each try was refused; {@code null} if nobody knows. */
    Answer lastWord() {
        if (!isRefused()) {
            return null;
        }
        return refusal == null ? new Answer.Busy() : refusal;
    }
}
