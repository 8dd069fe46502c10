package fawn.hadoop.workloads;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import fawn.client.Options;
import fawn.client.Scan;
import fawn.client.ScanPart;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Scanner;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.SequenceFile;

/**
 * All records of a data set, read by this process alone and without MapReduce: their number, bytes, and a checksum that does
 * not depend on their order. Two data sets with the same records, each as often, have the same summary.
 */
final class Summary {
    private final MessageDigest digest;
    /** Where records are printed; {@code null} if they are not. */
    private final PrintStream out;
    private long records;
    private long bytes;
    private long checksum;
    /** Whether each file's keys are in order, as a sort leaves them. */
    private boolean isSorted = true;
    private byte[] last;

    private Summary(PrintStream out) {
        this.out = out;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    static int print(Configuration conf, Dataset from, boolean isText, boolean isWhole) throws IOException {
        Summary summary = new Summary(isWhole ? System.out : null);
        if (from.isFawn()) {
            summary.readFawn(from);
        } else {
            summary.readFiles(conf, new Path(from.path), isText);
        }
        if (!isWhole) {
            System.out.printf("records %d bytes %d checksum %016x%s%n", summary.records, summary.bytes, summary.checksum,
                    from.isFawn() ? "" : summary.isSorted ? " sorted" : " unsorted");
        }
        System.out.flush();
        return 0;
    }

    private void readFawn(Dataset from) throws IOException {
        byte[] prefix = from.path.getBytes(StandardCharsets.UTF_8);
        try (FawnClient client = FawnClient.connect(List.of(from.managers.split(",")), new Options());
                Scan scan = client.scan()) {
            for (ScanPart part = scan.next(); part != null; part = scan.next()) {
                part.entries().forEach((key, value) -> {
                    int length = prefix.length;
                    if (key.length >= length && Arrays.equals(key, 0, length, prefix, 0, length)) {
                        add(Arrays.copyOfRange(key, length, key.length), value.bytes);
                    }
                });
            }
        } catch (FawnException error) {
            throw new IOException(error.getMessage(), error);
        }
    }

    private void readFiles(Configuration conf, Path path, boolean isText) throws IOException {
        FileSystem files = path.getFileSystem(conf);
        FileStatus[] found = files.getFileStatus(path).isDirectory()
                ? files.listStatus(path, each -> !each.getName().startsWith("_"))
                : new FileStatus[] {files.getFileStatus(path)};
        for (FileStatus file : found) {
            last = null;
            if (isText) {
                readText(files, file.getPath());
            } else {
                readSequence(conf, file.getPath());
            }
        }
    }

    private void readText(FileSystem files, Path path) throws IOException {
        try (FSDataInputStream in = files.open(path);
                Scanner lines = new Scanner(in, StandardCharsets.UTF_8).useDelimiter("\n")) {
            while (lines.hasNext()) {
                String line = lines.next();
                int tab = line.indexOf('\t');
                add(line.substring(0, Math.max(tab, 0)).getBytes(StandardCharsets.UTF_8),
                        line.substring(tab + 1).getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private void readSequence(Configuration conf, Path path) throws IOException {
        try (SequenceFile.Reader in = new SequenceFile.Reader(conf, SequenceFile.Reader.file(path))) {
            BytesWritable key = new BytesWritable();
            BytesWritable value = new BytesWritable();
            while (in.next(key, value)) {
                add(key.copyBytes(), value.copyBytes());
            }
        }
    }

    private void add(byte[] key, byte[] value) {
        records++;
        bytes += key.length + value.length;
        digest.update(ByteBuffer.allocate(4).putInt(key.length).array());
        digest.update(key);
        checksum += ByteBuffer.wrap(digest.digest(value)).getLong();
        isSorted &= last == null || Arrays.compareUnsigned(last, key) <= 0;
        last = key;
        if (out != null) {
            Base64.Encoder encoder = Base64.getEncoder();
            out.println(encoder.encodeToString(key) + " " + encoder.encodeToString(value));
        }
    }
}
