package fawn.client.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** How keys look in messages. */
final class KeyTextTest {
    private static String of(String key) {
        return KeyText.of(key.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void textStaysAsItIsAndTheRestBecomesCodes() {
        assertEquals("user:größe/鹿", of("user:größe/鹿"));
        assertEquals("a\\u000ab\\u200ec", of("a\nb\u200ec"), "a line of its own, or a turned one, would mislead");
        assertEquals("k\\xff\\x00\\x80", KeyText.of(new byte[] {'k', (byte) 0xff, 0, (byte) 0x80}));
        assertEquals("", KeyText.of(new byte[0]));
    }

    @Test
    void aLongKeyIsCutAtAHundredCharacters() {
        assertEquals("k".repeat(100), of("k".repeat(100)));
        assertEquals("k".repeat(100) + "…", of("k".repeat(101)));
        assertEquals("🦌".repeat(100) + "…", of("🦌".repeat(65_535 / 4)));
        byte[] binary = new byte[65_535];
        java.util.Arrays.fill(binary, (byte) 0xfe);
        assertEquals("\\xfe".repeat(25) + "…", KeyText.of(binary));
    }
}
