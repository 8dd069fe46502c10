package fawn.client.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an attempt keeps until it may commit. */
final class SpoolTest {
    @TempDir
    private Path directory;

    private static List<String> writes(Path file) throws Exception {
        List<String> writes = new ArrayList<>();
        Spool.read(file, (key, value, flags, expiry) ->
                writes.add(new String(key) + " " + Arrays.toString(value) + " " + flags + " " + expiry));
        return writes;
    }

    @Test
    void writesComeBackAsTheyWereOnceTheFileIsWhole() throws Exception {
        Path file = directory.resolve("spool");
        try (Spool spool = new Spool(file)) {
            spool.add(new byte[] {'a'}, new byte[] {1, 2}, 0xffff_ffffL, 0xffff_fffeL);
            spool.add(new byte[] {'b'}, null, 0, 0);
            spool.add(new byte[] {'a'}, new byte[0], 3, 0);
            assertFalse(Files.exists(file), "nothing is to be committed yet");
            spool.finish();
        }
        assertEquals(List.of("a [1, 2] 4294967295 4294967294", "b null 0 0", "a [] 3 0"), writes(file));
        Spool.delete(file);
        assertFalse(Files.exists(file));
    }

    @Test
    void whatIsNotFinishedIsNeverWholeAndIsDeleted() throws Exception {
        Path file = directory.resolve("spool");
        try (Spool spool = new Spool(file)) {
            spool.add(new byte[] {'a'}, new byte[] {1}, 0, 0);
        }
        assertFalse(Files.exists(file));
        Spool.delete(file);
        try (Stream<Path> left = Files.list(directory)) {
            assertEquals(0, left.count());
        }
    }

    @Test
    void aFileThatWasCutShortIsAnErrorThatNamesIt() throws Exception {
        Path file = directory.resolve("spool");
        try (Spool spool = new Spool(file)) {
            spool.add(new byte[] {'a'}, new byte[100], 0, 0);
            spool.finish();
        }
        byte[] bytes = Files.readAllBytes(file);
        for (int length = 0; length < bytes.length; length++) {
            Files.write(file, Arrays.copyOf(bytes, length));
            IOException error = assertThrows(IOException.class, () -> writes(file));
            assertTrue(error.getMessage().contains(file + " ends too early"), error.getMessage());
        }
    }
}
