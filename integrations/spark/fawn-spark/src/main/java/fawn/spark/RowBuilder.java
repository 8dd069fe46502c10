package fawn.spark;

import fawn.client.Value;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Makes of a record the columns that are wanted. A value is only decoded if one of its fields is. */
final class RowBuilder {
    private enum Part { KEY, VALUE, FLAGS, EXPIRY, CAS, FIELD }

    private final Settings settings;
    private final StructField[] columns;
    private final Part[] parts;
    private final StructType fields;
    private final ValueFormat.Decoder decoder;
    private final Object[] values;
    private final InternalRow row;

    RowBuilder(Read read) {
        settings = read.settings;
        columns = read.columns.fields();
        parts = new Part[columns.length];
        values = new Object[columns.length];
        row = new GenericInternalRow(values);
        fields = read.counts > 0 ? new StructType() : read.layout.fields(read.columns);
        for (int at = 0; at < columns.length; at++) {
            parts[at] = part(read.layout, columns[at].name());
        }
        ValueFormat format = ValueFormat.of(settings);
        decoder = fields.isEmpty() || format == null ? null : format.decoder(fields);
    }

    private static Part part(Layout layout, String column) {
        return column.equals(layout.key) ? Part.KEY
                : column.equals(layout.value) ? Part.VALUE
                : column.equals(layout.flags) ? Part.FLAGS
                : column.equals(layout.expiry) ? Part.EXPIRY
                : column.equals(layout.cas) ? Part.CAS : Part.FIELD;
    }

    /** Makes the row of a record; returns whether there is one: false for a value of another format that is to be skipped. */
    boolean set(byte[] key, Value value) throws IOException {
        InternalRow decoded = null;
        if (decoder != null) {
            try {
                decoded = decoder.decode(value.bytes);
            } catch (IOException error) {
                if (settings.valueErrors == Settings.ValueErrors.FAIL) {
                    throw new IOException("the value of key " + UTF8String.fromBytes(key) + " is not of value.format "
                            + settings.valueKind.name().toLowerCase(java.util.Locale.ROOT) + " (" + error.getMessage()
                            + "): set value.errors to null or skip to read on", error);
                } else if (settings.valueErrors == Settings.ValueErrors.SKIP) {
                    return false;
                }
            }
        }
        int field = 0;
        for (int at = 0; at < parts.length; at++) {
            switch (parts[at]) {
                case KEY:
                    values[at] = bytes(key, columns[at]);
                    break;
                case VALUE:
                    values[at] = bytes(value.bytes, columns[at]);
                    break;
                case FLAGS:
                    values[at] = value.flags;
                    break;
                case EXPIRY:
                    values[at] = value.expiry == 0 ? null : value.expiry * 1_000_000L;
                    break;
                case CAS:
                    values[at] = value.cas;
                    break;
                default:
                    values[at] = decoded == null ? null : decoded.get(field, columns[at].dataType());
                    field++;
            }
        }
        return true;
    }

    private static Object bytes(byte[] bytes, StructField column) {
        return column.dataType() instanceof StringType ? UTF8String.fromBytes(bytes) : bytes;
    }

    /** The row that was made last; the next call of {@link #set} changes it. */
    InternalRow row() {
        return row;
    }
}
