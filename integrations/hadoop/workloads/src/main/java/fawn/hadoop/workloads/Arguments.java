package fawn.hadoop.workloads;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What follows a workload's name on the command line: flags with values. */
final class Arguments {
    private static final Map<Character, Long> UNITS = Map.of('K', 1000L, 'M', 1_000_000L, 'G', 1_000_000_000L);

    private final Map<String, String> values = new HashMap<>();

    Arguments(List<String> words, List<String> known) {
        for (int at = 0; at < words.size(); at += 2) {
            String flag = words.get(at);
            if (!known.contains(flag)) {
                throw new IllegalArgumentException("`" + flag + "` is no flag of a workload: they are " + String.join(", ", known));
            }
            if (at + 1 == words.size()) {
                throw new IllegalArgumentException(flag + " needs a value");
            }
            values.put(flag, words.get(at + 1));
        }
    }

    String text(String flag, String byDefault) {
        return values.getOrDefault(flag, byDefault);
    }

    Dataset dataset(String flag) {
        if (!values.containsKey(flag)) {
            throw new IllegalArgumentException(flag + " is missing: say hdfs:PATH or fawn:HOST:PORT/PREFIX");
        }
        return Dataset.of(values.get(flag));
    }

    /** A number from 1 on, perhaps with K, M or G: powers of 1000. */
    long number(String flag, long byDefault) {
        String text = values.get(flag);
        if (text == null) {
            return byDefault;
        }
        char last = text.isEmpty() ? ' ' : Character.toUpperCase(text.charAt(text.length() - 1));
        String digits = UNITS.containsKey(last) ? text.substring(0, text.length() - 1) : text;
        try {
            long number = Math.multiplyExact(Long.parseLong(digits), UNITS.getOrDefault(last, 1L));
            if (number > 0) {
                return number;
            }
        } catch (ArithmeticException | NumberFormatException error) {
            // Refused below.
        }
        throw new IllegalArgumentException(flag + " is `" + text + "`: give a number from 1 on, or one as 10M");
    }
}
