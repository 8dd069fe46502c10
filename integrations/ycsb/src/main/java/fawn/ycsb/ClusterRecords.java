package fawn.ycsb;

import fawn.client.FawnException;
import fawn.client.Item;
import fawn.client.Options;
import fawn.client.Value;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import site.ycsb.DBException;

/** Over the protocol of FAWN's clusters: each key's owner is asked itself. */
final class ClusterRecords implements Records {
    private final fawn.client.FawnClient client;

    /** Something that the client does. */
    private interface Call<T> {
        T run() throws FawnException;
    }

    private ClusterRecords(fawn.client.FawnClient client) {
        this.client = client;
    }

    /** Learns of the cluster from its managers, {@code HOST:PORT} with commas between them. */
    static ClusterRecords connect(String managers, int timeoutMs) throws DBException {
        Duration time = Duration.ofMillis(timeoutMs);
        Options options = new Options().timeout(time).connectTimeout(time);
        try {
            return new ClusterRecords(fawn.client.FawnClient.connect(List.of(managers.split(",")), options));
        } catch (FawnException | IllegalArgumentException error) {
            throw new DBException("no cluster answers at " + managers + ": " + error.getMessage(), error);
        }
    }

    private static byte[] bytes(String key) {
        return key.getBytes(StandardCharsets.UTF_8);
    }

    private static <T> T told(Call<T> call) throws IOException, InterruptedException {
        try {
            return call.run();
        } catch (FawnException error) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            throw new IOException(error.getMessage(), error);
        }
    }

    @Override
    public byte[] get(String key) throws IOException, InterruptedException {
        return told(() -> client.get(bytes(key))).map(found -> found.bytes).orElse(null);
    }

    @Override
    public Found gets(String key) throws IOException, InterruptedException {
        Value found = told(() -> client.get(bytes(key))).orElse(null);
        return found == null ? null : new Found(found.bytes, found.cas);
    }

    @Override
    public boolean set(String key, byte[] value) throws IOException, InterruptedException {
        told(() -> client.put(bytes(key), value));
        return true;
    }

    @Override
    public boolean replace(String key, byte[] value) throws IOException, InterruptedException {
        return told(() -> client.replace(bytes(key), Item.of(value))).isPresent();
    }

    @Override
    public boolean cas(String key, byte[] value, long cas) throws IOException, InterruptedException {
        return told(() -> client.cas(bytes(key), Item.of(value), cas)).isDone();
    }

    @Override
    public boolean delete(String key) throws IOException, InterruptedException {
        return told(() -> client.delete(bytes(key)));
    }

    @Override
    public void close() {
        client.close();
    }
}
