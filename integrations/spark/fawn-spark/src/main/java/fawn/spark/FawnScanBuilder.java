package fawn.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Takes from Spark what it need not do itself: conditions on keys, columns, a limit, and counting. */
final class FawnScanBuilder implements SupportsPushDownV2Filters, SupportsPushDownRequiredColumns, SupportsPushDownLimit,
        SupportsPushDownAggregates {
    private final Settings settings;
    private final Layout layout;
    private StructType columns;
    private KeySet keys = KeySet.ALL;
    private final List<byte[]> prefixes = new ArrayList<>();
    private Predicate[] pushed = {};
    private int limit;
    private int counts;

    FawnScanBuilder(Settings settings, Layout layout, StructType schema) {
        this.settings = settings;
        this.layout = layout;
        columns = schema;
    }

    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
        List<Predicate> taken = new ArrayList<>();
        List<Predicate> left = new ArrayList<>();
        for (Predicate predicate : predicates) {
            byte[] prefix = prefix(predicate);
            KeySet set = KeySet.of(predicate, layout.key);
            if (prefix != null) {
                prefixes.add(prefix);
            } else {
                keys = keys.and(set);
            }
            if (prefix != null || set.isBounded() || set.isExact()) {
                taken.add(predicate);
            }
            if (prefix == null && !set.isExact()) {
                left.add(predicate);
            }
        }
        pushed = taken.toArray(new Predicate[0]);
        return left.toArray(new Predicate[0]);
    }

    private byte[] prefix(Predicate predicate) {
        Expression[] parts = predicate.children();
        if (!predicate.name().equals("STARTS_WITH") || !(parts[0] instanceof NamedReference)
                || !(parts[1] instanceof Literal) || !(((Literal<?>) parts[1]).value() instanceof UTF8String)) {
            return null;
        }
        boolean isKey = List.of(((NamedReference) parts[0]).fieldNames()).equals(List.of(layout.key));
        return isKey ? ((UTF8String) ((Literal<?>) parts[1]).value()).getBytes() : null;
    }

    @Override
    public Predicate[] pushedPredicates() {
        return pushed;
    }

    @Override
    public void pruneColumns(StructType required) {
        columns = required;
    }

    @Override
    public boolean pushLimit(int most) {
        limit = most;
        return true;
    }

    @Override
    public boolean pushAggregation(Aggregation aggregation) {
        if (aggregation.groupByExpressions().length > 0) {
            return false;
        }
        for (AggregateFunc each : aggregation.aggregateExpressions()) {
            if (!(each instanceof CountStar) && !isCountOfKeys(each)) {
                return false;
            }
        }
        counts = aggregation.aggregateExpressions().length;
        return true;
    }

    /** Keys are never null, so that their number is that of the records. */
    private boolean isCountOfKeys(AggregateFunc function) {
        if (!(function instanceof Count) || ((Count) function).isDistinct()) {
            return false;
        }
        Expression column = ((Count) function).column();
        return column instanceof NamedReference
                && List.of(((NamedReference) column).fieldNames()).equals(List.of(layout.key));
    }

    @Override
    public Scan build() {
        StructType made = columns;
        if (counts > 0) {
            made = new StructType();
            for (int at = 0; at < counts; at++) {
                made = made.add("count" + at, DataTypes.LongType, false);
            }
        }
        Read read = new Read(settings, layout, made, List.copyOf(prefixes), limit, counts);
        // Columns that no value has a field for are refused here, rather than in each task.
        new RowBuilder(read);
        return new FawnScan(read, keys);
    }
}
