package fawn.spark;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
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
import org.apache.spark.unsafe.types.UTF8String;

/** Reads JSON objects into rows. Fields that are not asked for are passed over without being made. */
final class JsonDecoder implements ValueFormat.Decoder {
    private final Reader reader;

    /** Reads the value that a parser is at, which is not null. */
    private interface Reader {
        Object read(JsonParser in) throws IOException;
    }

    JsonDecoder(StructType fields) {
        reader = struct(fields);
    }

    @Override
    public InternalRow decode(byte[] value) throws IOException {
        try (JsonParser in = JsonFormat.FACTORY.createParser(value)) {
            if (in.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("the value is no JSON object");
            }
            InternalRow row = (InternalRow) reader.read(in);
            if (in.nextToken() != null) {
                throw new IOException("something follows the JSON object");
            }
            return row;
        } catch (ArithmeticException | DateTimeException | IllegalArgumentException error) {
            throw new IOException(error.getMessage(), error);
        }
    }

    private static Reader of(DataType type) {
        if (type instanceof StringType) {
            return in -> UTF8String.fromString(text(in));
        } else if (type instanceof BooleanType) {
            return in -> expect(in, in.currentToken().isBoolean(), type).getBooleanValue();
        } else if (type instanceof ByteType) {
            return in -> (byte) integer(in, type, Byte.MIN_VALUE, Byte.MAX_VALUE);
        } else if (type instanceof ShortType) {
            return in -> (short) integer(in, type, Short.MIN_VALUE, Short.MAX_VALUE);
        } else if (type instanceof IntegerType) {
            return in -> (int) integer(in, type, Integer.MIN_VALUE, Integer.MAX_VALUE);
        } else if (type instanceof LongType) {
            return in -> integer(in, type, Long.MIN_VALUE, Long.MAX_VALUE);
        } else if (type instanceof FloatType) {
            return in -> (float) real(in, type);
        } else if (type instanceof DoubleType) {
            return in -> real(in, type);
        } else if (type instanceof DecimalType) {
            return in -> decimal(in, (DecimalType) type);
        } else if (type instanceof BinaryType) {
            return in -> Base64.getDecoder().decode(expect(in, in.currentToken() == JsonToken.VALUE_STRING, type).getText());
        } else if (type instanceof TimestampType) {
            return in -> micros(expect(in, in.currentToken() == JsonToken.VALUE_STRING, type).getText());
        } else if (type instanceof DateType) {
            return in -> (int) LocalDate.parse(expect(in, in.currentToken() == JsonToken.VALUE_STRING, type).getText())
                    .toEpochDay();
        } else if (type instanceof ArrayType) {
            return array((ArrayType) type);
        } else if (type instanceof MapType && ((MapType) type).keyType() instanceof StringType) {
            return map((MapType) type);
        } else if (type instanceof StructType) {
            return struct((StructType) type);
        }
        throw new IllegalArgumentException("value.format=json has no column of type " + type.sql() + ": declare it as STRING");
    }

    private static JsonParser expect(JsonParser in, boolean isRight, DataType type) throws IOException {
        if (!isRight) {
            throw new IOException("field '" + in.currentName() + "' is no " + type.sql());
        }
        return in;
    }

    private static Object read(Reader reader, JsonParser in) throws IOException {
        return in.currentToken() == JsonToken.VALUE_NULL ? null : reader.read(in);
    }

    private static Reader struct(StructType type) {
        StructField[] fields = type.fields();
        Map<String, Integer> places = new HashMap<>();
        Reader[] readers = new Reader[fields.length];
        for (int at = 0; at < fields.length; at++) {
            places.put(fields[at].name(), at);
            readers[at] = of(fields[at].dataType());
        }
        return in -> {
            expect(in, in.currentToken() == JsonToken.START_OBJECT, type);
            Object[] values = new Object[readers.length];
            while (in.nextToken() != JsonToken.END_OBJECT) {
                Integer place = places.get(in.currentName());
                in.nextToken();
                if (place == null) {
                    in.skipChildren();
                } else {
                    values[place] = read(readers[place], in);
                }
            }
            return new GenericInternalRow(values);
        };
    }

    private static Reader array(ArrayType type) {
        Reader element = of(type.elementType());
        return in -> {
            expect(in, in.currentToken() == JsonToken.START_ARRAY, type);
            List<Object> elements = new ArrayList<>();
            while (in.nextToken() != JsonToken.END_ARRAY) {
                elements.add(read(element, in));
            }
            return new GenericArrayData(elements.toArray());
        };
    }

    private static Reader map(MapType type) {
        Reader value = of(type.valueType());
        return in -> {
            expect(in, in.currentToken() == JsonToken.START_OBJECT, type);
            List<Object> keys = new ArrayList<>();
            List<Object> values = new ArrayList<>();
            while (in.nextToken() != JsonToken.END_OBJECT) {
                keys.add(UTF8String.fromString(in.currentName()));
                in.nextToken();
                values.add(read(value, in));
            }
            return new ArrayBasedMapData(new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
        };
    }

    /** A string as it is; of anything else, its JSON. */
    private static String text(JsonParser in) throws IOException {
        if (in.currentToken() == JsonToken.VALUE_STRING || !in.currentToken().isStructStart()) {
            return in.getText();
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator out = JsonFormat.FACTORY.createGenerator(bytes)) {
            out.copyCurrentStructure(in);
        }
        return bytes.toString(java.nio.charset.StandardCharsets.UTF_8);
    }

    private static long integer(JsonParser in, DataType type, long least, long most) throws IOException {
        expect(in, in.currentToken() == JsonToken.VALUE_NUMBER_INT, type);
        long number = in.getLongValue();
        expect(in, least <= number && number <= most, type);
        return number;
    }

    private static double real(JsonParser in, DataType type) throws IOException {
        if (in.currentToken() == JsonToken.VALUE_STRING) {
            switch (in.getText()) {
                case "NaN":
                    return Double.NaN;
                case "Infinity":
                    return Double.POSITIVE_INFINITY;
                case "-Infinity":
                    return Double.NEGATIVE_INFINITY;
                default:
            }
        }
        return expect(in, in.currentToken().isNumeric(), type).getDoubleValue();
    }

    private static Decimal decimal(JsonParser in, DecimalType type) throws IOException {
        boolean isNumber = in.currentToken().isNumeric() || in.currentToken() == JsonToken.VALUE_STRING;
        String text = expect(in, isNumber, type).getText();
        BigDecimal number = new BigDecimal(text).setScale(type.scale(), RoundingMode.HALF_UP);
        expect(in, number.precision() <= type.precision(), type);
        return Decimal.apply(number, type.precision(), type.scale());
    }

    /** Microseconds since 1970 of an ISO 8601 time; one without a zone is UTC. */
    private static long micros(String text) {
        String iso = text.length() > 10 && text.charAt(10) == ' ' ? text.substring(0, 10) + 'T' + text.substring(11) : text;
        int zone = Math.max(iso.indexOf('Z'), Math.max(iso.lastIndexOf('+'), iso.lastIndexOf('-') > 9 ? iso.lastIndexOf('-') : -1));
        Instant instant = zone < 0 ? LocalDateTime.parse(iso).toInstant(ZoneOffset.UTC) : OffsetDateTime.parse(iso).toInstant();
        return Math.addExact(Math.multiplyExact(instant.getEpochSecond(), 1_000_000L), instant.getNano() / 1000);
    }
}
