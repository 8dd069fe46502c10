package fawn.spark;

import fawn.client.Value;
import java.io.Closeable;
import java.io.IOException;

/** Records of the cluster, one after another. */
interface RecordSource extends Closeable {
    /** Goes to the next record; returns whether there is one. */
    boolean next() throws IOException;

    byte[] key();

    Value value();
}
