package fawn.spark;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** All records of a cluster as a table. What is known of a record and is no column can be selected by its name nevertheless. */
final class FawnTable implements SupportsRead, SupportsWrite, SupportsDeleteV2, SupportsMetadataColumns,
        SupportsRowLevelOperations {
    private final String name;
    private final StructType schema;
    private final CaseInsensitiveStringMap options;
    /** Rows to be written name their columns; otherwise Spark brings them into the table's schema first. */
    private final boolean takesAnySchema;
    private final Settings settings;
    private final Layout layout;

    FawnTable(String name, StructType schema, CaseInsensitiveStringMap options, boolean takesAnySchema) {
        this.name = name;
        this.schema = schema;
        this.options = options;
        this.takesAnySchema = takesAnySchema;
        settings = new Settings(options);
        layout = new Layout(settings);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    @SuppressWarnings("deprecation")
    public StructType schema() {
        return schema;
    }

    @Override
    public Set<TableCapability> capabilities() {
        Set<TableCapability> all = EnumSet.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE,
                TableCapability.STREAMING_WRITE, TableCapability.TRUNCATE, TableCapability.OVERWRITE_BY_FILTER);
        if (takesAnySchema) {
            all.add(TableCapability.ACCEPT_ANY_SCHEMA);
        }
        return all;
    }

    @Override
    public MetadataColumn[] metadataColumns() {
        List<MetadataColumn> hidden = new ArrayList<>();
        for (StructField field : layout.recordFields().fields()) {
            if (!List.of(schema.fieldNames()).contains(field.name())) {
                hidden.add(new Hidden(field));
            }
        }
        return hidden.toArray(new MetadataColumn[0]);
    }

    /** A column that is there when it is named. */
    private static final class Hidden implements MetadataColumn {
        private final StructField field;

        private Hidden(StructField field) {
            this.field = field;
        }

        @Override
        public String name() {
            return field.name();
        }

        @Override
        public DataType dataType() {
            return field.dataType();
        }
    }

    /** The table's options, and above them those of one read or write. */
    private Settings with(CaseInsensitiveStringMap more) {
        Map<String, String> all = new HashMap<>(options);
        all.putAll(more);
        return new Settings(all);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap more) {
        layout.checkRead(schema);
        return new FawnScanBuilder(with(more), layout, schema);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        Settings own = with(info.options());
        layout.checkWrite(info.schema(), own);
        return new FawnWriteBuilder(own, layout, info.schema());
    }

    @Override
    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
        return () -> new RowChanges(this, with(info.options()), layout, info.command());
    }

    @Override
    public boolean canDeleteWhere(Predicate[] predicates) {
        KeySet keys = KeySet.of(List.of(predicates), layout.key);
        return keys.isExact() && (keys.isBounded() || settings.mayTruncate);
    }

    @Override
    public void deleteWhere(Predicate[] predicates) {
        Deletion.of(settings, KeySet.of(List.of(predicates), layout.key)).run();
    }

    @Override
    public boolean truncateTable() {
        Deletion.of(settings, KeySet.ALL).run();
        return true;
    }
}
