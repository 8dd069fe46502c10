package fawn.client.bulk;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Keys in messages for people. */
public final class KeyText {
    private static final int MOST_CHARACTERS = 100;

    private KeyText() {}

    /** At most 100 characters of a key. Those that cannot be printed, and bytes that are no UTF-8, appear as hexadecimal codes. */
    public static String of(byte[] key) {
        StringBuilder text = new StringBuilder();
        try {
            String decoded = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(key)).toString();
            decoded.codePoints().limit(MOST_CHARACTERS + 1L).forEach(character -> append(text, character));
        } catch (CharacterCodingException error) {
            for (int at = 0; at < Math.min(key.length, MOST_CHARACTERS + 1); at++) {
                boolean isPrinted = key[at] >= ' ' && key[at] <= '~';
                text.append(isPrinted ? String.valueOf((char) key[at]) : String.format("\\x%02x", key[at] & 0xff));
            }
        }
        if (text.codePointCount(0, text.length()) <= MOST_CHARACTERS) {
            return text.toString();
        }
        return text.substring(0, text.offsetByCodePoints(0, MOST_CHARACTERS)) + "…";
    }

    private static void append(StringBuilder text, int character) {
        switch (Character.getType(character)) {
            case Character.CONTROL:
            case Character.FORMAT:
            case Character.LINE_SEPARATOR:
            case Character.PARAGRAPH_SEPARATOR:
            case Character.PRIVATE_USE:
            case Character.UNASSIGNED:
                text.append(String.format("\\u%04x", character));
                break;
            default:
                text.appendCodePoint(character);
        }
    }
}
