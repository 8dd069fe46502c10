import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import net.rubyeye.xmemcached.CASOperation;
import net.rubyeye.xmemcached.Counter;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.MemcachedClientBuilder;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.command.TextCommandFactory;
import net.rubyeye.xmemcached.transcoders.CachedData;
import net.rubyeye.xmemcached.transcoders.CompressionMode;
import net.rubyeye.xmemcached.transcoders.SerializingTranscoder;
import net.rubyeye.xmemcached.transcoders.StringTranscoder;
import net.rubyeye.xmemcached.transcoders.Transcoder;

/** xmemcached over the text protocol: its whole API. */
public final class XmemcachedApi {
    /** Bytes and flags as they are. */
    private static final class Raw implements Transcoder<CachedData> {
        public CachedData encode(CachedData data) {
            return data;
        }

        public CachedData decode(CachedData data) {
            return data;
        }

        public boolean isPrimitiveAsString() {
            return false;
        }

        public boolean isPackZeros() {
            return false;
        }

        public void setPrimitiveAsString(boolean wanted) {}

        public void setPackZeros(boolean wanted) {}

        public void setCompressionThreshold(int bytes) {}

        public void setCompressionMode(CompressionMode mode) {}
    }

    private static MemcachedClient connect(String host, int port, int pool) throws Exception {
        MemcachedClientBuilder builder = new XMemcachedClientBuilder(List.of(new InetSocketAddress(host, port)));
        builder.setCommandFactory(new TextCommandFactory());
        builder.setConnectionPoolSize(pool);
        builder.setOpTimeout(10_000);
        SerializingTranscoder plain = new SerializingTranscoder(1 << 24);
        plain.setCompressionThreshold(1 << 24);
        builder.setTranscoder(plain);
        return builder.build();
    }

    public static void main(String[] args) throws Exception {
        String host = args[0];
        int port = Integer.parseInt(args[1]);
        MemcachedClient c = connect(host, port, 1);
        Checks checks = new Checks();
        storage(checks, c);
        counting(checks, c);
        time(checks, c);
        bulk(checks, c, host, port);
        silent(checks, c);
        errors(checks, c);
        service(checks, c, new InetSocketAddress(host, port));
        checks.runAll();
    }

    private static void storage(Checks checks, MemcachedClient c) {
        checks.add("set and get", () -> {
            String k = Checks.key();
            Checks.equal(c.get(k), null);
            Checks.equal(c.set(k, 0, "value"), true);
            Checks.equal(c.get(k), "value");
            Checks.equal(c.get(k, new StringTranscoder()), "value");
        });
        checks.add("types travel in the flags", () -> {
            String k = Checks.key();
            for (Object value : new Object[] {"text ü", 42, 1L << 40, 1.5, true, new ArrayList<>(List.of(1, 2))}) {
                c.set(k, 0, value);
                Checks.equal(c.get(k), value);
            }
        });
        checks.add("flags come back and are replaced", () -> {
            String k = Checks.key();
            for (int flags : new int[] {1, 0, Integer.MAX_VALUE, 7}) {
                Checks.equal(c.set(k, 0, new CachedData(flags, new byte[] {1}), new Raw()), true);
                Checks.equal(c.get(k, new Raw()).getFlag(), flags);
            }
        });
        checks.add("add and replace", () -> {
            String k = Checks.key();
            Checks.equal(c.replace(k, 0, "a"), false);
            Checks.equal(c.add(k, 0, "b"), true);
            Checks.equal(c.add(k, 0, "c"), false);
            Checks.equal(c.replace(k, 0, "d"), true);
            Checks.equal(c.get(k), "d");
        });
        checks.add("append and prepend", () -> {
            String k = Checks.key();
            Checks.equal(c.append(k, "x"), false);
            Checks.equal(c.prepend(k, "x"), false);
            c.set(k, 0, "b");
            Checks.equal(c.append(k, "c"), true);
            Checks.equal(c.prepend(k, "a"), true);
            Checks.equal(c.get(k), "abc");
        });
        checks.add("gets and cas", () -> {
            String k = Checks.key();
            Checks.equal(c.gets(k), null);
            Checks.equal(c.cas(k, 0, "x", 1), false);
            c.set(k, 0, "a");
            GetsResponse<String> got = c.gets(k);
            Checks.equal(got.getValue(), "a");
            Checks.equal(c.cas(k, 0, "b", got.getCas()), true);
            Checks.equal(c.cas(k, 0, "c", got.getCas()), false);
            Checks.equal(c.get(k), "b");
        });
        checks.add("cas operation", () -> {
            String k = Checks.key();
            c.set(k, 0, 0);
            for (int n = 0; n < 20; n++) {
                Checks.equal(c.cas(k, 0, new CASOperation<Integer>() {
                    public int getMaxTries() {
                        return 5;
                    }

                    public Integer getNewValue(long unique, Integer old) {
                        return old + 1;
                    }
                }), true);
            }
            Checks.equal(c.get(k), 20);
        });
        checks.add("delete", () -> {
            String k = Checks.key();
            c.set(k, 0, "a");
            Checks.equal(c.delete(k), true);
            Checks.equal(c.delete(k), false);
            Checks.equal(c.get(k), null);
        });
    }

    private static void counting(Checks checks, MemcachedClient c) {
        checks.add("incr and decr with wrap and floor", () -> {
            String k = Checks.key();
            c.set(k, 0, "10");
            Checks.equal(c.incr(k, 5), 15L);
            Checks.equal(c.decr(k, 6), 9L);
            Checks.equal(c.decr(k, 100), 0L);
            c.set(k, 0, "18446744073709551615");
            Checks.equal(c.incr(k, 1), 0L);
        });
        checks.add("incr and decr with a default", () -> {
            String k = Checks.key();
            Checks.equal(c.incr(k, 5, 100), 100L);
            Checks.equal(c.incr(k, 5, 100), 105L);
            Checks.equal(c.decr(k, 5, 100), 100L);
        });
        checks.add("counter", () -> {
            Counter counter = c.getCounter(Checks.key(), 7);
            Checks.equal(counter.get(), 7L);
            Checks.equal(counter.incrementAndGet(), 8L);
            Checks.equal(counter.addAndGet(10), 18L);
            Checks.equal(counter.decrementAndGet(), 17L);
            counter.set(1);
            Checks.equal(counter.get(), 1L);
        });
        checks.add("incr of text is an error and the connection goes on", () -> {
            String k = Checks.key();
            c.set(k, 0, "text");
            Checks.refused("incr of text", () -> c.incr(k, 1));
            Checks.equal(c.get(k), "text");
        });
    }

    private static void time(Checks checks, MemcachedClient c) {
        checks.add("touch and expiry", () -> {
            String shortLived = Checks.key();
            String touched = Checks.key();
            String late = Checks.key();
            c.set(shortLived, 3, "a");
            c.set(touched, 3, "a");
            c.set(late, (int) (System.currentTimeMillis() / 1000) + 100, "a");
            Checks.equal(c.touch(touched, 100), true);
            Checks.equal(c.touch(Checks.key(), 100), false);
            Checks.equal(c.get(shortLived), "a");
            Thread.sleep(4200);
            Checks.equal(c.get(shortLived), null);
            Checks.equal(c.get(touched), "a");
            Checks.equal(c.get(late), "a");
        });
    }

    private static void bulk(Checks checks, MemcachedClient c, String host, int port) {
        checks.add("get and gets of five thousand keys", () -> {
            Map<String, Object> values = new HashMap<>();
            String prefix = Checks.key();
            for (int n = 0; n < 5000; n++) {
                values.put(prefix + "-" + n, "value " + n);
                c.setWithNoReply(prefix + "-" + n, 0, "value " + n);
            }
            List<String> keys = new ArrayList<>(values.keySet());
            Checks.equal(c.get(keys), values);
            Map<String, GetsResponse<Object>> got = c.gets(keys);
            HashSet<Long> uniques = new HashSet<>();
            got.forEach((k, response) -> {
                Checks.equal(response.getValue(), values.get(k));
                uniques.add(response.getCas());
            });
            Checks.equal(uniques.size(), 5000);
        });
        checks.add("binary, empty and large values", () -> {
            String k = Checks.key();
            for (int length : new int[] {0, 1, 2048, 65_535, 65_537, 1_000_000}) {
                byte[] bytes = Checks.random(length);
                Checks.equal(c.set(k, 0, bytes), true);
                Checks.same(c.get(k), bytes);
            }
        });
        checks.add("large multi set over a pool from many threads", () -> {
            MemcachedClient pooled = connect(host, port, 5);
            ExecutorService threads = Executors.newFixedThreadPool(16);
            List<Future<?>> all = new ArrayList<>();
            for (int n = 0; n < 400; n++) {
                String k = Checks.key();
                byte[] bytes = Checks.random(20_000 + n);
                all.add(threads.submit(() -> {
                    Checks.equal(pooled.set(k, 0, bytes), true);
                    Checks.same(pooled.get(k), bytes);
                    return null;
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            threads.shutdown();
            pooled.shutdown();
        });
    }

    private static void silent(Checks checks, MemcachedClient c) {
        checks.add("noreply for every command keeps the order", () -> {
            String k = Checks.key();
            c.setWithNoReply(k, 0, "1");
            c.addWithNoReply(k, 0, "9");
            c.replaceWithNoReply(k, 0, "2");
            c.appendWithNoReply(k, "0");
            c.prependWithNoReply(k, "1");
            c.incrWithNoReply(k, 5);
            c.decrWithNoReply(k, 1);
            Checks.equal(c.get(k), "124");
            c.deleteWithNoReply(k);
            c.deleteWithNoReply(k);
            Checks.equal(c.get(k), null);
            for (int n = 0; n < 500; n++) {
                c.setWithNoReply(k, 0, n);
            }
            Checks.equal(c.get(k), 499);
        });
    }

    private static void errors(Checks checks, MemcachedClient c) {
        checks.add("too large is refused and the connection goes on", () -> {
            String k = Checks.key();
            c.set(k, 0, "old");
            Checks.refused("a value of 2 MiB", () -> c.set(k, 0, Checks.random(1 << 21)));
            Checks.equal(c.get(k), null);
            Checks.equal(c.set(k, 0, "new"), true);
            Checks.equal(c.get(k), "new");
        });
        checks.add("keys of 250 bytes", () -> {
            String k = "x".repeat(250);
            Checks.equal(c.set(k, 0, "a"), true);
            Checks.equal(c.get(k), "a");
            Checks.equal(c.delete(k), true);
            Checks.refused("a key of 251 bytes", () -> c.set(k + "x", 0, "a"));
        });
    }

    private static void service(Checks checks, MemcachedClient c, InetSocketAddress address) {
        checks.add("versions, stats and verbosity", () -> {
            Checks.equal(c.getVersions().get(address).matches("\\d+\\.\\d+\\.\\d+"), true);
            Map<String, String> stats = c.getStats().get(address);
            for (String name : List.of("pid", "uptime", "curr_items", "cmd_get", "limit_maxbytes")) {
                Checks.equal(stats.containsKey(name), true);
            }
            c.getStatsByItem("items");
            c.getStatsByItem("slabs");
            Checks.equal(c.stats(address).containsKey("cmd_set"), true);
            c.setLoggingLevelVerbosity(address, 0);
            c.setLoggingLevelVerbosityWithNoReply(address, 0);
            Checks.equal(c.get(Checks.key()), null);
        });
        checks.add("flush, with noreply too", () -> {
            String k = Checks.key();
            c.set(k, 0, "a");
            c.flushAll();
            Checks.equal(c.get(k), null);
            c.set(k, 0, "b");
            Checks.equal(c.get(k), "b");
            c.flushAllWithNoReply();
            Checks.equal(c.get(k), null);
            // Its flush with a delay sends nothing and hangs up by itself, so that is left out.
        });
    }
}
