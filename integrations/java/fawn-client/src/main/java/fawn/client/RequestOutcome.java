package fawn.client;

import fawn.client.wire.Answer;
import fawn.client.wire.Kept;
import fawn.client.wire.Outcome;
import fawn.client.wire.Position;

/** What became of a request. */
final class RequestOutcome {
    enum Kind {
        /** A get has found {@link #kept}, or nothing. */
        FOUND,
        /** The operation was carried out, once: {@link #outcome}, {@link #position}. */
        DONE,
        /** All keys are gone. */
        FLUSHED,
        /** It was refused, at every try, with {@link #refusal}: nothing was done. */
        REFUSED,
        /** Nobody could be asked: nothing was done. */
        UNREACHED,
        /** There was no answer in time: an operation may have been carried out, or may be yet. */
        UNKNOWN
    }

    final Kind kind;
    final Kept kept;
    final Outcome outcome;
    final Position position;
    final Answer refusal;

    private RequestOutcome(Kind kind, Kept kept, Outcome outcome, Position position, Answer refusal) {
        this.kind = kind;
        this.kept = kept;
        this.outcome = outcome;
        this.position = position;
        this.refusal = refusal;
    }

    static RequestOutcome of(Kind kind) {
        return new RequestOutcome(kind, null, null, null, null);
    }

    static RequestOutcome found(Kept kept) {
        return new RequestOutcome(Kind.FOUND, kept, null, null, null);
    }

    static RequestOutcome done(Outcome outcome, Position position) {
        return new RequestOutcome(Kind.DONE, null, outcome, position, null);
    }

    static RequestOutcome refused(Answer refusal) {
        return new RequestOutcome(Kind.REFUSED, null, null, null, refusal);
    }
}
