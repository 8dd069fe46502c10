package fawn.spark;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A cluster as a catalog of Spark SQL. It has the table {@code records}, which is everything. {@code CREATE TABLE} gives the
 * same records another schema, for as long as the session lives; {@code DROP TABLE} forgets that, and deletes no record.
 */
public final class FawnCatalog implements TableCatalog {
    private static final String RECORDS = "records";

    private final Map<String, FawnTable> tables = new ConcurrentHashMap<>();
    private String name;
    private Map<String, String> options;

    @Override
    public void initialize(String catalog, CaseInsensitiveStringMap given) {
        name = catalog;
        options = new HashMap<>(given);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listTables(String[] namespace) {
        TreeMap<String, Identifier> all = new TreeMap<>();
        all.put(RECORDS, Identifier.of(new String[0], RECORDS));
        tables.keySet().forEach(table -> all.put(table, Identifier.of(new String[0], table)));
        return namespace.length > 0 ? new Identifier[0] : all.values().toArray(new Identifier[0]);
    }

    @Override
    public Table loadTable(Identifier table) throws NoSuchTableException {
        boolean isHere = table.namespace().length == 0;
        if (isHere && tables.containsKey(table.name())) {
            return tables.get(table.name());
        }
        if (!isHere || !table.name().equals(RECORDS)) {
            throw new NoSuchTableException(table);
        }
        Settings settings = new Settings(options);
        StructType schema = new Layout(settings).stored(settings);
        return new FawnTable(name + "." + RECORDS, schema, new CaseInsensitiveStringMap(options), false);
    }

    @Override
    @Deprecated
    public Table createTable(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
            throws TableAlreadyExistsException {
        if (partitions.length > 0) {
            throw new IllegalArgumentException("records lie by the hashes of their keys: leave PARTITIONED BY out");
        }
        if (table.namespace().length > 0) {
            throw new IllegalArgumentException("catalog " + name + " has no namespaces: name the table " + name + ".NAME");
        }
        Map<String, String> all = new HashMap<>(options);
        properties.forEach((property, value) -> {
            if (!property.startsWith(TableCatalog.OPTION_PREFIX)) {
                all.put(property.toLowerCase(java.util.Locale.ROOT), value);
            }
        });
        StructType columns = new StructType();
        String key = new Layout(new Settings(all)).key;
        for (StructField field : schema.fields()) {
            // No record has a null for its key. Spark updates rows only by what is never null.
            boolean isNullable = field.nullable() && !field.name().equals(key);
            columns = columns.add(new StructField(field.name(), field.dataType(), isNullable, field.metadata()));
        }
        FawnTable made = new FawnTable(name + "." + table.name(), columns, new CaseInsensitiveStringMap(all), false);
        if (table.name().equals(RECORDS) || tables.putIfAbsent(table.name(), made) != null) {
            throw new TableAlreadyExistsException(table);
        }
        return made;
    }

    @Override
    public Table alterTable(Identifier table, TableChange... changes) {
        throw new UnsupportedOperationException("tables of format fawn are not altered: drop the table, and create it again");
    }

    @Override
    public boolean dropTable(Identifier table) {
        if (table.name().equals(RECORDS)) {
            throw new UnsupportedOperationException("table " + RECORDS + " is all records of the cluster and is not dropped: "
                    + "delete them with TRUNCATE TABLE");
        }
        return tables.remove(table.name()) != null;
    }

    @Override
    public void renameTable(Identifier from, Identifier to) {
        throw new UnsupportedOperationException("tables of format fawn are not renamed: drop the table, and create it again");
    }
}
