package fawn.client;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Which front-ends could not be reached lately: who is left alone while others can be asked, and who is not called at all
 * yet. A call that is refused is refused within microseconds: without a pause a client would call again at once.
 */
final class Reachability {
    private final Map<Long, Absence> absences = new HashMap<>();
    /** Those that are being called, and from when on others are better. */
    private final Map<Long, Long> called = new HashMap<>();

    /** A front-end that could not be reached. */
    private static final class Absence {
        /** Calls in a row that came to nothing. */
        private final int failures;
        /** It is not called before. */
        private final long againUs;
        /** It is left alone until then, where there are others. */
        private final long untilUs;

        Absence(int failures, long againUs, long untilUs) {
            this.failures = failures;
            this.againUs = againUs;
            this.untilUs = untilUs;
        }
    }

    /** These are there, and no others. */
    void retain(Set<Long> fronts) {
        absences.keySet().retainAll(fronts);
        called.keySet().retainAll(fronts);
    }

    /** It is being called. */
    void called(long front, long nowUs) {
        called.put(front, nowUs + (absences.containsKey(front) ? 0 : Limits.RETRY_LEAST_US));
    }

    /** It has answered the call. */
    void up(long front) {
        called.remove(front);
        absences.remove(front);
    }

    /** A connection that stood is over. */
    void lost(long front, long nowUs) {
        set(front, 0, nowUs);
    }

    /** It was called in vain. */
    void unreached(long front, long nowUs) {
        Absence absence = absences.get(front);
        set(front, absence == null ? 0 : absence.failures + 1, nowUs);
    }

    private void set(long front, int failures, long nowUs) {
        called.remove(front);
        // What went wrong long ago says nothing of the next call.
        absences.values().removeIf(absence -> nowUs >= absence.untilUs + Limits.REDIAL_MOST_US);
        long againUs = nowUs + Limits.doubled(Limits.REDIAL_LEAST_US, Limits.REDIAL_MOST_US, failures);
        absences.put(front, new Absence(failures, againUs, Math.max(againUs, nowUs + Limits.AVOID_US)));
    }

    /** Whether nothing is known against it. */
    boolean isGood(long front, long nowUs) {
        Long slowUs = called.get(front);
        Absence absence = absences.get(front);
        return (slowUs == null || nowUs < slowUs) && (absence == null || nowUs >= absence.untilUs);
    }

    /** Whether it may be called, if there is nobody better. */
    boolean mayBeCalled(long front, long nowUs) {
        Absence absence = absences.get(front);
        return absence == null || nowUs >= absence.againUs;
    }

    /** When the first of these may be called that could not be reached; {@code otherwise} if each could. */
    long againUs(Set<Long> fronts, long otherwise) {
        return fronts.stream().map(absences::get).filter(absence -> absence != null)
                .mapToLong(absence -> absence.againUs).min().orElse(otherwise);
    }
}
