package fawn.client.wire;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The lines of vectors.txt, which the Rust code has written. */
final class Vectors {
    private Vectors() {}

    /** The lines of a kind, cut into words without the kind. */
    static List<String[]> of(String kind) throws IOException {
        List<String[]> lines = new ArrayList<>();
        try (BufferedReader text = new BufferedReader(new InputStreamReader(
                Vectors.class.getResourceAsStream("/vectors.txt"), StandardCharsets.UTF_8))) {
            for (String line = text.readLine(); line != null; line = text.readLine()) {
                if (line.startsWith(kind + " ")) {
                    lines.add(line.substring(kind.length() + 1).split(" ", -1));
                }
            }
        }
        if (lines.isEmpty()) {
            throw new IOException("vectors.txt has no line of the kind " + kind);
        }
        return lines;
    }

    static byte[] bytes(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int at = 0; at < bytes.length; at++) {
            bytes[at] = (byte) Integer.parseInt(hex.substring(2 * at, 2 * at + 2), 16);
        }
        return bytes;
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte each : bytes) {
            text.append(String.format("%02x", each & 0xff));
        }
        return text.toString();
    }
}
