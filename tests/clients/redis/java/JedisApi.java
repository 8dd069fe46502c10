import java.io.FileInputStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.args.BitCountOption;
import redis.clients.jedis.args.ExpiryOption;
import redis.clients.jedis.params.GetExParams;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.resps.ScanResult;

/** Jedis: its commands on strings, keys and hashes. */
public final class JedisApi {
    private static final byte[] LARGE = Checks.noise((1 << 20) - 512);
    private static String host;
    private static int port;

    private static DefaultJedisClientConfig config(String password, RedisProtocol protocol) throws Exception {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder();
        if (protocol != null) {
            config.protocol(protocol);
        }
        if (password != null) {
            config.user(Checks.USERNAME).password(password);
        }
        if (Checks.CA_FILE != null) {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null);
            try (FileInputStream file = new FileInputStream(Checks.CA_FILE)) {
                trusted.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(file));
            }
            TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            managers.init(trusted);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, managers.getTrustManagers(), null);
            config.ssl(true).sslSocketFactory(context.getSocketFactory());
        }
        return config.build();
    }

    private static RedisClient client(String password, RedisProtocol protocol, int connections) throws Exception {
        GenericObjectPoolConfig<Connection> pool = new GenericObjectPoolConfig<>();
        pool.setMaxTotal(connections);
        return RedisClient.builder().hostAndPort(host, port).clientConfig(config(password, protocol)).poolConfig(pool).build();
    }

    public static void main(String[] args) throws Exception {
        host = args[1];
        port = Integer.parseInt(args[2]);
        RedisClient c = client(Checks.PASSWORD, null, 8);
        Checks checks = new Checks(args[0]);
        strings(checks, c);
        keys(checks, c);
        bits(checks, c);
        hashes(checks, c);
        others(checks, c);
        modes(checks, c);
        checks.runAll();
    }

    private static void strings(Checks checks, RedisClient c) {
        checks.api("SET stores and replaces", () -> {
            String k = Checks.key();
            Checks.equal(c.get(k), null);
            Checks.equal(c.set(k, "a"), "OK");
            Checks.equal(c.set(k, "b"), "OK");
            Checks.equal(c.get(k), "b");
        });
        checks.api("SET nx and xx", () -> {
            String k = Checks.key();
            Checks.equal(c.set(k, "a", SetParams.setParams().xx()), null);
            Checks.equal(c.set(k, "a", SetParams.setParams().nx()), "OK");
            Checks.equal(c.set(k, "b", SetParams.setParams().nx()), null);
            Checks.equal(c.set(k, "c", SetParams.setParams().xx()), "OK");
        });
        checks.api("SET ex px exat and pxat", () -> {
            String k = Checks.key();
            long at = Checks.now() + 300;
            c.set(k, "a", SetParams.setParams().ex(100));
            Checks.near(c.ttl(k), 100);
            c.set(k, "a", SetParams.setParams().px(200_000));
            Checks.near(c.ttl(k), 200);
            c.set(k, "a", SetParams.setParams().exAt(at));
            Checks.equal(c.expireTime(k), at);
            c.set(k, "a", SetParams.setParams().pxAt(at * 1000));
            Checks.equal(c.pexpireTime(k), at * 1000);
        });
        checks.api("SET keepttl and get", () -> {
            String k = Checks.key();
            c.set(k, "a", SetParams.setParams().ex(100));
            Checks.equal(c.setGet(k, "b", SetParams.setParams().keepTtl()), "a");
            Checks.near(c.ttl(k), 100);
        });
        checks.api("SET expires", () -> {
            String k = Checks.key();
            c.set(k, "a", SetParams.setParams().ex(1));
            Checks.equal(c.get(k), "a");
            Thread.sleep(2200);
            Checks.equal(c.get(k), null);
        });
        checks.api("SETNX stores only what is absent", () -> {
            String k = Checks.key();
            Checks.equal(c.setnx(k, "a"), 1);
            Checks.equal(c.setnx(k, "b"), 0);
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
            Checks.equal(c.getEx(k, GetExParams.getExParams().ex(10)), null);
            c.set(k, "a");
            Checks.equal(c.getEx(k, GetExParams.getExParams().ex(100)), "a");
            Checks.near(c.ttl(k), 100);
            Checks.equal(c.getEx(k, GetExParams.getExParams().persist()), "a");
            Checks.equal(c.ttl(k), -1);
        });
        checks.api("GETDEL reads and deletes", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.getDel(k), "a");
            Checks.equal(c.getDel(k), null);
        });
        checks.api("GETSET replaces and returns", () -> {
            String k = Checks.key();
            Checks.equal(c.getSet(k, "a"), null);
            Checks.equal(c.getSet(k, "b"), "a");
        });
        checks.api("MSET stores all", () -> {
            List<String> words = new ArrayList<>(), names = new ArrayList<>(), values = new ArrayList<>();
            for (int n = 0; n < 500; n++) {
                names.add(Checks.key());
                values.add("" + n);
                words.addAll(List.of(names.get(n), "" + n));
            }
            Checks.equal(c.mset(words.toArray(new String[0])), "OK");
            Checks.equal(c.mget(names.toArray(new String[0])), values);
        });
        checks.api("MGET reads all with holes", () -> {
            String a = Checks.key(), h = Checks.key();
            c.set(a, "1");
            c.hset(h, "f", "v");
            Checks.equal(c.mget(a, Checks.key(), h).toString(), "[1, null, null]");
        });
        checks.api("MSETNX stores all or none", () -> {
            String k = Checks.key();
            Checks.equal(c.msetnx(k, "1", Checks.key(), "2"), 1);
            Checks.equal(c.msetnx(k, "1", Checks.key(), "2"), 0);
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
        checks.api("SUBSTR reads a part under its old name", () -> {
            String k = Checks.key();
            c.set(k, "This is a string");
            Checks.equal(c.substr(k, 0, 3), "This");
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
        checks.api("INCRBY adds", () -> Checks.equal(c.incrBy(Checks.key(), -40), -40));
        checks.api("INCRBYFLOAT adds fractions", () -> {
            String k = Checks.key();
            Checks.equal(c.incrByFloat(k, 10.5), 10.5);
            Checks.equal(c.incrByFloat(k, 0.1), 10.6);
        });
        checks.api("DECR counts down", () -> Checks.equal(c.decr(Checks.key()), -1));
        checks.api("DECRBY subtracts", () -> Checks.equal(c.decrBy(Checks.key(), 7), -7));
    }

    private static void keys(Checks checks, RedisClient c) {
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
            Checks.equal(c.exists(k), true);
        });
        checks.api("EXPIRE nx xx gt and lt", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.expire(k, 100, ExpiryOption.XX), 0);
            Checks.equal(c.expire(k, 100, ExpiryOption.NX), 1);
            Checks.equal(c.expire(k, 50, ExpiryOption.GT), 0);
            Checks.equal(c.expire(k, 60, ExpiryOption.LT), 1);
            Checks.near(c.ttl(k), 60);
        });
        checks.api("PEXPIRE takes milliseconds", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.pexpire(k, 100_000), 1);
            Checks.near(c.ttl(k), 100);
        });
        checks.api("EXPIREAT takes a moment", () -> {
            String k = Checks.key();
            long at = Checks.now() + 100;
            c.set(k, "a");
            Checks.equal(c.expireAt(k, at), 1);
            Checks.equal(c.expireTime(k), at);
        });
        checks.api("PEXPIREAT takes a moment in milliseconds", () -> {
            String k = Checks.key();
            long at = Checks.now() + 100;
            c.set(k, "a");
            Checks.equal(c.pexpireAt(k, at * 1000), 1);
            Checks.equal(c.pexpireTime(k), at * 1000);
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
            Checks.equal(c.persist(k), 1);
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
            Checks.equal(c.copy(a, b, false), true);
            Checks.equal(c.get(b), "1");
        });
        checks.api("SCAN iterates with match, count and type", () -> {
            String prefix = Checks.key();
            List<String> words = new ArrayList<>();
            for (int n = 0; n < 1000; n++) {
                words.addAll(List.of(prefix + ":" + n, "a"));
            }
            c.mset(words.toArray(new String[0]));
            c.hset(prefix + ":h", "f", "v");
            Set<String> found = new HashSet<>(), hashes = new HashSet<>();
            String cursor = ScanParams.SCAN_POINTER_START;
            do {
                ScanResult<String> some = c.scan(cursor, new ScanParams().match(prefix + ":*").count(100));
                found.addAll(some.getResult());
                cursor = some.getCursor();
            } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
            Checks.equal(found.size(), 1001);
            do {
                ScanResult<String> some = c.scan(cursor, new ScanParams().match(prefix + ":*").count(1000), "hash");
                hashes.addAll(some.getResult());
                cursor = some.getCursor();
            } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
            Checks.equal(hashes, Set.of(prefix + ":h"));
            Checks.equal(new HashSet<>(c.scanIteration(200, prefix + ":*").collect(new ArrayList<>())).size(), 1001);
        });
        checks.api("KEYS matches patterns", () -> {
            String prefix = Checks.key();
            c.mset(prefix + ":one", "1", prefix + ":two", "2");
            Checks.equal(c.keys(prefix + ":t[a-z]?"), Set.of(prefix + ":two"));
        });
        checks.api("RANDOMKEY gives some key", () -> {
            c.set(Checks.key(), "a");
            Checks.equal(c.exists(c.randomKey()), true);
        });
        checks.api("DBSIZE counts keys", () -> {
            long before = c.dbSize();
            c.set(Checks.key(), "a");
            Checks.equal(c.dbSize(), before + 1);
        });
    }

    private static void bits(Checks checks, RedisClient c) {
        checks.api("SETBIT sets and returns the old bit", () -> {
            String k = Checks.key();
            Checks.equal(c.setbit(k, 7, true), false);
            Checks.equal(c.setbit(k, 7, false), true);
        });
        checks.api("GETBIT reads a bit", () -> {
            String k = Checks.key();
            c.setbit(k, 7, true);
            Checks.equal(c.getbit(k, 7), true);
            Checks.equal(c.getbit(k, 100), false);
        });
        checks.api("BITCOUNT counts in ranges", () -> {
            String k = Checks.key();
            c.set(k, "foobar");
            Checks.equal(c.bitcount(k), 26);
            Checks.equal(c.bitcount(k, 5, 30, BitCountOption.BIT), 17);
        });
        checks.api("BITPOS finds the first", () -> {
            String k = Checks.key();
            c.setbit(k, 12, true);
            Checks.equal(c.bitpos(k, true), 12);
            Checks.equal(c.bitpos(k, false), 0);
        });
        checks.api("BITFIELD gets sets and adds", () ->
            Checks.equal(c.bitfield(Checks.key(), "SET", "u8", "#1", "255", "OVERFLOW", "FAIL", "INCRBY", "u8", "#1", "1").toString(), "[0, null]"));
        checks.api("BITFIELD_RO only reads", () -> {
            String k = Checks.key();
            c.set(k, "a");
            Checks.equal(c.bitfieldReadonly(k, "GET", "u4", "0").toString(), "[6]");
        });
    }

    private static void hashes(Checks checks, RedisClient c) {
        checks.api("HSET adds and replaces fields", () -> {
            String k = Checks.key();
            Checks.equal(c.hset(k, "a", "1"), 1);
            Checks.equal(c.hset(k, Map.of("a", "5", "b", "3", "c", "4")), 2);
            Checks.equal(c.hgetAll(k), Map.of("a", "5", "b", "3", "c", "4"));
        });
        checks.api("HSETNX adds only an absent field", () -> {
            String k = Checks.key();
            Checks.equal(c.hsetnx(k, "a", "1"), 1);
            Checks.equal(c.hsetnx(k, "a", "2"), 0);
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
            Checks.equal(c.hmget(k, "a", "x").toString(), "[1, null]");
        });
        checks.api("HGETALL reads large hashes", () -> {
            String k = Checks.key();
            Map<String, String> fields = new HashMap<>();
            for (int n = 0; n < 2000; n++) {
                fields.put("field " + n, "" + n);
            }
            Checks.equal(c.hset(k, fields), 2000);
            Checks.equal(c.hgetAll(k), fields);
        });
        checks.api("HDEL removes fields and then the key", () -> {
            String k = Checks.key();
            c.hset(k, Map.of("a", "1", "b", "2"));
            Checks.equal(c.hdel(k, "a", "b", "x"), 2);
            Checks.equal(c.exists(k), false);
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
            Checks.equal(c.hkeys(k), Set.of("a", "b"));
        });
        checks.api("HVALS lists values", () -> {
            String k = Checks.key();
            c.hset(k, Map.of("a", "1", "b", "2"));
            Checks.equal(new HashSet<>(c.hvals(k)), Set.of("1", "2"));
        });
        checks.api("HINCRBY adds to a field", () -> Checks.equal(c.hincrBy(Checks.key(), "a", -7), -7));
        checks.api("HINCRBYFLOAT adds fractions to a field", () -> Checks.equal(c.hincrByFloat(Checks.key(), "a", 1.5), 1.5));
        checks.api("HSTRLEN counts bytes of a field", () -> {
            String k = Checks.key();
            c.hset(k, "a", "hello");
            Checks.equal(c.hstrlen(k, "a"), 5);
        });
        checks.api("HSCAN iterates over fields", () -> {
            String k = Checks.key();
            Map<String, String> fields = new HashMap<>(), got = new HashMap<>();
            for (int n = 0; n < 1000; n++) {
                fields.put("f" + n, "" + n);
            }
            c.hset(k, fields);
            String cursor = ScanParams.SCAN_POINTER_START;
            do {
                ScanResult<Map.Entry<String, String>> some = c.hscan(k, cursor, new ScanParams().count(50));
                some.getResult().forEach(pair -> got.put(pair.getKey(), pair.getValue()));
                cursor = some.getCursor();
            } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
            Checks.equal(got, fields);
        });
        checks.api("HRANDFIELD gives some fields", () -> {
            String k = Checks.key();
            c.hset(k, Map.of("a", "1", "b", "2"));
            Checks.equal(c.hrandfield(k, -7).size(), 7);
            Checks.equal(c.hrandfieldWithValues(k, 5).size(), 2);
        });
    }

    private static void others(Checks checks, RedisClient c) {
        checks.api("pipeline many commands in one write", () -> {
            String k = Checks.key();
            try (AbstractPipeline pipeline = c.pipelined()) {
                List<Response<Long>> replies = new ArrayList<>();
                for (int n = 0; n < 1000; n++) {
                    replies.add(pipeline.incr(k));
                }
                pipeline.sync();
                Checks.equal(replies.get(999).get(), 1000);
            }
        });
        checks.api("MULTI runs a transaction", () -> {
            try (AbstractTransaction transaction = c.multi()) {
                Response<String> reply = transaction.set(Checks.key(), "1");
                transaction.exec();
                Checks.equal(reply.get(), "OK");
            }
        });
        checks.api("binary keys, values and fields of any bytes", () -> {
            byte[] all = Checks.allBytes(), h = Checks.key().getBytes(StandardCharsets.UTF_8);
            c.set(all, all);
            Checks.same(c.get(all), all);
            c.hset(h, all, all);
            Checks.same(c.hget(h, all), all);
        });
        checks.api("large values of a mebibyte less a little", () -> {
            byte[] k = Checks.key().getBytes(StandardCharsets.UTF_8);
            c.set(k, LARGE);
            Checks.same(c.get(k), LARGE);
        });
        checks.api("errors wrong types", () -> {
            String s = Checks.key(), h = Checks.key();
            c.set(s, "a");
            c.hset(h, "f", "v");
            Checks.refused("WRONGTYPE " + Checks.WRONG_TYPE, () -> c.get(h));
            Checks.refused(Checks.WRONG_TYPE, () -> c.incr(h));
            Checks.refused(Checks.WRONG_TYPE, () -> c.hgetAll(s));
        });
        checks.api("errors no integers", () -> {
            String k = Checks.key();
            c.set(k, "text");
            Checks.refused("ERR value is not an integer or out of range", () -> c.incr(k));
            Checks.refused("ERR value is not a valid float", () -> c.incrByFloat(k, 1.5));
        });
        checks.api("errors unknown commands", () -> {
            Checks.refused("ERR unknown command 'BOGUS', with args beginning with: 'a'", () ->
                c.sendCommand(() -> "BOGUS".getBytes(StandardCharsets.UTF_8), "a"));
            Checks.equal(c.ping(), "PONG");
        });
        checks.api("CLIENT names and numbers", () -> {
            try (Jedis one = new Jedis(host, port, config(Checks.PASSWORD, null))) {
                Checks.equal(one.clientSetname("a-name"), "OK");
                Checks.equal(one.clientGetname(), "a-name");
                Checks.equal(one.clientId() > 0, true);
            }
        });
        checks.api("ECHO echoes", () -> Checks.equal(c.echo("hello"), "hello"));
        checks.api("INFO reports", () -> Checks.equal(c.info().contains("redis_mode:standalone"), true));
        checks.api("CONFIG gets settings", () -> Checks.equal(c.configGet("appendonly").keySet(), Set.of("appendonly")));
        checks.api("RESP2 works too", () -> {
            try (RedisClient two = client(Checks.PASSWORD, RedisProtocol.RESP2, 2)) {
                String k = Checks.key();
                two.hset(k, "a", "1");
                Checks.equal(two.hgetAll(k), Map.of("a", "1"));
            }
        });
        checks.api("pool of fifty connections on threads", () -> {
            List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
            List<Thread> threads = new ArrayList<>();
            try (RedisClient pool = client(Checks.PASSWORD, null, 50)) {
                for (int n = 0; n < 50; n++) {
                    Thread thread = new Thread(() -> {
                        try {
                            for (int i = 0; i < 40; i++) {
                                String k = Checks.key();
                                pool.set(k, k);
                                Checks.equal(pool.get(k), k);
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
            }
            Checks.equal(wrong.toString(), "[]");
        });
        checks.api("FLUSHDB removes all", () -> {
            c.set(Checks.key(), "a");
            Checks.equal(c.flushDB(), "OK");
            Checks.equal(c.dbSize(), 0);
        });
    }

    private static void modes(Checks checks, RedisClient c) {
        checks.session("connects and works", () -> {
            byte[] k = Checks.key().getBytes(StandardCharsets.UTF_8);
            c.set(k, LARGE);
            Checks.same(c.get(k), LARGE);
        });
        checks.session("connects but not with a wrong password", () -> {
            if (Checks.PASSWORD != null) {
                Checks.refused("invalid username-password pair", () -> {
                    try (RedisClient wrong = client("wrong", null, 1)) {
                        wrong.ping();
                    }
                });
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
            Checks.equal(c.hgetAll(k), Map.of("a", "1"));
        });
    }
}
