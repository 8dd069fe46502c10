package fawn.client.bulk;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A file on a task's machine that keeps an attempt's writes until the attempt may commit. It is there once it is whole. */
public final class Spool implements AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 16;
    private static final int END = -1;
    private static final int NO_VALUE = -1;
    private static final long MOST_U32 = 0xffff_ffffL;

    private final Path whole;
    private final Path begun;
    private final DataOutputStream out;

    /** Takes the writes of a spool one by one. */
    public interface Sink {
        /** A put or, without a value, a delete. */
        void take(byte[] key, byte[] value, long flags, long expiry) throws IOException, InterruptedException;
    }

    /** Begins a file, which is to become {@code whole}. */
    public Spool(Path whole) throws IOException {
        this.whole = whole;
        begun = begun(whole);
        out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(begun), BUFFER_BYTES));
    }

    private static Path begun(Path whole) {
        return whole.resolveSibling(whole.getFileName() + ".begun");
    }

    /** Adds a put with flags and an expiry of 32 bits each or, without a value, a delete. */
    public void add(byte[] key, byte[] value, long flags, long expiry) throws IOException {
        out.writeInt(key.length);
        out.write(key);
        out.writeInt(value == null ? NO_VALUE : value.length);
        if (value != null) {
            out.write(value);
        }
        out.writeInt((int) flags);
        out.writeInt((int) expiry);
    }

    /** Ends the file: it is whole. */
    public void finish() throws IOException {
        out.writeInt(END);
        out.close();
        Files.move(begun, whole, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Takes nothing more; a file that is not {@link #finish finished} stays as it is until it is deleted. */
    @Override
    public void close() throws IOException {
        out.close();
    }

    /** Deletes a file, whole or begun, if there is one. */
    public static void delete(Path whole) throws IOException {
        Files.deleteIfExists(whole);
        Files.deleteIfExists(begun(whole));
    }

    /** Hands all writes on in the order in which they came. */
    public static void read(Path whole, Sink sink) throws IOException, InterruptedException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(whole), BUFFER_BYTES))) {
            for (int length = in.readInt(); length != END; length = in.readInt()) {
                byte[] key = bytes(in, length);
                int valueLength = in.readInt();
                byte[] value = valueLength == NO_VALUE ? null : bytes(in, valueLength);
                sink.take(key, value, in.readInt() & MOST_U32, in.readInt() & MOST_U32);
            }
        } catch (EOFException error) {
            throw new IOException("the file " + whole + " ends too early: run the task again", error);
        }
    }

    private static byte[] bytes(DataInputStream in, int length) throws IOException {
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return bytes;
    }
}
