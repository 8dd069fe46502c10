import io.lettuce.core.BitFieldArgs;
import io.lettuce.core.ExpireArgs;
import io.lettuce.core.GetExArgs;
import io.lettuce.core.KeyScanArgs;
import io.lettuce.core.KeyValue;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.SetArgs;
import io.lettuce.core.SslOptions;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** lettuce: its commands on strings, keys and hashes. */
public final class LettuceApi {
    private static final byte[] LARGE = Checks.noise((1 << 20) - 512);
    private static String host;
    private static int port;

    private static RedisClient client(String password) {
        RedisURI.Builder uri = RedisURI.builder().withHost(host).withPort(port);
        if (password != null && Checks.USERNAME != null) {
            uri.withAuthentication(Checks.USERNAME, password.toCharArray());
        } else if (password != null) {
            uri.withPassword(password.toCharArray());
        }
        uri.withSsl(Checks.CA_FILE != null);
        RedisClient client = RedisClient.create(uri.build());
        if (Checks.CA_FILE != null) {
            SslOptions ssl = SslOptions.builder().jdkSslProvider().trustManager(Checks.CA_FILE).build();
            client.setOptions(ClientOptions.builder().sslOptions(ssl).build());
        }
        return client;
    }

    private record Word(String name) implements ProtocolKeyword {
        public byte[] getBytes() {
            return name.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    public static void main(String[] args) throws Exception {
        host = args[1];
        port = Integer.parseInt(args[2]);
        RedisClient client = client(Checks.PASSWORD);
        StatefulRedisConnection<String, String> connection = client.connect();
        Checks checks = new Checks(args[0]);
        strings(checks, connection.sync());
        keys(checks, connection.sync());
        bits(checks, connection.sync());
        hashes(checks, connection.sync());
        others(checks, connection, client);
        modes(checks, connection.sync(), client);
        checks.runAll();
    }

    private static void strings(Checks checks, RedisCommands<String, String> c) {
        checks.api("SET stores and replaces", () -> {
            String k = Checks.key();
            Checks.equal(c.get(k), null);
            Checks.equal(c.set(k, "a"), "OK");
            Checks.equal(c.set(k, "b"), "OK");
            Checks.equal(c.get(k), "b");
        });
        checks.api("SET nx and xx", () -> {
            String k = Checks.key();
            Checks.equal(c.set(k, "a", SetArgs.Builder.xx()), null);
            Checks.equal(c.set(k, "a", SetArgs.Builder.nx()), "OK");
            Checks.equal(c.set(k, "b", SetArgs.Builder.nx()), null);
            Checks.equal(c.set(k, "c", SetArgs.Builder.xx()), "OK");
        });
        checks.api("SET ex px exat and pxat", () -> {
            String k = Checks.key();
            long at = Checks.now() + 300;
            c.set(k, "a", SetArgs.Builder.ex(100));
            Checks.near(c.ttl(k), 100);
            c.set(k, "a", SetArgs.Builder.px(200_000));
            Checks.near(c.ttl(k), 200);
            c.set(k, "a", SetArgs.Builder.exAt(at));
            Checks.equal(c.expiretime(k), at);
            c.set(k, "a", SetArgs.Builder.pxAt(at * 1000));
            Checks.equal(c.pexpiretime(k), at * 1000);
        });
        checks.api("SET keepttl and get", () -> {
            String k = Checks.key();
            c.set(k, "a", SetArgs.Builder.ex(100));
            Checks.equal(c.setGet(k, "b", SetArgs.Builder.keepttl()), "a");
            Checks.near(c.ttl(k), 100);
        });
        checks.api("SET expires", () -> {
            String k = Checks.key();
            c.set(k, "a", SetArgs.Builder.ex(1));
            Checks.equal(c.get(k), "a");
            Thread.sleep(2200);
            Checks.equal(c.get(k), null);
        });
        checks.api("SETNX stores only what is absent", () -> {
            String k = Checks.key();
            Checks.equal(c.setnx(k, "a"), true);
            Checks.equal(c.setnx(k, "b"), false);
        });
        checks.api("SETEX stores with an expiry", () -> {
            String k = Checks.key();
            Checks.equal(c.setex(k, 100, "a"), "OK");
            Checks.near(c.ttl(k), 100);
        });
        checks.api("PSETEX stores with an expiry in milliseconds", () -> {
            String k = Checks.key();
            Checks.equal(c.psetex(k, 100_000, "a"), "OK");
            Checks.near(c.ttl(k), 100);
        });
        checks.api("GETEX reads and changes the expiry", () -> {
            String k = Checks.key();
            Checks.equal(c.getex(k, GetExArgs.Builder.ex(10)), null);
            c.set(k, "a");
            Checks.equal(c.getex(k, GetExArgs.Builder.ex(100)), "a");
            Checks.near(c.ttl(k), 100);
            Checks.equal(c.getex(k, GetExArgs.Builder.persist()), "a");
            Checks.equal(c.ttl(k), -1);
        });
        checks.api("GETDEL reads and deletes", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.getdel(k), "a");
            Checks.equal(c.getdel(k), null);
        });
        checks.api("GETSET replaces and returns", () -> {
            String k = Checks.key();
            Checks.equal(c.getset(k, "a"), null);
            Checks.equal(c.getset(k, "b"), "a");
        });
        checks.api("MSET stores all", () -> {
            Map<String, String> values = new HashMap<>();
            for (int n = 0; n < 500; n++) {
                values.put(Checks.key(), "" + n);
            }
            Checks.equal(c.mset(values), "OK");
            for (KeyValue<String, String> pair : c.mget(values.keySet().toArray(new String[0]))) {
                Checks.equal(pair.getValue(), values.get(pair.getKey()));
            }
        });
        checks.api("MGET reads all with holes", () -> {
            String a = Checks.key(), h = Checks.key();
            c.set(a, "1");
            c.hset(h, "f", "v");
            List<KeyValue<String, String>> got = c.mget(a, Checks.key(), h);
            Checks.equal(got.get(0).getValue(), "1");
            Checks.equal(got.get(1).hasValue() || got.get(2).hasValue(), false);
        });
        checks.api("MSETNX stores all or none", () -> {
            String k = Checks.key();
            Checks.equal(c.msetnx(Map.of(k, "1", Checks.key(), "2")), true);
            Checks.equal(c.msetnx(Map.of(k, "1", Checks.key(), "2")), false);
        });
        checks.api("APPEND appends and creates", () -> {
            String k = Checks.key();
            Checks.equal(c.append(k, "ab"), 2);
            Checks.equal(c.append(k, "cd"), 4);
            Checks.equal(c.get(k), "abcd");
        });
        checks.api("STRLEN counts bytes", () -> {
            String k = Checks.key();
            c.set(k, "héllo");
            Checks.equal(c.strlen(k), 6);
        });
        checks.api("GETRANGE reads a part", () -> {
            String k = Checks.key();
            c.set(k, "This is a string");
            Checks.equal(c.getrange(k, 0, 3), "This");
            Checks.equal(c.getrange(k, -3, -1), "ing");
        });
        checks.api("SETRANGE writes a part", () -> {
            String k = Checks.key();
            c.set(k, "Hello World");
            Checks.equal(c.setrange(k, 6, "Redis"), 11);
            Checks.equal(c.get(k), "Hello Redis");
        });
        checks.api("INCR counts up", () -> {
            String k = Checks.key();
            Checks.equal(c.incr(k), 1);
            c.set(k, "9223372036854775807");
            Checks.refused("increment or decrement would overflow", () -> c.incr(k));
        });
        checks.api("INCRBY adds", () -> Checks.equal(c.incrby(Checks.key(), -40), -40));
        checks.api("INCRBYFLOAT adds fractions", () -> {
            String k = Checks.key();
            Checks.equal(c.incrbyfloat(k, 10.5), 10.5);
            Checks.equal(c.incrbyfloat(k, 0.1), 10.6);
        });
        checks.api("DECR counts down", () -> Checks.equal(c.decr(Checks.key()), -1));
        checks.api("DECRBY subtracts", () -> Checks.equal(c.decrby(Checks.key(), 7), -7));
    }

    private static void keys(Checks checks, RedisCommands<String, String> c) {
        checks.api("DEL deletes and counts", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.del(k, Checks.key()), 1);
        });
        checks.api("UNLINK deletes too", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.unlink(k, Checks.key()), 1);
        });
        checks.api("EXISTS counts repeats", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.exists(k, k, Checks.key()), 2);
        });
        checks.api("EXPIRE nx xx gt and lt", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.expire(k, 100, ExpireArgs.Builder.xx()), false);
            Checks.equal(c.expire(k, 100, ExpireArgs.Builder.nx()), true);
            Checks.equal(c.expire(k, 50, ExpireArgs.Builder.gt()), false);
            Checks.equal(c.expire(k, 60, ExpireArgs.Builder.lt()), true);
            Checks.near(c.ttl(k), 60);
        });
        checks.api("PEXPIRE takes milliseconds", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.pexpire(k, 100_000), true);
            Checks.near(c.ttl(k), 100);
        });
        checks.api("EXPIREAT takes a moment", () -> {
            String k = Checks.key();
            long at = Checks.now() + 100;
            c.set(k, "a");
            Checks.equal(c.expireat(k, at), true);
            Checks.equal(c.expiretime(k), at);
        });
        checks.api("PEXPIREAT takes a moment in milliseconds", () -> {
            String k = Checks.key();
            long at = Checks.now() + 100;
            c.set(k, "a");
            Checks.equal(c.pexpireat(k, at * 1000), true);
            Checks.equal(c.pexpiretime(k), at * 1000);
        });
        checks.api("TTL tells absent from unlimited", () -> {
            String k = Checks.key();
            Checks.equal(c.ttl(k), -2);
            c.set(k, "a");
            Checks.equal(c.ttl(k), -1);
        });
        checks.api("PTTL counts milliseconds", () -> {
            String k = Checks.key();
            c.setex(k, 10, "a");
            long left = c.pttl(k);
            Checks.equal(left >= 8000 && left <= 11000, true);
        });
        checks.api("PERSIST removes the expiry", () -> {
            String k = Checks.key();
            c.setex(k, 10, "a");
            Checks.equal(c.persist(k), true);
            Checks.equal(c.ttl(k), -1);
        });
        checks.api("TOUCH counts what is there", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.touch(k, Checks.key()), 1);
        });
        checks.api("TYPE names strings and hashes", () -> {
            String s = Checks.key(), h = Checks.key();
            c.set(s, "a");
            c.hset(h, "f", "v");
            Checks.equal(List.of(c.type(s), c.type(h), c.type(Checks.key())), List.of("string", "hash", "none"));
        });
        checks.api("RENAME moves a value", () -> {
            String a = Checks.key(), b = Checks.key();
            c.set(a, "1");
            Checks.equal(c.rename(a, b), "OK");
            Checks.equal(c.get(b), "1");
        });
        checks.api("COPY copies a value", () -> {
            String a = Checks.key(), b = Checks.key();
            c.set(a, "1");
            Checks.equal(c.copy(a, b), true);
            Checks.equal(c.get(b), "1");
        });
        checks.api("SCAN iterates with match, count and type", () -> {
            String prefix = Checks.key();
            Map<String, String> values = new HashMap<>();
            for (int n = 0; n < 1000; n++) {
                values.put(prefix + ":" + n, "a");
            }
            c.mset(values);
            c.hset(prefix + ":h", "f", "v");
            Set<String> found = new HashSet<>();
            ScanIterator.scan(c, ScanArgs.Builder.limit(100).match(prefix + ":*")).forEachRemaining(found::add);
            Checks.equal(found.size(), 1001);
            Set<String> hashes = new HashSet<>();
            ScanIterator.scan(c, KeyScanArgs.Builder.type("hash").match(prefix + ":*")).forEachRemaining(hashes::add);
            Checks.equal(hashes, Set.of(prefix + ":h"));
        });
        checks.api("KEYS matches patterns", () -> {
            String prefix = Checks.key();
            c.mset(Map.of(prefix + ":one", "1", prefix + ":two", "2"));
            Checks.equal(c.keys(prefix + ":t[a-z]?"), List.of(prefix + ":two"));
        });
        checks.api("RANDOMKEY gives some key", () -> {
            c.set(Checks.key(), "a");
            Checks.equal(c.exists(c.randomkey()), 1);
        });
        checks.api("DBSIZE counts keys", () -> {
            long before = c.dbsize();
            c.set(Checks.key(), "a");
            Checks.equal(c.dbsize(), before + 1);
        });
    }

    private static void bits(Checks checks, RedisCommands<String, String> c) {
        checks.api("SETBIT sets and returns the old bit", () -> {
            String k = Checks.key();
            Checks.equal(c.setbit(k, 7, 1), 0);
            Checks.equal(c.setbit(k, 7, 0), 1);
        });
        checks.api("GETBIT reads a bit", () -> {
            String k = Checks.key();
            c.setbit(k, 7, 1);
            Checks.equal(c.getbit(k, 7), 1);
            Checks.equal(c.getbit(k, 100), 0);
        });
        checks.api("BITCOUNT counts in ranges", () -> {
            String k = Checks.key();
            c.set(k, "foobar");
            Checks.equal(c.bitcount(k), 26);
            Checks.equal(c.bitcount(k, 1, 1), 6);
        });
        checks.api("BITPOS finds the first", () -> {
            String k = Checks.key();
            c.setbit(k, 12, 1);
            Checks.equal(c.bitpos(k, true), 12);
            Checks.equal(c.bitpos(k, false), 0);
        });
        checks.api("BITFIELD gets sets and adds", () -> {
            BitFieldArgs fields = BitFieldArgs.Builder.set(BitFieldArgs.unsigned(8), BitFieldArgs.typeWidthBasedOffset(1), 255)
                .overflow(BitFieldArgs.OverflowType.FAIL).incrBy(BitFieldArgs.unsigned(8), BitFieldArgs.typeWidthBasedOffset(1), 1)
                .get(BitFieldArgs.unsigned(8), BitFieldArgs.typeWidthBasedOffset(1));
            Checks.equal(String.valueOf(c.bitfield(Checks.key(), fields)), "[0, null, 255]");
        });
    }

    private static void hashes(Checks checks, RedisCommands<String, String> c) {
        checks.api("HSET adds and replaces fields", () -> {
            String k = Checks.key();
            Checks.equal(c.hset(k, "a", "1"), true);
            Checks.equal(c.hset(k, Map.of("a", "5", "b", "3", "c", "4")), 2);
            Checks.equal(c.hgetall(k), Map.of("a", "5", "b", "3", "c", "4"));
        });
        checks.api("HSETNX adds only an absent field", () -> {
            String k = Checks.key();
            Checks.equal(c.hsetnx(k, "a", "1"), true);
            Checks.equal(c.hsetnx(k, "a", "2"), false);
        });
        checks.api("HGET reads a field", () -> {
            String k = Checks.key();
            c.hset(k, "a", "1");
            Checks.equal(c.hget(k, "a"), "1");
            Checks.equal(c.hget(k, "b"), null);
        });
        checks.api("HMSET adds fields under its old name", () -> Checks.equal(c.hmset(Checks.key(), Map.of("a", "1")), "OK"));
        checks.api("HMGET reads fields with holes", () -> {
            String k = Checks.key();
            c.hset(k, "a", "1");
            List<KeyValue<String, String>> got = c.hmget(k, "a", "x");
            Checks.equal(got.get(0).getValue(), "1");
            Checks.equal(got.get(1).hasValue(), false);
        });
        checks.api("HGETALL reads large hashes", () -> {
            String k = Checks.key();
            Map<String, String> fields = new HashMap<>();
            for (int n = 0; n < 2000; n++) {
                fields.put("field " + n, "" + n);
            }
            Checks.equal(c.hset(k, fields), 2000);
            Checks.equal(c.hgetall(k), fields);
        });
        checks.api("HDEL removes fields and then the key", () -> {
            String k = Checks.key();
            c.hset(k, Map.of("a", "1", "b", "2"));
            Checks.equal(c.hdel(k, "a", "b", "x"), 2);
            Checks.equal(c.exists(k), 0);
        });
        checks.api("HLEN counts fields", () -> {
            String k = Checks.key();
            c.hset(k, Map.of("a", "1", "b", "2"));
            Checks.equal(c.hlen(k), 2);
        });
        checks.api("HEXISTS looks for a field", () -> {
            String k = Checks.key();
            c.hset(k, "a", "1");
            Checks.equal(c.hexists(k, "a"), true);
            Checks.equal(c.hexists(k, "b"), false);
        });
        checks.api("HKEYS lists fields", () -> {
            String k = Checks.key();
            c.hset(k, Map.of("a", "1", "b", "2"));
            Checks.equal(new HashSet<>(c.hkeys(k)), Set.of("a", "b"));
        });
        checks.api("HVALS lists values", () -> {
            String k = Checks.key();
            c.hset(k, Map.of("a", "1", "b", "2"));
            Checks.equal(new HashSet<>(c.hvals(k)), Set.of("1", "2"));
        });
        checks.api("HINCRBY adds to a field", () -> Checks.equal(c.hincrby(Checks.key(), "a", -7), -7));
        checks.api("HINCRBYFLOAT adds fractions to a field", () -> Checks.equal(c.hincrbyfloat(Checks.key(), "a", 1.5), 1.5));
        checks.api("HSTRLEN counts bytes of a field", () -> {
            String k = Checks.key();
            c.hset(k, "a", "hello");
            Checks.equal(c.hstrlen(k, "a"), 5);
        });
        checks.api("HSCAN iterates over fields", () -> {
            String k = Checks.key();
            Map<String, String> fields = new HashMap<>();
            for (int n = 0; n < 1000; n++) {
                fields.put("f" + n, "" + n);
            }
            c.hset(k, fields);
            Map<String, String> got = new HashMap<>();
            ScanIterator.hscan(c, k, ScanArgs.Builder.limit(50)).forEachRemaining(pair -> got.put(pair.getKey(), pair.getValue()));
            Checks.equal(got, fields);
        });
        checks.api("HRANDFIELD gives some fields", () -> {
            String k = Checks.key();
            c.hset(k, Map.of("a", "1", "b", "2"));
            Checks.equal(c.hrandfield(k, -7).size(), 7);
            Checks.equal(c.hrandfieldWithvalues(k, 5).size(), 2);
        });
    }

    private static void others(Checks checks, StatefulRedisConnection<String, String> connection, RedisClient client) {
        RedisCommands<String, String> c = connection.sync();
        checks.api("pipeline many commands in one write", () -> {
            String k = Checks.key();
            StatefulRedisConnection<String, String> own = client.connect();
            RedisAsyncCommands<String, String> later = own.async();
            own.setAutoFlushCommands(false);
            List<RedisFuture<?>> replies = new ArrayList<>();
            for (int n = 0; n < 1000; n++) {
                replies.add(later.incr(k));
            }
            own.flushCommands();
            Checks.equal(LettuceFutures.awaitAll(20, TimeUnit.SECONDS, replies.toArray(new RedisFuture<?>[0])), true);
            Checks.equal(replies.get(999).get(), 1000);
            own.close();
        });
        checks.api("MULTI runs a transaction", () -> {
            c.multi();
            c.set(Checks.key(), "1");
            Checks.equal(c.exec().get(0), "OK");
        });
        checks.api("binary keys, values and fields of any bytes", () -> {
            StatefulRedisConnection<byte[], byte[]> own = client.connect(ByteArrayCodec.INSTANCE);
            RedisCommands<byte[], byte[]> bytes = own.sync();
            byte[] all = Checks.allBytes();
            bytes.set(all, all);
            Checks.same(bytes.get(all), all);
            byte[] h = Checks.key().getBytes(StandardCharsets.UTF_8);
            bytes.hset(h, all, all);
            Checks.same(bytes.hget(h, all), all);
            own.close();
        });
        checks.api("large values of a mebibyte less a little", () -> {
            StatefulRedisConnection<byte[], byte[]> own = client.connect(ByteArrayCodec.INSTANCE);
            byte[] k = Checks.key().getBytes(StandardCharsets.UTF_8);
            own.sync().set(k, LARGE);
            Checks.same(own.sync().get(k), LARGE);
            own.close();
        });
        checks.api("errors wrong types", () -> {
            String s = Checks.key(), h = Checks.key();
            c.set(s, "a");
            c.hset(h, "f", "v");
            Checks.refused("WRONGTYPE " + Checks.WRONG_TYPE, () -> c.get(h));
            Checks.refused(Checks.WRONG_TYPE, () -> c.incr(h));
            Checks.refused(Checks.WRONG_TYPE, () -> c.hgetall(s));
        });
        checks.api("errors no integers", () -> {
            String k = Checks.key();
            c.set(k, "text");
            Checks.refused("ERR value is not an integer or out of range", () -> c.incr(k));
            Checks.refused("ERR value is not a valid float", () -> c.incrbyfloat(k, 1.5));
        });
        checks.api("errors unknown commands", () -> {
            Checks.refused("ERR unknown command 'BOGUS', with args beginning with: 'a'", () ->
                c.dispatch(new Word("BOGUS"), new StatusOutput<>(StringCodec.UTF8), new CommandArgs<>(StringCodec.UTF8).add("a")));
            Checks.equal(c.ping(), "PONG");
        });
        checks.api("CLIENT names and numbers", () -> {
            Checks.equal(c.clientSetname("a-name"), "OK");
            Checks.equal(c.clientGetname(), "a-name");
            Checks.equal(c.clientId() > 0, true);
        });
        checks.api("ECHO echoes", () -> Checks.equal(c.echo("hello"), "hello"));
        checks.api("INFO reports", () -> Checks.equal(c.info().contains("redis_mode:standalone"), true));
        checks.api("CONFIG gets settings", () -> Checks.equal(c.configGet("appendonly").keySet(), Set.of("appendonly")));
        checks.api("COMMAND describes commands", () -> Checks.equal(c.commandCount() > 50, true));
        checks.api("pool of many connections on threads", () -> {
            List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
            List<Thread> threads = new ArrayList<>();
            for (int n = 0; n < 50; n++) {
                Thread thread = new Thread(() -> {
                    try (StatefulRedisConnection<String, String> own = client.connect()) {
                        for (int i = 0; i < 40; i++) {
                            String k = Checks.key();
                            own.sync().set(k, k);
                            Checks.equal(own.sync().get(k), k);
                        }
                    } catch (Throwable error) {
                        wrong.add(error);
                    }
                });
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            Checks.equal(wrong.toString(), "[]");
        });
        checks.api("FLUSHDB removes all", () -> {
            c.set(Checks.key(), "a");
            Checks.equal(c.flushdb(), "OK");
            Checks.equal(c.dbsize(), 0);
        });
    }

    private static void modes(Checks checks, RedisCommands<String, String> c, RedisClient client) {
        checks.session("connects and works", () -> {
            String k = Checks.key();
            Checks.equal(c.set(k, "a".repeat(1_000_000)), "OK");
            Checks.equal(c.get(k), "a".repeat(1_000_000));
        });
        checks.session("connects but not with a wrong password", () -> {
            if (Checks.PASSWORD != null) {
                Checks.refused("invalid username-password pair", () -> client("wrong").connect());
            }
        });
        checks.restart("restart values are still there", () -> {
            String k = Checks.key();
            for (int n = 0; n < 300; n++) {
                c.set(k + n, "value " + n);
            }
            c.hset(k, "a", "1");
            Checks.restartServer();
            Checks.eventually(c::ping);
            for (int n = 0; n < 300; n++) {
                Checks.equal(c.get(k + n), "value " + n);
            }
            Checks.equal(c.hgetall(k), Map.of("a", "1"));
        });
    }
}
