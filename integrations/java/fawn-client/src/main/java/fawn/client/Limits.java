package fawn.client;

/** When a client asks again, in microseconds: the same as in crates/fawn-kv/src/client/request.rs. */
final class Limits {
    /** After what is not answered was asked, at first and at most: each time twice as long. */
    static final long RETRY_LEAST_US = 200_000;
    static final long RETRY_MOST_US = 1_600_000;
    /** After it was refused, the same. */
    static final long REFUSED_LEAST_US = 10_000;
    static final long REFUSED_MOST_US = 500_000;
    /** A front-end that could not be reached is left alone for so long, where there are others. */
    static final long AVOID_US = 300_000;
    /** Where there are none, it is called again after this, at first and at most. */
    static final long REDIAL_LEAST_US = 50_000;
    static final long REDIAL_MOST_US = 1_000_000;
    /** Who owns what is asked again after this, while anything is asked at all. */
    static final long VIEW_US = 1_000_000;
    /** Between two questions who owns what. */
    static final long ASK_VIEW_US = 50_000;
    /** While nobody is known who could be asked. */
    static final long NOBODY_US = 20_000;
    /** Ranges remember sessions that are not used for so many seconds. */
    static final long SESSION_IDLE_S = 3600;
    /** Names that a request is given beside its first, where ranges have forgotten its session. */
    static final int MOST_NAMES = 3;

    private Limits() {}

    /** A wait that doubles with each of {@code tries}, within two bounds. */
    static long doubled(long leastUs, long mostUs, int tries) {
        return Math.min(mostUs, leastUs << Math.min(tries, 16));
    }
}
