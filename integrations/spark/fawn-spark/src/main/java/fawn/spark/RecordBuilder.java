package fawn.spark;

import fawn.client.Item;
import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Makes records of rows. */
final class RecordBuilder {
    private static final long MOST_U32 = 0xffff_ffffL;

    private final Settings settings;
    private final StructField[] columns;
    private final int key;
    private final int value;
    private final int flags;
    private final int expiry;
    /** The columns of the value's fields. */
    private final int[] fields;
    private final ValueFormat.Encoder encoder;
    private final Object[] fieldValues;
    private final InternalRow fieldRow;

    RecordBuilder(Settings settings, Layout layout, StructType schema) {
        this(settings, layout, schema, settings.operation == Settings.Operation.PUT);
    }

    /** One of rows that have keys alone. */
    static RecordBuilder ofKeys(Settings settings, Layout layout, StructType schema) {
        return new RecordBuilder(settings, layout, schema, false);
    }

    private RecordBuilder(Settings settings, Layout layout, StructType schema, boolean hasValues) {
        this.settings = settings;
        columns = schema.fields();
        key = place(schema, layout.key);
        value = place(schema, layout.value);
        flags = place(schema, layout.flags);
        expiry = place(schema, layout.expiry);
        StructType all = layout.fields(schema);
        fields = Arrays.stream(all.fieldNames()).mapToInt(name -> place(schema, name)).toArray();
        fieldValues = new Object[fields.length];
        fieldRow = new GenericInternalRow(fieldValues);
        ValueFormat format = ValueFormat.of(settings);
        encoder = format == null || !hasValues ? null : format.encoder(all);
    }

    private static int place(StructType schema, String name) {
        return Arrays.asList(schema.fieldNames()).indexOf(name);
    }

    byte[] key(InternalRow row) throws IOException {
        if (row.isNullAt(key)) {
            throw new IOException("a row has no key: filter such rows out");
        }
        byte[] bytes = bytes(row, key);
        if (bytes.length == 0 || bytes.length > KeySet.MOST_KEY_BYTES) {
            throw new IOException("a key has 1 to 65535 bytes, not " + bytes.length + ": filter such rows out");
        }
        return bytes;
    }

    byte[] value(InternalRow row) throws IOException {
        if (encoder == null) {
            if (row.isNullAt(value)) {
                throw new IOException("the row of key " + new String(key(row), java.nio.charset.StandardCharsets.UTF_8)
                        + " has no value: filter such rows out, or delete their keys with operation=delete");
            }
            return bytes(row, value);
        }
        for (int at = 0; at < fields.length; at++) {
            DataType type = columns[fields[at]].dataType();
            fieldValues[at] = row.isNullAt(fields[at]) ? null : row.get(fields[at], type);
        }
        return encoder.encode(fieldRow);
    }

    private byte[] bytes(InternalRow row, int at) {
        return columns[at].dataType() instanceof StringType ? row.getUTF8String(at).getBytes() : row.getBinary(at);
    }

    /** The flags of a row, 0 if it says none. */
    long flags(InternalRow row) throws IOException {
        if (flags < 0 || row.isNullAt(flags)) {
            return 0;
        }
        long number = columns[flags].dataType() instanceof IntegerType
                ? Integer.toUnsignedLong(row.getInt(flags)) : row.getLong(flags);
        return checked(number, "flags are 0 to 4294967295, not ");
    }

    /** The Unix second from which the record is not there any more: the row's, or after the time to live; 0 for never. */
    long expiry(InternalRow row) throws IOException {
        if (expiry >= 0 && !row.isNullAt(expiry)) {
            boolean isSeconds = columns[expiry].dataType() instanceof LongType;
            long unix = isSeconds ? row.getLong(expiry) : Math.floorDiv(row.getLong(expiry), 1_000_000L);
            return checked(unix, "an expiry is a Unix second from 0 to 4294967295, not ");
        }
        return settings.ttl == null ? 0
                : Math.min(MOST_U32, System.currentTimeMillis() / 1000 + Math.max(1, settings.ttl.getSeconds()));
    }

    private static long checked(long number, String sentence) throws IOException {
        if (number < 0 || number > MOST_U32) {
            throw new IOException(sentence + number);
        }
        return number;
    }

    static Item item(byte[] value, long flags, long expiry) {
        Item item = Item.of(value).withFlags(flags);
        return expiry == 0 ? item : item.expiringAt(expiry);
    }
}
