package fawn.spark;

import java.util.List;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** A write: what is deleted before it, and the rows. */
final class FawnWriteBuilder implements WriteBuilder, SupportsOverwriteV2 {
    private final Settings settings;
    private final Layout layout;
    private final StructType schema;
    /** {@code null} for nothing. */
    private Deletion before;

    FawnWriteBuilder(Settings settings, Layout layout, StructType schema) {
        this.settings = settings;
        this.layout = layout;
        this.schema = schema;
    }

    @Override
    public boolean canOverwrite(Predicate[] predicates) {
        return KeySet.of(List.of(predicates), layout.key).isExact();
    }

    @Override
    public WriteBuilder overwrite(Predicate[] predicates) {
        before = Deletion.of(settings, KeySet.of(List.of(predicates), layout.key));
        return this;
    }

    @Override
    public WriteBuilder truncate() {
        before = Deletion.of(settings, KeySet.ALL);
        return this;
    }

    @Override
    public Write build() {
        return new FawnWrite(settings, layout, schema, before);
    }
}
