package fawn.spark;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/** Which columns of a table are the record's key, value, flags, expiry and cas, and which are fields of its value. */
final class Layout implements Serializable {
    private static final long serialVersionUID = 1;

    final String key;
    /** The column of the whole value; {@code null} where the value's fields are columns. */
    final String value;
    final String flags;
    final String expiry;
    final String cas;

    Layout(Settings settings) {
        key = settings.prefix + "key";
        boolean isPlain = settings.valueKind == Settings.ValueKind.BYTES || settings.valueKind == Settings.ValueKind.UTF8;
        value = isPlain ? settings.prefix + "value" : null;
        flags = settings.prefix + "flags";
        expiry = settings.prefix + "expiry";
        cas = settings.prefix + "cas";
    }

    /** The schema of a table when none is given: what is stored and, of the record, what is known besides. */
    StructType inferred(Settings settings) {
        StructType schema = stored(settings);
        for (StructField field : recordFields().fields()) {
            schema = schema.add(field);
        }
        return schema;
    }

    /** What is known of each record besides its key and value. */
    StructType recordFields() {
        return new StructType().add(flags, DataTypes.LongType, true).add(expiry, DataTypes.TimestampType, true)
                .add(cas, DataTypes.LongType, true);
    }

    /** The columns of keys and values when no schema is given. */
    StructType stored(Settings settings) {
        DataType keyType = settings.keyFormat == Settings.KeyFormat.UTF8 ? DataTypes.StringType : DataTypes.BinaryType;
        StructType schema = new StructType().add(key, keyType, false);
        if (settings.valueKind == Settings.ValueKind.JSON) {
            throw new IllegalArgumentException(
                    "value.format=json needs a schema: name the columns " + key + " and the fields of the values with schema(...)");
        } else if (settings.valueKind == Settings.ValueKind.AVRO) {
            for (StructField field : AvroFormat.schemaOf(settings).fields()) {
                if (isRecords(field.name())) {
                    throw new IllegalArgumentException("the values' field " + field.name()
                            + " has the name of a column of the record: set columns.prefix, e.g. to _");
                }
                schema = schema.add(field);
            }
        } else {
            boolean isText = settings.valueKind == Settings.ValueKind.UTF8;
            schema = schema.add(value, isText ? DataTypes.StringType : DataTypes.BinaryType, false);
        }
        return schema;
    }

    /** Whether a column is the record's, rather than a field of its value. */
    boolean isRecords(String column) {
        return List.of(key, flags, expiry, cas).contains(column) || column.equals(value);
    }

    /** The columns that are fields of the value. */
    StructType fields(StructType schema) {
        StructType fields = new StructType();
        for (StructField field : schema.fields()) {
            fields = isRecords(field.name()) ? fields : fields.add(field);
        }
        return fields;
    }

    /** Refuses a schema that no record can be read by. */
    void checkRead(StructType schema) {
        for (StructField field : schema.fields()) {
            DataType type = field.dataType();
            if (field.name().equals(key) || field.name().equals(value)) {
                check(field, isBytes(type), "STRING or BINARY");
            } else if (field.name().equals(flags) || field.name().equals(cas)) {
                check(field, type instanceof LongType, "BIGINT");
            } else if (field.name().equals(expiry)) {
                check(field, type instanceof TimestampType, "TIMESTAMP");
            } else if (value != null) {
                throw new IllegalArgumentException("a table of format fawn has no column '" + field.name() + "': it has "
                        + String.join(", ", key, value, flags, expiry, cas) + ", or set value.format to json or avro");
            }
        }
    }

    /** Refuses a schema of rows that no record can be made of. */
    void checkWrite(StructType schema, Settings settings) {
        boolean isPut = settings.operation == Settings.Operation.PUT;
        require(schema, key);
        if (isPut && value != null) {
            require(schema, value);
        }
        if (isPut && value == null && fields(schema).isEmpty()) {
            throw new IllegalArgumentException("the rows have no column of the value's fields: add some, or set value.format");
        }
        for (StructField field : schema.fields()) {
            DataType type = field.dataType();
            if (field.name().equals(key) || field.name().equals(value)) {
                check(field, isBytes(type), "STRING or BINARY");
            } else if (field.name().equals(flags)) {
                check(field, type instanceof LongType || type instanceof IntegerType, "BIGINT or INT");
            } else if (field.name().equals(expiry)) {
                check(field, type instanceof TimestampType || type instanceof LongType, "TIMESTAMP or BIGINT (Unix seconds)");
            } else if (!field.name().equals(cas) && value != null && isPut) {
                throw new IllegalArgumentException("format fawn cannot write column '" + field.name()
                        + "' with value.format=" + settings.valueKind.name().toLowerCase(java.util.Locale.ROOT)
                        + ": select " + key + " and " + value + ", or set value.format to json or avro");
            }
        }
    }

    private static void require(StructType schema, String column) {
        if (!List.of(schema.fieldNames()).contains(column)) {
            throw new IllegalArgumentException("the rows have no column '" + column + "': they have "
                    + String.join(", ", schema.fieldNames()));
        }
    }

    private static void check(StructField field, boolean isRight, String types) {
        if (!isRight) {
            throw new IllegalArgumentException("column '" + field.name() + "' is " + types + " in format fawn, not "
                    + field.dataType().sql() + ": cast it, or set columns.prefix if it is a field of the value");
        }
    }

    /** Conditions on strings of another collation than the usual one would not be gets of their bytes. */
    private static boolean isBytes(DataType type) {
        return type.equals(DataTypes.StringType) || type instanceof BinaryType;
    }
}
