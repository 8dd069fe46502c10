package fawn.client.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The Rust code's bytes, read and written back. */
final class CodecTest {
    @Test
    void everyMessageIsReadAndWrittenBackByteForByte() throws IOException {
        Set<String> names = new HashSet<>();
        for (String[] vector : Vectors.of("message")) {
            Message message = MessageCodec.decode(Vectors.bytes(vector[1]));
            assertEquals(vector[0], message.getClass().getSimpleName());
            assertEquals(vector[1], Vectors.hex(MessageCodec.encode(message)), vector[0]);
            names.add(vector[0]);
        }
        Set<String> classes = new HashSet<>();
        for (Class<?> each : Message.class.getDeclaredClasses()) {
            classes.add(each.getSimpleName());
        }
        assertEquals(classes, names, "each message has a vector");
    }

    @Test
    void versionsAreThoseOfTheRustCode() throws IOException {
        String[] versions = Vectors.of("versions").get(0);
        assertEquals(Integer.parseInt(versions[0]), MessageCodec.OLDEST);
        assertEquals(Integer.parseInt(versions[1]), MessageCodec.NEWEST);
        Set<Integer> spoken = new HashSet<>();
        for (String[] vector : Vectors.of("message")) {
            spoken.add(Integer.parseInt(vector[1].substring(0, 2), 16));
        }
        assertEquals(Set.of(3, 4, 5, 6, 8), spoken);
    }

    @Test
    void numbersThatAreLongerThanTheyHaveToBeAreRead() throws IOException {
        for (String[] vector : Vectors.of("long")) {
            Message message = MessageCodec.decode(Vectors.bytes(vector[1]));
            assertEquals(vector[2], Vectors.hex(MessageCodec.encode(message)), vector[0]);
        }
    }

    @Test
    void whatTheRustCodeRefusesIsRefused() throws IOException {
        for (String[] vector : Vectors.of("refused")) {
            byte[] bytes = Vectors.bytes(vector[1]);
            WireException refused =
                    assertThrows(WireException.class, () -> MessageCodec.decode(bytes), vector[0] + " " + vector[1]);
            assertTrue(refused.getMessage().length() > 10, refused.getMessage());
        }
    }

    @Test
    void everyOperationIsReadAndWrittenBackByteForByte() throws IOException {
        for (String[] vector : Vectors.of("operation")) {
            Operation operation = MessageCodec.decodeOperation(Vectors.bytes(vector[1]));
            assertEquals(vector[0], operation.getClass().getSimpleName());
            assertEquals(vector[1], Vectors.hex(MessageCodec.encode(operation)), vector[0]);
        }
    }

    @Test
    void everyBookmarkIsReadAndWrittenBackByteForByte() throws IOException {
        for (String[] vector : Vectors.of("bookmark")) {
            Bookmark bookmark = MessageCodec.decodeBookmark(Vectors.bytes(vector[1]));
            assertEquals(vector[1], Vectors.hex(MessageCodec.encode(bookmark)));
        }
    }

    @Test
    void everyControlIsReadAndWrittenBackByteForByte() throws IOException {
        for (String[] vector : Vectors.of("control")) {
            byte[] bytes = Vectors.bytes(vector[1]);
            WireReader in = new WireReader(bytes, 0, bytes.length);
            Control control = Control.read(in);
            in.end();
            WireWriter out = new WireWriter(16);
            control.write(out);
            assertEquals(vector[1], Vectors.hex(out.toBytes()), vector[0]);
        }
        assertEquals(null, Control.read(new WireReader(new byte[] {99, 1, 2}, 0, 3)), "a later release's");
    }

    @Test
    void framesAreReadAndWrittenBackAndDamagedOnesAreRefused() throws IOException {
        for (String[] vector : Vectors.of("frame")) {
            byte[] bytes = Vectors.bytes(vector[1]);
            byte[] header = Arrays.copyOf(bytes, Frame.HEADER_BYTES);
            int length = Frame.bodyLength(header, Frame.MOST_BYTES);
            assertEquals(bytes.length, Frame.HEADER_BYTES + length);
            byte[] body = Arrays.copyOfRange(bytes, Frame.HEADER_BYTES, bytes.length);
            WireWriter out = new WireWriter(16);
            Frame.read(header, body).write(out);
            assertEquals(vector[1], Vectors.hex(out.toBytes()), vector[0]);
            body[length / 2] ^= 4;
            WireException refused = assertThrows(WireException.class, () -> Frame.read(header, body));
            assertTrue(refused.getMessage().contains("checksum"), refused.getMessage());
        }
        byte[] tooLong = {1, 16, 0, 0, 0, 0, 0, 0};
        assertEquals(4097, Frame.bodyLength(tooLong, Frame.MOST_BYTES));
        assertThrows(WireException.class, () -> Frame.bodyLength(tooLong, Frame.MOST_GREETING_BYTES));
        byte[] negative = {-1, -1, -1, -1, 0, 0, 0, 0};
        assertThrows(WireException.class, () -> Frame.bodyLength(negative, Frame.MOST_BYTES));
    }

    @Test
    void positionsAreThoseOfTheRustCode() throws IOException {
        byte[] secret = new byte[32];
        for (int at = 0; at < secret.length; at++) {
            secret[at] = (byte) at;
        }
        PositionHash hash = new PositionHash(secret);
        for (String[] vector : Vectors.of("position")) {
            byte[] key = new byte[Integer.parseInt(vector[0])];
            for (int at = 0; at < key.length; at++) {
                key[at] = (byte) (at % 251);
            }
            assertEquals(vector[1], hash.position(key).toString(), key.length + " bytes");
        }
    }

    @Test
    void positionsFollowEachOther() {
        assertEquals(null, Key.HIGHEST.successor());
        assertEquals("0000000000000000000000000000000000000001", Key.LOWEST.successor().toString());
        assertTrue(Key.LOWEST.compareTo(Key.HIGHEST) < 0, "bytes are unsigned");
        assertTrue(Interval.ALL.contains(Key.HIGHEST));
    }
}
