package fawn.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.types.StructType;

/** Writes rows as records, or deletes those of their keys. Spark lets one attempt of each task commit. */
final class FawnWrite implements Write, BatchWrite, StreamingWrite {
    private final Settings settings;
    private final Layout layout;
    private final StructType schema;
    private final Deletion before;

    FawnWrite(Settings settings, Layout layout, StructType schema, Deletion before) {
        this.settings = settings;
        this.layout = layout;
        this.schema = schema;
        this.before = before;
    }

    @Override
    public String description() {
        return "fawn";
    }

    @Override
    public BatchWrite toBatch() {
        return this;
    }

    @Override
    public StreamingWrite toStreaming() {
        return this;
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return Counts.metrics();
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return factory(info);
    }

    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
        return factory(info);
    }

    private FawnWriterFactory factory(PhysicalWriteInfo info) {
        if (before != null) {
            before.run();
        }
        int parallelism = SparkContext.getOrCreate().defaultParallelism();
        int atATime = Math.max(1, Math.min(info.numPartitions(), parallelism));
        return new FawnWriterFactory(settings, layout, schema, atATime);
    }

    @Override
    public boolean useCommitCoordinator() {
        return true;
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
        // Tasks have written everything.
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
        // What was written stays: a record cannot be told from one that another program wrote.
    }

    @Override
    public void commit(long epochId, WriterCommitMessage[] messages) {
        // As above.
    }

    @Override
    public void abort(long epochId, WriterCommitMessage[] messages) {
        // As above.
    }
}
