package fawn.spark;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** What the tasks of a read have to do: the same for all of them. */
final class Read implements Serializable {
    private static final long serialVersionUID = 1;

    final Settings settings;
    final Layout layout;
    /** The columns that are wanted. */
    final StructType columns;
    /** What keys begin with, all of these. */
    final List<byte[]> prefixes;
    /** A task ends after so many rows; 0 for no limit. */
    final int limit;
    /** Where only their number is wanted, columns that say it; 0 where rows are. */
    final int counts;

    Read(Settings settings, Layout layout, StructType columns, List<byte[]> prefixes, int limit, int counts) {
        this.settings = settings;
        this.layout = layout;
        this.columns = columns;
        this.prefixes = prefixes;
        this.limit = limit;
        this.counts = counts;
    }

    boolean hasPrefixes(byte[] key) {
        for (byte[] prefix : prefixes) {
            if (key.length < prefix.length || !java.util.Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length)) {
                return false;
            }
        }
        return true;
    }
}
