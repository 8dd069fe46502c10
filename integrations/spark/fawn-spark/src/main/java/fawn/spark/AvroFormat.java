package fawn.spark;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * Values that are Avro records without a header, by the schema of {@code avro.schema}. Spark's own package {@code spark-avro}
 * reads and writes them: its expressions are found by name, so that this class loads where the package is missing.
 */
final class AvroFormat implements ValueFormat {
    private static final String DECODER = "org.apache.spark.sql.avro.AvroDataToCatalyst";
    private static final String ENCODER = "org.apache.spark.sql.avro.CatalystDataToAvro";

    private final Settings settings;

    AvroFormat(Settings settings) {
        this.settings = settings;
    }

    /** The columns of the schema that is given. */
    static StructType schemaOf(Settings settings) {
        DataType type = decoding(settings).dataType();
        if (!(type instanceof StructType)) {
            throw new IllegalArgumentException("option avro.schema is the schema of a record, in JSON, not of " + type.sql());
        }
        return (StructType) type;
    }

    private static Expression decoding(Settings settings) {
        if (settings.avroSchema == null) {
            throw new IllegalArgumentException("value.format=avro needs option avro.schema: the schema of the values, in JSON");
        }
        Expression value = new BoundReference(0, DataTypes.BinaryType, false);
        Expression decoding = expression(DECODER, new Class<?>[] {Expression.class, String.class, Map.class},
                value, settings.avroSchema, none());
        try {
            decoding.dataType();
        } catch (RuntimeException error) {
            throw new IllegalArgumentException("option avro.schema is no Avro schema in JSON: " + error.getMessage(), error);
        }
        return decoding;
    }

    /** No options: an immutable map, whose builder Scala 2.12 and 2.13 call alike. */
    private static Object none() {
        try {
            return Class.forName("scala.collection.immutable.Map$EmptyMap$").getField("MODULE$").get(null);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("Scala's library has no empty map", error);
        }
    }

    private static Expression expression(String name, Class<?>[] types, Object... arguments) {
        try {
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            return (Expression) Class.forName(name, true, loader).getConstructor(types).newInstance(arguments);
        } catch (ClassNotFoundException error) {
            throw new IllegalArgumentException(
                    "value.format=avro needs Spark's package spark-avro: add it with --packages org.apache.spark:spark-avro_"
                            + "SCALA:SPARK, of your versions", error);
        } catch (InvocationTargetException error) {
            throw new IllegalArgumentException("spark-avro refuses the schema: " + error.getCause().getMessage(), error);
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException("this release of spark-avro is unknown: use the one of Spark 3.5 or 4.0", error);
        }
    }

    @Override
    public Decoder decoder(StructType fields) {
        Expression decoding = decoding(settings);
        StructType all = (StructType) decoding.dataType();
        StructField[] wanted = fields.fields();
        int[] places = new int[wanted.length];
        for (int at = 0; at < wanted.length; at++) {
            places[at] = place(all, wanted[at]);
        }
        Object[] value = new Object[1];
        Object[] made = new Object[places.length];
        InternalRow in = new GenericInternalRow(value);
        InternalRow out = new GenericInternalRow(made);
        return bytes -> {
            value[0] = bytes;
            try {
                InternalRow record = (InternalRow) decoding.eval(in);
                for (int at = 0; at < places.length; at++) {
                    made[at] = places[at] < 0 ? null : record.get(places[at], wanted[at].dataType());
                }
                return out;
            } catch (Exception error) {
                throw new IOException("the value is no Avro record of avro.schema", error);
            }
        };
    }

    private static int place(StructType all, StructField field) {
        for (int at = 0; at < all.fields().length; at++) {
            if (all.fields()[at].name().equals(field.name())) {
                if (!all.fields()[at].dataType().catalogString().equals(field.dataType().catalogString())) {
                    throw new IllegalArgumentException("column '" + field.name() + "' is " + all.fields()[at].dataType().sql()
                            + " by avro.schema, not " + field.dataType().sql());
                }
                return at;
            }
        }
        throw new IllegalArgumentException("avro.schema has no field '" + field.name() + "'");
    }

    @Override
    public Encoder encoder(StructType fields) {
        Expression row = new BoundReference(0, fields, false);
        Expression encoding = expression(ENCODER, new Class<?>[] {Expression.class, Option.class},
                row, Option.apply(settings.avroSchema));
        Object[] value = new Object[1];
        InternalRow in = new GenericInternalRow(value);
        return record -> {
            value[0] = record;
            return (byte[]) encoding.eval(in);
        };
    }
}
