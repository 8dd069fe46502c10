package fawn.client;

/** What time it is: by a clock that never goes back, and by the calendar. */
final class Now {
    /** Microseconds since the client was made. */
    final long us;
    /** The Unix second. */
    final long unix;

    Now(long us, long unix) {
        this.us = us;
        this.unix = unix;
    }
}
