package fawn.hadoop;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/** A file on the task's machine that keeps an attempt's records until the attempt may commit. */
final class Spool implements AutoCloseable {
    private static final int END = -1;

    private final Path whole;
    private final Path begun;
    private final DataOutputStream out;

    /** Takes a record from a spool. */
    interface Sink {
        void put(byte[] key, FawnRecord record) throws IOException, InterruptedException;
    }

    /** Begins the file of an attempt. */
    Spool(TaskAttemptID attempt) throws IOException {
        whole = path(attempt);
        begun = whole.resolveSibling(whole.getFileName() + ".begun");
        out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(begun), 1 << 16));
    }

    /** In the folder that YARN removes with the task. */
    private static Path path(TaskAttemptID attempt) {
        return Path.of(System.getProperty("java.io.tmpdir"), "fawn-" + attempt + ".spool");
    }

    static boolean exists(TaskAttemptID attempt) {
        return Files.exists(path(attempt));
    }

    static void delete(TaskAttemptID attempt) throws IOException {
        Path whole = path(attempt);
        Files.deleteIfExists(whole);
        Files.deleteIfExists(whole.resolveSibling(whole.getFileName() + ".begun"));
    }

    void add(byte[] key, FawnRecord record) throws IOException {
        out.writeInt(key.length);
        out.write(key);
        record.write(out);
    }

    /** The file is whole. */
    @Override
    public void close() throws IOException {
        out.writeInt(END);
        out.close();
        Files.move(begun, whole, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Hands an attempt's records on in the order in which they came. */
    static void read(TaskAttemptID attempt, Sink sink) throws IOException, InterruptedException {
        try (DataInputStream in = new DataInputStream(
                new BufferedInputStream(Files.newInputStream(path(attempt)), 1 << 16))) {
            for (int length = in.readInt(); length != END; length = in.readInt()) {
                byte[] key = new byte[length];
                in.readFully(key);
                FawnRecord record = new FawnRecord();
                record.readFields(in);
                sink.put(key, record);
            }
        } catch (EOFException error) {
            throw new IOException("the file " + path(attempt) + " ends too early: run the task again", error);
        }
    }
}
