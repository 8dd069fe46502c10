package fawn.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.SessionConfigSupport;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The format {@code fawn} of Spark. Options may also be set as {@code spark.datasource.fawn.NAME}. */
public final class FawnSource implements TableProvider, DataSourceRegister, SessionConfigSupport {
    @Override
    public String shortName() {
        return "fawn";
    }

    @Override
    public String keyPrefix() {
        return "fawn";
    }

    @Override
    public boolean supportsExternalMetadata() {
        return true;
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        Settings settings = new Settings(options);
        return new Layout(settings).inferred(settings);
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new FawnTable("fawn", schema, new CaseInsensitiveStringMap(properties), true);
    }
}
