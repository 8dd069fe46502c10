package fawn.spark;

import com.fasterxml.jackson.core.JsonFactory;
import org.apache.spark.sql.types.StructType;

/** Values that are JSON objects: each field is a column. */
final class JsonFormat implements ValueFormat {
    static final JsonFactory FACTORY = new JsonFactory();

    @Override
    public Decoder decoder(StructType fields) {
        return new JsonDecoder(fields);
    }

    @Override
    public Encoder encoder(StructType fields) {
        return new JsonEncoder(fields);
    }
}
