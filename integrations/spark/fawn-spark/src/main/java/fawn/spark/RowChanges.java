package fawn.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** {@code UPDATE}, {@code MERGE}, and {@code DELETE} by other conditions than keys: rows are read, and changed by their keys. */
final class RowChanges implements SupportsDelta {
    private final FawnTable table;
    private final Settings settings;
    private final Layout layout;
    private final Command command;

    RowChanges(FawnTable table, Settings settings, Layout layout, Command command) {
        this.table = table;
        this.settings = settings;
        this.layout = layout;
        this.command = command;
    }

    @Override
    public Command command() {
        return command;
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return table.newScanBuilder(options);
    }

    @Override
    public NamedReference[] rowId() {
        return new NamedReference[] {Expressions.column(layout.key)};
    }

    /** The version that was read, and what a change of the value is to keep. */
    @Override
    public NamedReference[] requiredMetadataAttributes() {
        return new NamedReference[] {
            Expressions.column(layout.flags), Expressions.column(layout.expiry), Expressions.column(layout.cas)
        };
    }

    @Override
    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        StructType rows = info.schema();
        if (rows.fields().length > 0) {
            layout.checkWrite(rows, settings);
        }
        return new DeltaWriteBuilder() {
            @Override
            public DeltaWrite build() {
                return new Changes(settings, layout, rows, info.rowIdSchema().orElseThrow(), info.metadataSchema().orElseThrow());
            }
        };
    }

    /** The write of the changes. */
    private static final class Changes implements DeltaWrite, DeltaBatchWrite {
        private final Settings settings;
        private final Layout layout;
        private final StructType rows;
        private final StructType ids;
        private final StructType versions;

        private Changes(Settings settings, Layout layout, StructType rows, StructType ids, StructType versions) {
            this.settings = settings;
            this.layout = layout;
            this.rows = rows;
            this.ids = ids;
            this.versions = versions;
        }

        @Override
        public DeltaBatchWrite toBatch() {
            return this;
        }

        @Override
        public CustomMetric[] supportedCustomMetrics() {
            return Counts.metrics();
        }

        @Override
        public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
            int parallelism = SparkContext.getOrCreate().defaultParallelism();
            int atATime = Math.max(1, Math.min(info.numPartitions(), parallelism));
            return new RowChangeWriter.Factory(settings, layout, rows, ids, versions, atATime);
        }

        @Override
        public void commit(WriterCommitMessage[] messages) {
            // Tasks have written everything.
        }

        @Override
        public void abort(WriterCommitMessage[] messages) {
            // What was written stays.
        }
    }
}
