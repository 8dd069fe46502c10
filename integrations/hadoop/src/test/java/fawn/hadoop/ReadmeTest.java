package fawn.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The README has a row for each key, and no other. */
final class ReadmeTest {
    @Test
    void theTableOfSettingsIsWhole() throws Exception {
        Set<String> keys = new TreeSet<>();
        for (Field field : FawnKeys.class.getDeclaredFields()) {
            keys.add((String) field.get(null));
        }
        Set<String> rows = new TreeSet<>();
        Matcher row = Pattern.compile("(?m)^\\| `(fawn\\.[a-z.]+)` \\|").matcher(Files.readString(Path.of("README.md")));
        while (row.find()) {
            rows.add(row.group(1));
        }
        assertEquals(keys, rows);
    }
}
