package fawn.ycsb;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.command.TextCommandFactory;
import net.rubyeye.xmemcached.exception.MemcachedException;
import net.rubyeye.xmemcached.transcoders.SerializingTranscoder;
import site.ycsb.DBException;

/** Over memcached's text protocol, by xmemcached, whose own threads serve any number of callers. */
final class MemcachedRecords implements Records {
    /** Values are never compressed: what is measured is the store. */
    private static final int NEVER = Integer.MAX_VALUE;
    private static final int FOR_EVER = 0;

    private final MemcachedClient client;

    /** Something that xmemcached does. */
    private interface Call<T> {
        T run() throws InterruptedException, MemcachedException, TimeoutException;
    }

    private MemcachedRecords(MemcachedClient client) {
        this.client = client;
    }

    /** Connects to each of the servers, {@code HOST:PORT} with commas between them. */
    static MemcachedRecords connect(String servers, int connections, int timeoutMs) throws DBException {
        XMemcachedClientBuilder builder = new XMemcachedClientBuilder(addresses(servers));
        builder.setCommandFactory(new TextCommandFactory());
        builder.setConnectionPoolSize(connections);
        builder.setConnectTimeout(timeoutMs);
        builder.setOpTimeout(timeoutMs);
        SerializingTranscoder plain = new SerializingTranscoder();
        plain.setCompressionThreshold(NEVER);
        builder.setTranscoder(plain);
        String nobody = "no server answers at " + servers + ": start fawn serve, or give -p " + FawnClient.SERVERS;
        try {
            MemcachedClient connected = builder.build();
            // A read is to be one request, not part of another thread's.
            connected.setOptimizeGet(false);
            // xmemcached goes on without a connection, and tries again later.
            if (connected.getVersions().isEmpty()) {
                connected.shutdown();
                throw new DBException(nobody);
            }
            return new MemcachedRecords(connected);
        } catch (IOException | InterruptedException | MemcachedException | TimeoutException error) {
            throw new DBException(nobody, error);
        }
    }

    private static List<InetSocketAddress> addresses(String servers) throws DBException {
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (String server : servers.split(",")) {
            int colon = server.lastIndexOf(':');
            if (colon < 1) {
                throw new DBException("`" + server + "` is no address: write HOST:PORT in " + FawnClient.SERVERS);
            }
            String host = server.substring(0, colon).replaceAll("^\\[|\\]$", "");
            addresses.add(new InetSocketAddress(host, Integer.parseInt(server.substring(colon + 1))));
        }
        return addresses;
    }

    private static <T> T told(Call<T> call) throws IOException, InterruptedException {
        try {
            return call.run();
        } catch (MemcachedException | TimeoutException error) {
            throw new IOException(error.toString(), error);
        }
    }

    @Override
    public byte[] get(String key) throws IOException, InterruptedException {
        return told(() -> client.get(key));
    }

    @Override
    public Found gets(String key) throws IOException, InterruptedException {
        GetsResponse<byte[]> found = told(() -> client.gets(key));
        return found == null ? null : new Found(found.getValue(), found.getCas());
    }

    @Override
    public boolean set(String key, byte[] value) throws IOException, InterruptedException {
        return told(() -> client.set(key, FOR_EVER, value));
    }

    @Override
    public boolean replace(String key, byte[] value) throws IOException, InterruptedException {
        return told(() -> client.replace(key, FOR_EVER, value));
    }

    @Override
    public boolean cas(String key, byte[] value, long cas) throws IOException, InterruptedException {
        return told(() -> client.cas(key, FOR_EVER, value, cas));
    }

    @Override
    public boolean delete(String key) throws IOException, InterruptedException {
        return told(() -> client.delete(key));
    }

    @Override
    public void close() throws IOException {
        client.shutdown();
    }
}
