import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;

/** What the programs for Java share: named checks, keys of their own, a closing mark. */
final class Checks {
    /** One check; any exception is its failure. */
    interface Check {
        void run() throws Exception;
    }

    private record Named(String mode, String name, Check check) {}

    static final String WRONG_TYPE = "Operation against a key holding the wrong kind of value";
    static final String USERNAME = System.getenv("USERNAME");
    static final String PASSWORD = System.getenv("PASSWORD");
    static final File CA_FILE = System.getenv("CA_FILE") == null ? null : new File(System.getenv("CA_FILE"));
    private static final String RUN = UUID.randomUUID().toString();
    private static int serial;

    private final String mode;
    private final List<Named> checks = new ArrayList<>();

    Checks(String mode) {
        this.mode = mode;
    }

    void api(String name, Check check) {
        checks.add(new Named("api", name, check));
    }

    void session(String name, Check check) {
        checks.add(new Named("session", name, check));
    }

    void restart(String name, Check check) {
        checks.add(new Named("restart", name, check));
    }

    /** A key that no other check uses. */
    static synchronized String key() {
        return "java:" + RUN + ":" + serial++;
    }

    static long now() {
        return System.currentTimeMillis() / 1000;
    }

    /** Numbers of all sizes are alike. */
    static void equal(Object got, Object expected) {
        Object left = got instanceof Integer number ? (Object) number.longValue() : got;
        Object right = expected instanceof Integer number ? (Object) number.longValue() : expected;
        if (!Objects.equals(left, right)) {
            throw new AssertionError("expected " + cut(expected) + ", got " + cut(got));
        }
    }

    static void same(byte[] got, byte[] expected) {
        if (!Arrays.equals(got, expected)) {
            throw new AssertionError(expected.length + " bytes came back changed");
        }
    }

    static void near(long got, long expected) {
        if (got < expected - 2 || got > expected) {
            throw new AssertionError("expected about " + expected + ", got " + got);
        }
    }

    /** The server must refuse it, with this in its words. */
    static void refused(String text, Check action) throws Exception {
        try {
            action.run();
        } catch (Exception error) {
            StringBuilder said = new StringBuilder();
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                said.append(cause.getMessage()).append(' ');
            }
            if (said.indexOf(text) < 0) {
                throw new AssertionError("expected an error with `" + text + "`, got `" + said + "`");
            }
            return;
        }
        throw new AssertionError("expected an error with `" + text + "`");
    }

    /** Bytes that look random and are the same for the same length. */
    static byte[] noise(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    static byte[] allBytes() {
        byte[] bytes = new byte[256];
        for (int n = 0; n < 256; n++) {
            bytes[n] = (byte) n;
        }
        return bytes;
    }

    /** Asks whoever started this to kill the server and start it again. */
    static void restartServer() throws Exception {
        System.out.println("restart");
        new BufferedReader(new InputStreamReader(System.in)).readLine();
    }

    /** Tries again what may fail while a client finds out that its connections are gone. */
    static void eventually(Check action) throws Exception {
        for (int attempt = 0; ; attempt++) {
            try {
                action.run();
                return;
            } catch (Exception error) {
                if (attempt == 100) {
                    throw error;
                }
                Thread.sleep(50);
            }
        }
    }

    private static String cut(Object value) {
        String text = String.valueOf(value);
        return text.length() > 200 ? text.substring(0, 200) + "…" : text;
    }

    void runAll() {
        for (Named named : checks) {
            if (!named.mode().equals(mode)) {
                continue;
            }
            try {
                named.check().run();
                System.out.println("ok " + named.name());
            } catch (Throwable problem) {
                StackTraceElement where = Arrays.stream(problem.getStackTrace())
                    .filter(frame -> frame.getClassName().contains("Api")).findFirst().orElse(null);
                System.out.println("not ok " + named.name() + ": " + String.valueOf(problem).replace('\n', ' ') + " " + where);
            }
        }
        System.out.println("done");
        System.exit(0);
    }
}
