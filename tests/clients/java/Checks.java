import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;

/** What the two Java programs share: named checks, keys of their own, a closing mark. */
final class Checks {
    /** One check; any exception is its failure. */
    interface Check {
        void run() throws Exception;
    }

    private static final String RUN = UUID.randomUUID().toString().substring(0, 8);
    private static int serial;
    private final Map<String, Check> checks = new LinkedHashMap<>();

    void add(String name, Check check) {
        checks.put(name, check);
    }

    /** A key that no other check uses. */
    static String key() {
        return "java-" + RUN + "-" + serial++;
    }

    static void equal(Object got, Object expected) {
        if (!Objects.equals(got, expected)) {
            throw new AssertionError("expected " + cut(expected) + ", got " + cut(got));
        }
    }

    static void same(byte[] got, byte[] expected) {
        if (!Arrays.equals(got, expected)) {
            throw new AssertionError(expected.length + " bytes came back changed");
        }
    }

    static void refused(String what, Check action) {
        try {
            action.run();
        } catch (Exception expected) {
            return;
        }
        throw new AssertionError(what + " was not refused");
    }

    static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static String cut(Object value) {
        String text = String.valueOf(value);
        return text.length() > 200 ? text.substring(0, 200) + "…" : text;
    }

    void runAll() {
        checks.forEach((name, check) -> {
            try {
                check.run();
                System.out.println("ok " + name);
            } catch (Throwable problem) {
                StackTraceElement where = Arrays.stream(problem.getStackTrace())
                    .filter(frame -> frame.getClassName().endsWith("Api")).findFirst().orElse(null);
                System.out.println("not ok " + name + ": " + String.valueOf(problem).replace('\n', ' ') + " " + where);
            }
        });
        System.out.println("done");
        System.exit(0);
    }
}
