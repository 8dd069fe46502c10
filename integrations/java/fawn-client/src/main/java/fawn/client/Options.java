package fawn.client;

import java.time.Duration;

/** What a client is started with. Setters return the options themselves. */
public final class Options {
    private Certificates certificates;
    private Duration connectTimeout = Duration.ofSeconds(10);
    private Duration timeout = Duration.ofSeconds(10);
    private int inFlight = 4096;
    private int inFlightBytes = 64 << 20;

    /** Certificates for mutual TLS. Without them nothing is protected. */
    public Options certificates(Certificates files) {
        certificates = files;
        return this;
    }

    /** Connecting takes no longer; ten seconds if this is not set. */
    public Options connectTimeout(Duration time) {
        connectTimeout = positive(time);
        return this;
    }

    /**
     * An operation takes no longer; ten seconds if this is not set. Front-ends try for five seconds what a full disk, say,
     * refuses: with less than that a put that was refused ends as one of which nobody knows.
     */
    public Options timeout(Duration time) {
        timeout = positive(time);
        return this;
    }

    /** Operations under way at a time, 1 or more, 4096 if this is not set; others wait, each within its time. */
    public Options inFlight(int operations) {
        inFlight = positive(operations);
        return this;
    }

    /** Bytes of keys and values of those, about; 1 or more, 64 MiB if this is not set. */
    public Options inFlightBytes(int bytes) {
        inFlightBytes = positive(bytes);
        return this;
    }

    private static Duration positive(Duration time) {
        if (time.isNegative() || time.isZero()) {
            throw new IllegalArgumentException("a time-out is longer than nothing, not " + time);
        }
        return time;
    }

    private static int positive(int number) {
        if (number < 1) {
            throw new IllegalArgumentException("a limit is 1 or more, not " + number);
        }
        return number;
    }

    Certificates certificates() {
        return certificates;
    }

    long connectTimeoutUs() {
        return us(connectTimeout);
    }

    long timeoutUs() {
        return us(timeout);
    }

    /** Thirty years at most, so that the sum with any time of the client's clock is a time. */
    private static long us(Duration time) {
        Duration longest = Duration.ofDays(30 * 365);
        return (time.compareTo(longest) < 0 ? time : longest).toNanos() / 1000;
    }

    int inFlight() {
        return inFlight;
    }

    int inFlightBytes() {
        return inFlightBytes;
    }
}
