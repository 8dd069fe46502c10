package fawn.client.wire;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Damaged bytes: the codec's own exception or another message, and memory by the number of bytes. */
final class FuzzTest {
    private static final int EXECUTIONS = Integer.getInteger("fawn.fuzz", 20_000);
    /** Bytes of memory that decoding may take for each byte of a message, and beside them. */
    private static final int MEMORY_A_BYTE = 400;
    private static final int MEMORY = 8 << 10;
    /** Times that one input is decoded before it is said to take too much. */
    private static final int MOST_TIMES = 3;

    private interface Decoding {
        void run(byte[] bytes) throws WireException;
    }

    private static void damage(String kind, Decoding decoding) throws IOException {
        List<String[]> vectors = Vectors.of(kind);
        Random random = new Random(1);
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        int read = 0;
        for (int execution = 0; execution < EXECUTIONS; execution++) {
            byte[] bytes = Vectors.bytes(vectors.get(random.nextInt(vectors.size()))[1]);
            bytes = damaged(bytes, random);
            long most = MEMORY + (long) MEMORY_A_BYTE * bytes.length;
            long taken = most + 1;
            // The first time the virtual machine may load classes for it.
            for (int times = 0; times < MOST_TIMES && taken > most; times++) {
                long before = threads.getThreadAllocatedBytes(self);
                read += isRead(decoding, bytes) ? 1 : 0;
                taken = threads.getThreadAllocatedBytes(self) - before;
            }
            if (taken > most) {
                throw new AssertionError(kind + " took " + taken + " bytes: " + Vectors.hex(bytes));
            }
        }
        assertTrue(read > EXECUTIONS / 100 && read < EXECUTIONS, read + " of " + EXECUTIONS + " were read");
    }

    private static boolean isRead(Decoding decoding, byte[] bytes) {
        try {
            decoding.run(bytes);
            return true;
        } catch (WireException refused) {
            assertTrue(refused.getMessage() != null);
            return false;
        } catch (RuntimeException | OutOfMemoryError | StackOverflowError error) {
            throw new AssertionError(Vectors.hex(bytes), error);
        }
    }

    private static byte[] damaged(byte[] bytes, Random random) {
        byte[] changed = bytes.clone();
        for (int changes = random.nextInt(3); changes >= 0 && changed.length > 0; changes--) {
            int at = random.nextInt(changed.length);
            switch (random.nextInt(5)) {
                case 0:
                    changed[at] ^= (byte) (1 << random.nextInt(8));
                    break;
                case 1:
                    changed[at] = (byte) random.nextInt(256);
                    break;
                case 2:
                    changed = Arrays.copyOf(changed, at);
                    break;
                case 3:
                    changed = Arrays.copyOf(changed, changed.length + random.nextInt(20));
                    break;
                default:
                    // A number of elements that is as high as can be said.
                    int end = Math.min(changed.length, at + 9);
                    Arrays.fill(changed, at, end, (byte) 0xff);
                    changed[end - 1] = 1;
            }
        }
        return changed;
    }

    @Test
    void damagedMessagesAreRefusedOrOtherMessages() throws IOException {
        damage("message", bytes -> {
            Message message = MessageCodec.decode(bytes);
            // What was read can be written, and is the same once more.
            byte[] written = MessageCodec.encode(message);
            if (!Arrays.equals(written, MessageCodec.encode(MessageCodec.decode(written)))) {
                throw new AssertionError("written once and written again differ: " + Vectors.hex(bytes));
            }
        });
    }

    @Test
    void damagedControlsAreRefusedOrOtherControls() throws IOException {
        damage("control", bytes -> Control.read(new WireReader(bytes, 0, bytes.length)));
    }

    @Test
    void damagedOperationsAreRefusedOrOtherOperations() throws IOException {
        damage("operation", MessageCodec::decodeOperation);
    }

    @Test
    void damagedBookmarksAreRefusedOrOtherBookmarks() throws IOException {
        damage("bookmark", MessageCodec::decodeBookmark);
    }
}
