package fawn.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** Makes the writers of a write's tasks. */
final class FawnWriterFactory implements DataWriterFactory, StreamingDataWriterFactory {
    private static final long serialVersionUID = 1;

    private final Settings settings;
    private final Layout layout;
    private final StructType schema;
    /** Tasks that run at a time, at most. */
    private final int atATime;

    FawnWriterFactory(Settings settings, Layout layout, StructType schema, int atATime) {
        this.settings = settings;
        this.layout = layout;
        this.schema = schema;
        this.atATime = atATime;
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task) {
        RecordBuilder records = new RecordBuilder(settings, layout, schema);
        Counts counts = new Counts();
        try {
            return new FawnWriter(settings, records, settings.rate(atATime), counts);
        } catch (IOException error) {
            throw new UncheckedIOException(error.getMessage(), error);
        }
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
        return createWriter(partition, task);
    }
}
