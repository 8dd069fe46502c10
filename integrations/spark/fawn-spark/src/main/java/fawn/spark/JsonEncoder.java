package fawn.spark;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/** Writes rows as JSON objects. Fields without a value are left out. */
final class JsonEncoder implements ValueFormat.Encoder {
    private final Writer writer;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    /** Writes what is at a place of a row or an array, and not null. */
    private interface Writer {
        void write(SpecializedGetters in, int at, JsonGenerator out) throws IOException;
    }

    /** Writes a row. */
    private interface RowWriter {
        void write(InternalRow row, JsonGenerator out) throws IOException;
    }

    JsonEncoder(StructType fields) {
        RowWriter row = row(fields);
        writer = (in, at, out) -> row.write((InternalRow) in, out);
    }

    @Override
    public byte[] encode(InternalRow fields) throws IOException {
        bytes.reset();
        try (JsonGenerator out = JsonFormat.FACTORY.createGenerator(bytes)) {
            writer.write(fields, 0, out);
        }
        return bytes.toByteArray();
    }

    private static RowWriter row(StructType type) {
        StructField[] fields = type.fields();
        Writer[] writers = new Writer[fields.length];
        for (int at = 0; at < fields.length; at++) {
            writers[at] = of(fields[at].dataType());
        }
        return (row, out) -> {
            out.writeStartObject();
            for (int at = 0; at < writers.length; at++) {
                if (!row.isNullAt(at)) {
                    out.writeFieldName(fields[at].name());
                    writers[at].write(row, at, out);
                }
            }
            out.writeEndObject();
        };
    }

    private static Writer of(DataType type) {
        if (type instanceof StringType) {
            return (in, at, out) -> out.writeString(in.getUTF8String(at).toString());
        } else if (type instanceof BooleanType) {
            return (in, at, out) -> out.writeBoolean(in.getBoolean(at));
        } else if (type instanceof ByteType) {
            return (in, at, out) -> out.writeNumber(in.getByte(at));
        } else if (type instanceof ShortType) {
            return (in, at, out) -> out.writeNumber(in.getShort(at));
        } else if (type instanceof IntegerType) {
            return (in, at, out) -> out.writeNumber(in.getInt(at));
        } else if (type instanceof LongType) {
            return (in, at, out) -> out.writeNumber(in.getLong(at));
        } else if (type instanceof FloatType) {
            return (in, at, out) -> out.writeNumber(in.getFloat(at));
        } else if (type instanceof DoubleType) {
            return (in, at, out) -> out.writeNumber(in.getDouble(at));
        } else if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            return (in, at, out) ->
                    out.writeNumber(in.getDecimal(at, decimal.precision(), decimal.scale()).toJavaBigDecimal());
        } else if (type instanceof BinaryType) {
            return (in, at, out) -> out.writeString(Base64.getEncoder().encodeToString(in.getBinary(at)));
        } else if (type instanceof TimestampType) {
            return (in, at, out) -> {
                long micros = in.getLong(at);
                out.writeString(Instant.ofEpochSecond(Math.floorDiv(micros, 1_000_000L),
                        Math.floorMod(micros, 1_000_000L) * 1000).toString());
            };
        } else if (type instanceof DateType) {
            return (in, at, out) -> out.writeString(LocalDate.ofEpochDay(in.getInt(at)).toString());
        } else if (type instanceof ArrayType) {
            return array(of(((ArrayType) type).elementType()));
        } else if (type instanceof MapType && ((MapType) type).keyType() instanceof StringType) {
            return map(of(((MapType) type).valueType()));
        } else if (type instanceof StructType) {
            StructType struct = (StructType) type;
            RowWriter row = row(struct);
            return (in, at, out) -> row.write(in.getStruct(at, struct.fields().length), out);
        }
        throw new IllegalArgumentException("value.format=json has no column of type " + type.sql() + ": cast it to STRING");
    }

    private static Writer array(Writer element) {
        return (in, at, out) -> {
            ArrayData array = in.getArray(at);
            out.writeStartArray();
            for (int place = 0; place < array.numElements(); place++) {
                write(element, array, place, out);
            }
            out.writeEndArray();
        };
    }

    private static Writer map(Writer value) {
        return (in, at, out) -> {
            MapData map = in.getMap(at);
            ArrayData keys = map.keyArray();
            ArrayData values = map.valueArray();
            out.writeStartObject();
            for (int place = 0; place < map.numElements(); place++) {
                out.writeFieldName(keys.getUTF8String(place).toString());
                write(value, values, place, out);
            }
            out.writeEndObject();
        };
    }

    private static void write(Writer writer, ArrayData array, int place, JsonGenerator out) throws IOException {
        if (array.isNullAt(place)) {
            out.writeNull();
        } else {
            writer.write(array, place, out);
        }
    }
}
