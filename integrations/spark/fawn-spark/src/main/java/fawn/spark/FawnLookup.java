package fawn.spark;

import fawn.client.Value;
import fawn.client.bulk.RateLimit;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Joins rows with the records of their keys by gets, however many rows there are. A join of Spark scans everything once it has
 * more keys than it broadcasts.
 */
public final class FawnLookup {
    /** Rows whose gets are sent together. */
    private static final int BATCH = 1024;

    private FawnLookup() {}

    /**
     * The rows with four more columns: the value, flags, expiry and cas of the record whose key is in a column, and nulls where
     * there is none.
     *
     * @param keyColumn a column of strings or bytes
     * @param options those of format {@code fawn}, with {@code value.format} {@code bytes} or {@code utf8}
     */
    public static Dataset<Row> join(Dataset<Row> rows, String keyColumn, Map<String, String> options) {
        Map<String, String> named = new HashMap<>();
        options.forEach((name, value) -> named.put(name.toLowerCase(Locale.ROOT), value));
        Settings settings = new Settings(named);
        Layout layout = new Layout(settings);
        if (layout.value == null) {
            throw new IllegalArgumentException(
                    "a lookup returns whole values: set value.format to bytes or utf8, and take the value apart with from_json");
        }
        int key = List.of(rows.schema().fieldNames()).indexOf(keyColumn);
        DataType keyType = key < 0 ? null : rows.schema().fields()[key].dataType();
        if (!DataTypes.StringType.equals(keyType) && !DataTypes.BinaryType.equals(keyType)) {
            throw new IllegalArgumentException("the rows have no column '" + keyColumn + "' of type STRING or BINARY");
        }
        boolean isText = settings.valueKind == Settings.ValueKind.UTF8;
        StructType schema = rows.schema().add(layout.value, isText ? DataTypes.StringType : DataTypes.BinaryType, true);
        for (StructField field : layout.recordFields().fields()) {
            schema = schema.add(field);
        }
        int atATime = FawnScan.parallelism();
        MapPartitionsFunction<Row, Row> lookup = part -> new Lookup(settings, key, isText, atATime, part);
        return rows.mapPartitions(lookup, Encoders.row(schema));
    }

    /** The rows of one task with their records. */
    private static final class Lookup implements Iterator<Row> {
        private final int key;
        private final boolean isText;
        private final Iterator<Row> rows;
        private final RateLimit rate;
        private final Read read;
        private final Counts counts = new Counts();
        private final ClientPool.Lease lease;
        private Iterator<Row> joined = List.<Row>of().iterator();

        private Lookup(Settings settings, int key, boolean isText, int atATime, Iterator<Row> rows) throws IOException {
            this.key = key;
            this.isText = isText;
            this.rows = rows;
            rate = settings.rate(atATime);
            read = new Read(settings, new Layout(settings), new StructType(), List.of(), 0, 0);
            lease = ClientPool.take(settings.client);
            TaskContext.get().addTaskCompletionListener((TaskCompletionListener) task -> lease.close());
        }

        @Override
        public boolean hasNext() {
            if (!joined.hasNext() && rows.hasNext()) {
                try {
                    joined = batch();
                } catch (IOException error) {
                    throw new UncheckedIOException(error.getMessage(), error);
                }
            }
            return joined.hasNext();
        }

        @Override
        public Row next() {
            return joined.next();
        }

        private Iterator<Row> batch() throws IOException {
            List<Row> taken = new ArrayList<>(BATCH);
            Set<ByteBuffer> keys = new LinkedHashSet<>();
            while (taken.size() < BATCH && rows.hasNext()) {
                Row row = rows.next();
                taken.add(row);
                byte[] name = name(row);
                if (name != null) {
                    keys.add(ByteBuffer.wrap(name));
                }
            }
            // The lease is the task's: this source is not closed.
            byte[][] names = keys.stream().map(ByteBuffer::array).toArray(byte[][]::new);
            GetSource source = new GetSource(lease, read, names, rate, counts);
            Map<ByteBuffer, Value> found = new HashMap<>();
            while (source.next()) {
                found.put(ByteBuffer.wrap(source.key()), source.value());
            }
            List<Row> made = new ArrayList<>(taken.size());
            for (Row row : taken) {
                byte[] name = name(row);
                made.add(row(row, name == null ? null : found.get(ByteBuffer.wrap(name))));
            }
            return made.iterator();
        }

        /** The key of a row; {@code null} for one that no record has. */
        private byte[] name(Row row) {
            Object value = row.get(key);
            byte[] name = value instanceof String ? ((String) value).getBytes(StandardCharsets.UTF_8) : (byte[]) value;
            return name == null || name.length == 0 || name.length > KeySet.MOST_KEY_BYTES ? null : name;
        }

        private Row row(Row row, Value value) {
            Object[] all = new Object[row.size() + 4];
            for (int at = 0; at < row.size(); at++) {
                all[at] = row.get(at);
            }
            if (value != null) {
                int at = row.size();
                all[at] = isText ? new String(value.bytes, StandardCharsets.UTF_8) : value.bytes;
                all[at + 1] = value.flags;
                all[at + 2] = value.expiry == 0 ? null : new Timestamp(value.expiry * 1000);
                all[at + 3] = value.cas;
            }
            return RowFactory.create(all);
        }
    }
}
