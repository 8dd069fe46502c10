package fawn.spark;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations, sizes and counts as options spell them. */
final class Units {
    private static final Pattern NUMBER = Pattern.compile("(\\d{1,15})\\s*([a-z]*)");

    private Units() {}

    /** Such as {@code 500ms}, {@code 10s}, {@code 5m}, {@code 2h} or {@code 7d}. */
    static Duration duration(String option, String text) {
        Matcher match = NUMBER.matcher(text.trim().toLowerCase(Locale.ROOT));
        if (match.matches() && Long.parseLong(match.group(1)) > 0) {
            long number = Long.parseLong(match.group(1));
            switch (match.group(2)) {
                case "ms":
                    return Duration.ofMillis(number);
                case "":
                case "s":
                    return Duration.ofSeconds(number);
                case "m":
                case "min":
                    return Duration.ofMinutes(number);
                case "h":
                    return Duration.ofHours(number);
                case "d":
                    return Duration.ofDays(number);
                default:
            }
        }
        throw new IllegalArgumentException(
                "option " + option + " is a duration above 0, e.g. 500ms, 10s, 5m, 2h or 7d, not '" + text + "'");
    }

    /** Such as {@code 1000}, {@code 64k}, {@code 8m} or {@code 1g}: powers of 1024. */
    static long size(String option, String text) {
        Matcher match = NUMBER.matcher(text.trim().toLowerCase(Locale.ROOT));
        if (match.matches() && Long.parseLong(match.group(1)) > 0) {
            int power = match.group(2).isEmpty() ? 0 : " kmg".indexOf(match.group(2).charAt(0));
            boolean isUnit = match.group(2).length() <= 1 || match.group(2).length() == 2 && match.group(2).endsWith("b");
            if (power >= 0 && isUnit) {
                return Math.multiplyExact(Long.parseLong(match.group(1)), 1L << 10 * power);
            }
        }
        throw new IllegalArgumentException(
                "option " + option + " is a number of bytes above 0, e.g. 1000, 64k, 8m or 1g, not '" + text + "'");
    }

    /** A whole number from 1 up. */
    static long count(String option, String text, long most) {
        Matcher match = NUMBER.matcher(text.trim());
        if (match.matches() && match.group(2).isEmpty()) {
            long number = Long.parseLong(match.group(1));
            if (number > 0 && number <= most) {
                return number;
            }
        }
        throw new IllegalArgumentException("option " + option + " is a whole number from 1 to " + most + ", not '" + text + "'");
    }
}
