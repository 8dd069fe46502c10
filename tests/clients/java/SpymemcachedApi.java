import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.spy.memcached.CASMutation;
import net.spy.memcached.CASMutator;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.CachedData;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.internal.OperationFuture;
import net.spy.memcached.transcoders.LongTranscoder;
import net.spy.memcached.transcoders.SerializingTranscoder;
import net.spy.memcached.transcoders.Transcoder;

/** spymemcached over the text protocol: its whole API. */
public final class SpymemcachedApi {
    /** Bytes as they are, with chosen flags. */
    private record Raw(int flags) implements Transcoder<CachedData> {
        public boolean asyncDecode(CachedData data) {
            return false;
        }

        public CachedData encode(CachedData data) {
            return data;
        }

        public CachedData decode(CachedData data) {
            return data;
        }

        public int getMaxSize() {
            return 1 << 26;
        }
    }

    private static MemcachedClient connect(String host, int port) throws Exception {
        return new MemcachedClient(
            new ConnectionFactoryBuilder().setProtocol(Protocol.TEXT).setOpTimeout(10_000).setMaxReconnectDelay(1).build(),
            List.of(new InetSocketAddress(host, port)));
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SLF4JLogger");
        String host = args[0];
        int port = Integer.parseInt(args[1]);
        MemcachedClient c = connect(host, port);
        Checks checks = new Checks();
        storage(checks, c);
        counting(checks, c);
        time(checks, c);
        bulk(checks, c);
        errors(checks, c, host, port);
        service(checks, c);
        checks.runAll();
    }

    private static void storage(Checks checks, MemcachedClient c) {
        checks.add("set and get", () -> {
            String k = Checks.key();
            Checks.equal(c.get(k), null);
            Checks.equal(c.set(k, 0, "value").get(), true);
            Checks.equal(c.get(k), "value");
            Checks.equal(c.asyncGet(k).get(), "value");
        });
        checks.add("types travel in the flags", () -> {
            String k = Checks.key();
            for (Object value : new Object[] {"text ü", 42, 1L << 40, 1.5, true, new ArrayList<>(List.of(1, 2)), new HashMap<>(Map.of("a", "b"))}) {
                c.set(k, 0, value).get();
                Checks.equal(c.get(k), value);
            }
        });
        checks.add("flags come back and are replaced", () -> {
            String k = Checks.key();
            for (int flags : new int[] {1, 0, Integer.MAX_VALUE, 7}) {
                Checks.equal(c.set(k, 0, new CachedData(flags, new byte[] {1}, 100), new Raw(flags)).get(), true);
                Checks.equal(c.get(k, new Raw(0)).getFlags(), flags);
            }
        });
        checks.add("add and replace", () -> {
            String k = Checks.key();
            Checks.equal(c.replace(k, 0, "a").get(), false);
            Checks.equal(c.add(k, 0, "b").get(), true);
            Checks.equal(c.add(k, 0, "c").get(), false);
            Checks.equal(c.replace(k, 0, "d").get(), true);
            Checks.equal(c.get(k), "d");
        });
        checks.add("append and prepend", () -> {
            String k = Checks.key();
            Checks.equal(c.append(k, "x").get(), false);
            Checks.equal(c.prepend(k, "x").get(), false);
            c.set(k, 0, "b").get();
            Checks.equal(c.append(k, "c").get(), true);
            Checks.equal(c.prepend(k, "a").get(), true);
            Checks.equal(c.get(k), "abc");
        });
        checks.add("gets and cas", () -> {
            String k = Checks.key();
            Checks.equal(c.gets(k), null);
            Checks.equal(c.cas(k, 1, "x"), CASResponse.NOT_FOUND);
            c.set(k, 0, "a").get();
            CASValue<Object> got = c.gets(k);
            Checks.equal(got.getValue(), "a");
            Checks.equal(c.cas(k, got.getCas(), "b"), CASResponse.OK);
            Checks.equal(c.cas(k, got.getCas(), "c"), CASResponse.EXISTS);
            Checks.equal(c.asyncCAS(k, c.asyncGets(k).get().getCas(), "d").get(), CASResponse.OK);
            Checks.equal(c.get(k), "d");
        });
        checks.add("cas mutator", () -> {
            String k = Checks.key();
            CASMutation<Long> plusOne = old -> old + 1;
            CASMutator<Long> mutator = new CASMutator<>(c, new LongTranscoder());
            for (long n = 0; n < 20; n++) {
                Checks.equal(mutator.cas(k, 0L, 0, plusOne), n);
            }
        });
        checks.add("delete", () -> {
            String k = Checks.key();
            c.set(k, 0, "a").get();
            Checks.equal(c.delete(k).get(), true);
            Checks.equal(c.delete(k).get(), false);
            Checks.equal(c.get(k), null);
        });
    }

    private static void counting(Checks checks, MemcachedClient c) {
        checks.add("incr and decr with wrap and floor", () -> {
            String k = Checks.key();
            Checks.equal(c.incr(k, 1), -1L);
            Checks.equal(c.decr(k, 1), -1L);
            c.set(k, 0, "10").get();
            Checks.equal(c.incr(k, 5), 15L);
            Checks.equal(c.decr(k, 6), 9L);
            Checks.equal(c.asyncIncr(k, 1).get(), 10L);
            Checks.equal(c.asyncDecr(k, 100).get(), 0L);
            c.set(k, 0, "18446744073709551615").get();
            Checks.equal(c.incr(k, 1), 0L);
        });
        checks.add("incr and decr with a default", () -> {
            String k = Checks.key();
            String l = Checks.key();
            Checks.equal(c.incr(k, 5, 100), 100L);
            Checks.equal(c.incr(k, 5, 100), 105L);
            Checks.equal(c.decr(l, 5, 100, 1000), 100L);
            Checks.equal(c.decr(l, 5, 100, 1000), 95L);
        });
        checks.add("incr of text is an error and the connection goes on", () -> {
            String k = Checks.key();
            c.set(k, 0, "text").get();
            Checks.refused("incr of text", () -> c.asyncIncr(k, 1).get());
            Checks.equal(c.get(k), "text");
        });
    }

    private static void time(Checks checks, MemcachedClient c) {
        checks.add("touch, get and touch, expiry", () -> {
            String shortLived = Checks.key();
            String touched = Checks.key();
            String got = Checks.key();
            String late = Checks.key();
            for (String k : List.of(shortLived, touched, got)) {
                c.set(k, 3, "a").get();
            }
            c.set(late, (int) (System.currentTimeMillis() / 1000) + 100, "a").get();
            Checks.equal(c.touch(touched, 100).get(), true);
            Checks.equal(c.touch(Checks.key(), 100).get(), false);
            Checks.equal(c.get(shortLived), "a");
            c.set(Checks.key(), -1, "a").get();
            Thread.sleep(4200);
            Checks.equal(c.get(shortLived), null);
            Checks.equal(c.get(touched), "a");
            Checks.equal(c.get(late), "a");
        });
        checks.add("expired at once by a negative time", () -> {
            String k = Checks.key();
            c.set(k, 0, "old").get();
            Checks.equal(c.set(k, -1, "new").get(), true);
            Checks.equal(c.get(k), null);
        });
    }

    private static void bulk(Checks checks, MemcachedClient c) {
        checks.add("get bulk of five thousand keys", () -> {
            Map<String, Object> values = new HashMap<>();
            String prefix = Checks.key();
            List<OperationFuture<Boolean>> stored = new ArrayList<>();
            for (int n = 0; n < 5000; n++) {
                values.put(prefix + "-" + n, "value " + n);
                stored.add(c.set(prefix + "-" + n, 0, "value " + n));
            }
            for (OperationFuture<Boolean> one : stored) {
                Checks.equal(one.get(), true);
            }
            Checks.equal(c.getBulk(values.keySet()), values);
            Checks.equal(c.asyncGetBulk(values.keySet()).get(), values);
            Checks.equal(c.getBulk(Checks.key(), prefix + "-1"), Map.of(prefix + "-1", "value 1"));
        });
        checks.add("binary, empty and large values", () -> {
            String k = Checks.key();
            SerializingTranscoder plain = new SerializingTranscoder(1 << 22);
            plain.setCompressionThreshold(1 << 22);
            for (int length : new int[] {0, 1, 2048, 65_535, 65_537, 1_000_000}) {
                byte[] bytes = Checks.random(length);
                Checks.equal(c.set(k, 0, bytes, plain).get(), true);
                Checks.same((byte[]) c.get(k, plain), bytes);
            }
        });
        checks.add("large multi set", () -> {
            Map<String, byte[]> values = new HashMap<>();
            List<OperationFuture<Boolean>> stored = new ArrayList<>();
            for (int n = 0; n < 500; n++) {
                values.put(Checks.key(), Checks.random(20_000 + n));
            }
            values.forEach((k, v) -> stored.add(c.set(k, 0, v)));
            for (OperationFuture<Boolean> one : stored) {
                Checks.equal(one.get(), true);
            }
            Map<String, Object> got = c.getBulk(values.keySet());
            Checks.equal(got.keySet(), values.keySet());
            values.forEach((k, v) -> Checks.same((byte[]) got.get(k), v));
        });
    }

    private static void errors(Checks checks, MemcachedClient c, String host, int port) {
        checks.add("too large is refused and the connection goes on", () -> {
            String k = Checks.key();
            MemcachedClient other = connect(host, port);
            SerializingTranscoder plain = new SerializingTranscoder(1 << 24);
            plain.setCompressionThreshold(1 << 24);
            other.set(k, 0, "old").get();
            Checks.refused("a value of 2 MiB", () -> {
                if (!other.set(k, 0, Checks.random(1 << 21), plain).get()) {
                    throw new Exception("not stored");
                }
            });
            Checks.equal(c.get(k), null);
            Checks.equal(other.set(k, 0, "new").get(), true);
            Checks.equal(other.get(k), "new");
            other.shutdown();
        });
        checks.add("keys of 250 bytes", () -> {
            String k = "s".repeat(250);
            Checks.equal(c.set(k, 0, "a").get(), true);
            Checks.equal(c.get(k), "a");
            Checks.equal(c.delete(k).get(), true);
            Checks.refused("a key of 251 bytes", () -> c.set(k + "s", 0, "a").get());
        });
        checks.add("thousands of requests in flight answer in order", () -> {
            String k = Checks.key();
            List<OperationFuture<Boolean>> stored = new ArrayList<>();
            for (int n = 0; n < 5000; n++) {
                stored.add(c.set(k, 0, n));
            }
            Checks.equal(c.get(k), 4999);
            for (OperationFuture<Boolean> one : stored) {
                Checks.equal(one.get(), true);
            }
        });
    }

    private static void service(Checks checks, MemcachedClient c) {
        checks.add("versions and stats", () -> {
            Checks.equal(c.getVersions().values().iterator().next().matches("\\d+\\.\\d+\\.\\d+"), true);
            Map<String, String> stats = c.getStats().values().iterator().next();
            for (String name : List.of("pid", "uptime", "curr_items", "cmd_get", "limit_maxbytes")) {
                Checks.equal(stats.containsKey(name), true);
            }
            Checks.equal(c.getStats("settings").values().iterator().next().containsKey("maxbytes"), true);
            c.getStats("items");
            c.getStats("slabs");
        });
        checks.add("flush at once and later", () -> {
            String k = Checks.key();
            c.set(k, 0, "a").get();
            Checks.equal(c.flush().get(), true);
            Checks.equal(c.get(k), null);
            c.set(k, 0, "b").get();
            Checks.equal(c.get(k), "b");
            Checks.equal(c.flush(2).get(), true);
            Checks.equal(c.get(k), "b");
            Thread.sleep(3200);
            Checks.equal(c.get(k), null);
        });
    }
}
