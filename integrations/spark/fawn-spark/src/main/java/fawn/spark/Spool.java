package fawn.spark;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Records of an attempt on the executor's disk until the attempt may commit. */
final class Spool implements Closeable {
    private static final int BUFFER_BYTES = 1 << 16;

    private final Path file;
    private final DataOutputStream out;
    private long records;

    /** Takes records one by one. */
    interface Taker {
        void take(byte[] key, byte[] value, long flags, long expiry) throws IOException;
    }

    Spool() throws IOException {
        file = Files.createTempFile("fawn-spark", ".spool");
        out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES));
    }

    /** Adds a put or, without a value, a delete. */
    void add(byte[] key, byte[] value, long flags, long expiry) throws IOException {
        out.writeInt(key.length);
        out.write(key);
        out.writeInt(value == null ? -1 : value.length);
        if (value != null) {
            out.write(value);
        }
        out.writeLong(flags);
        out.writeLong(expiry);
        records++;
    }

    /** Hands all records on, in their order. */
    void replay(Taker taker) throws IOException {
        out.close();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES))) {
            for (long at = 0; at < records; at++) {
                byte[] key = in.readNBytes(in.readInt());
                int length = in.readInt();
                byte[] value = length < 0 ? null : in.readNBytes(length);
                taker.take(key, value, in.readLong(), in.readLong());
            }
        }
    }

    @Override
    public void close() throws IOException {
        out.close();
        Files.deleteIfExists(file);
    }
}
