package fawn.hadoop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How ranges are split. */
final class FawnSplitTest {
    private static Key key(int first, int last) {
        byte[] bytes = new byte[Key.BYTES];
        bytes[0] = (byte) first;
        bytes[Key.BYTES - 1] = (byte) last;
        return Key.of(bytes);
    }

    private static List<FawnSplit> split(Key low, Key high, int count) {
        return FawnSplit.of(new Interval(low, high), List.of("b", "a"), count);
    }

    @Test
    void splitsFollowEachOtherAndCoverTheRange() {
        for (int count : new int[] {1, 2, 3, 7, 100}) {
            List<FawnSplit> splits = split(Key.LOWEST, Key.HIGHEST, count);
            assertEquals(count, splits.size());
            Key next = Key.LOWEST;
            long least = Long.MAX_VALUE;
            long most = 0;
            for (FawnSplit split : splits) {
                assertEquals(next, split.interval().low);
                next = split.interval().high.successor();
                least = Math.min(least, split.getLength());
                most = Math.max(most, split.getLength());
            }
            assertEquals(null, next);
            assertTrue(most - least <= 1, least + " to " + most);
        }
        assertEquals(2, split(key(1, 6), key(1, 7), 5).size(), "no more than there are positions");
        assertEquals(key(1, 6), split(key(1, 6), key(1, 7), 5).get(0).interval().high);
    }

    @Test
    void hostsComeOnceTheReaderFirstAndSplitsTravelWhole() throws IOException {
        FawnSplit split = split(key(0x80, 0), key(0x90, 9), 1).get(0);
        assertArrayEquals(new String[] {"b", "a"}, split.getLocations());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        split.write(new DataOutputStream(bytes));
        FawnSplit read = new FawnSplit();
        read.readFields(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
        assertEquals(split.interval().low, read.interval().low);
        assertEquals(split.interval().high, read.interval().high);
        assertEquals(Arrays.asList(split.getLocations()), Arrays.asList(read.getLocations()));
        assertEquals(split.getLength(), read.getLength());
    }
}
