package fawn.spark;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.unsafe.types.UTF8String;

/** The keys for which a condition can be true. */
final class KeySet {
    /** All keys. */
    static final KeySet ALL = new KeySet(null, true);
    static final int MOST_KEY_BYTES = 65_535;

    /** {@code null} for all. */
    private final Set<ByteBuffer> keys;
    /** The condition is true for all of these keys, whatever their values. */
    private final boolean isExact;

    private KeySet(Set<ByteBuffer> keys, boolean isExact) {
        this.keys = keys;
        this.isExact = isExact;
    }

    boolean isBounded() {
        return keys != null;
    }

    boolean isExact() {
        return isExact;
    }

    List<byte[]> keys() {
        List<byte[]> all = new ArrayList<>(keys.size());
        keys.forEach(key -> all.add(key.array()));
        return all;
    }

    int size() {
        return keys.size();
    }

    /** For which all of these conditions can be true. */
    static KeySet of(Collection<Predicate> conditions, String column) {
        KeySet all = ALL;
        for (Predicate condition : conditions) {
            all = all.and(of(condition, column));
        }
        return all;
    }

    static KeySet of(Predicate condition, String column) {
        Expression[] parts = condition.children();
        switch (condition.name()) {
            case "ALWAYS_TRUE":
                return ALL;
            case "ALWAYS_FALSE":
                return new KeySet(Set.of(), true);
            case "AND":
                return of((Predicate) parts[0], column).and(of((Predicate) parts[1], column));
            case "OR":
                return of((Predicate) parts[0], column).or(of((Predicate) parts[1], column));
            case "=":
            case "<=>":
                return isColumn(parts[0], column) ? literals(parts, 1)
                        : isColumn(parts[1], column) ? literals(new Expression[] {parts[1], parts[0]}, 1) : unknown();
            case "IN":
                return isColumn(parts[0], column) ? literals(parts, 1) : unknown();
            default:
                return unknown();
        }
    }

    private static KeySet unknown() {
        return new KeySet(null, false);
    }

    private static boolean isColumn(Expression expression, String column) {
        return expression instanceof NamedReference
                && List.of(((NamedReference) expression).fieldNames()).equals(List.of(column));
    }

    private static KeySet literals(Expression[] parts, int from) {
        Set<ByteBuffer> keys = new LinkedHashSet<>();
        for (int at = from; at < parts.length; at++) {
            if (!(parts[at] instanceof Literal)) {
                return unknown();
            }
            Object value = ((Literal<?>) parts[at]).value();
            byte[] key = bytes(value);
            if (key == null && value != null) {
                return unknown();
            }
            // No record has the key null, or one that is empty or too long.
            if (key != null && key.length > 0 && key.length <= MOST_KEY_BYTES) {
                keys.add(ByteBuffer.wrap(key));
            }
        }
        return new KeySet(keys, true);
    }

    private static byte[] bytes(Object value) {
        if (value instanceof UTF8String) {
            return ((UTF8String) value).getBytes();
        }
        if (value instanceof String) {
            return ((String) value).getBytes(StandardCharsets.UTF_8);
        }
        return value instanceof byte[] ? (byte[]) value : null;
    }

    KeySet and(KeySet other) {
        boolean areExact = isExact && other.isExact;
        if (keys == null || other.keys == null) {
            return new KeySet(keys == null ? other.keys : keys, areExact);
        }
        Set<ByteBuffer> both = new LinkedHashSet<>(keys);
        both.retainAll(other.keys);
        return new KeySet(both, areExact);
    }

    private KeySet or(KeySet other) {
        if (keys == null || other.keys == null) {
            boolean isAll = keys == null && isExact || other.keys == null && other.isExact;
            return new KeySet(null, isAll);
        }
        Set<ByteBuffer> either = new LinkedHashSet<>(keys);
        either.addAll(other.keys);
        return new KeySet(either, isExact && other.isExact);
    }
}
