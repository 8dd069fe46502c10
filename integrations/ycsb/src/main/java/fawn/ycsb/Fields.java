package fawn.ycsb;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The fields of a record as one value.
 *
 * <p>For each field: its name (two bytes of length, UTF-8), four bytes of length, its bytes; numbers are big-endian. Ten
 * fields of 100 bytes take 1,120. Values of fields are any bytes, which JSON, as YCSB's binding for memcached has it, would
 * have to escape.
 */
final class Fields {
    private Fields() {}

    /** One value. */
    static byte[] encode(Map<String, byte[]> fields) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(2048);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            for (Map.Entry<String, byte[]> field : fields.entrySet()) {
                out.writeUTF(field.getKey());
                out.writeInt(field.getValue().length);
                out.write(field.getValue());
            }
        }
        return bytes.toByteArray();
    }

    /**
     * The fields of a value, in their order.
     *
     * @throws IOException if the value is none that {@link #encode} makes
     */
    static Map<String, byte[]> decode(byte[] value) throws IOException {
        Map<String, byte[]> fields = new LinkedHashMap<>();
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(value))) {
            while (in.available() > 0) {
                String name = in.readUTF();
                int length = in.readInt();
                if (length < 0 || length > in.available()) {
                    throw new IOException("a record is cut off, or another program's");
                }
                fields.put(name, in.readNBytes(length));
            }
        }
        return fields;
    }
}
