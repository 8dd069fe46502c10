package fawn.spark;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** How columns of a table lie in a record's value. */
interface ValueFormat {
    /** Makes the fields of a value. */
    interface Decoder {
        /** A row of the fields; the next call may change it. Throws {@link IOException} for a value of another format. */
        InternalRow decode(byte[] value) throws IOException;
    }

    /** Makes a value of fields. */
    interface Encoder {
        byte[] encode(InternalRow fields) throws IOException;
    }

    /** A decoder to these fields. */
    Decoder decoder(StructType fields);

    /** An encoder of rows of these fields. */
    Encoder encoder(StructType fields);

    /** The format of the values' fields; {@code null} where a value is one column. */
    static ValueFormat of(Settings settings) {
        switch (settings.valueKind) {
            case JSON:
                return new JsonFormat();
            case AVRO:
                return new AvroFormat(settings);
            default:
                return null;
        }
    }
}
