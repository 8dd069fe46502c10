package fawn.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import fawn.client.wire.MessageCodec;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client against clusters of real processes. */
@Timeout(300)
final class ClusterTest {
    /** Keys of the test of batches. */
    private static final int KEYS = 2000;

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Test
    void aValueFarAboveTheLimitIsRefusedAndItsNeighboursAreStored() throws Exception {
        try (Cluster cluster = Cluster.start(1, 1, false); FawnClient client = cluster.connect(new Options())) {
            List<CompletableFuture<Long>> puts = new ArrayList<>();
            for (int at = 0; at < 20; at++) {
                puts.add(client.putAsync(bytes("before" + at), Item.of(bytes("v"))));
            }
            byte[] value = new byte[20 << 20];
            FawnException tooLarge = assertThrows(FawnException.class, () -> client.put(bytes("long"), value));
            assertEquals(FawnException.Reason.TOO_LARGE, tooLarge.reason());
            for (int at = 0; at < 20; at++) {
                puts.add(client.putAsync(bytes("after" + at), Item.of(bytes("v"))));
            }
            for (CompletableFuture<Long> put : puts) {
                put.get();
            }
            assertEquals(Optional.empty(), client.get(bytes("long")));
        }
    }

    @Test
    void aWriteThatNoFrameCanCarryIsRefusedBeforeItIsSent() throws Exception {
        try (Cluster cluster = Cluster.start(1, 1, false); FawnClient client = cluster.connect(new Options())) {
            long beganNs = System.nanoTime();
            // One that its key makes too long, and one by what is to be done with it.
            for (int length : List.of(FawnClient.MOST_WRITE_BYTES, FawnClient.MOST_WRITE_BYTES - 1)) {
                byte[] value = new byte[length];
                FawnException put = assertThrows(FawnException.class, () -> client.put(bytes("k"), value));
                FawnException append = assertThrows(FawnException.class, () -> client.append(bytes("k"), value));
                for (FawnException refused : List.of(put, append)) {
                    assertEquals(FawnException.Reason.OVERSIZE, refused.reason());
                    assertTrue(refused.isCertain());
                    assertTrue(refused.getMessage().startsWith("a write has at most 142606080 bytes of key and value, not "),
                            refused.getMessage());
                }
            }
            assertTrue(System.nanoTime() - beganNs < 10_000_000_000L, "nobody is asked");
            client.put(bytes("k"), bytes("v"));
        }
    }

    @Test
    void oneKeyIsPutGotComparedCountedAndDeleted() throws Exception {
        try (Cluster cluster = Cluster.start(1, 1, false); FawnClient client = cluster.connect(new Options())) {
            assertEquals(Optional.empty(), client.get(bytes("k")));
            long cas = client.put(bytes("k"), Item.of(bytes("one")).withFlags(0xffff_ffffL));
            Value found = client.get(bytes("k")).orElseThrow();
            assertArrayEquals(bytes("one"), found.bytes);
            assertEquals(0xffff_ffffL, found.flags);
            assertEquals(cas, found.cas);
            assertEquals(0, found.expiry);

            Swap swap = client.cas(bytes("k"), Item.of(bytes("two")), cas);
            assertTrue(swap.isDone());
            assertEquals(Swap.Result.CHANGED, client.cas(bytes("k"), Item.of(bytes("three")), cas).result);
            assertEquals(Swap.Result.NOT_FOUND, client.cas(bytes("none"), Item.of(bytes("x")), 1).result);
            assertEquals(swap.cas, client.get(bytes("k")).orElseThrow().cas);

            assertEquals(OptionalLong.empty(), client.add(bytes("k"), Item.of(bytes("x"))));
            assertTrue(client.replace(bytes("k"), Item.of(bytes("b"))).isPresent());
            assertTrue(client.append(bytes("k"), bytes("c")).isPresent());
            assertTrue(client.prepend(bytes("k"), bytes("a")).isPresent());
            assertArrayEquals(bytes("abc"), client.get(bytes("k")).orElseThrow().bytes);
            FawnException noNumber = assertThrows(FawnException.class, () -> client.increment(bytes("k"), 1));
            assertEquals(FawnException.Reason.NOT_A_NUMBER, noNumber.reason());

            assertEquals(OptionalLong.empty(), client.increment(bytes("n"), 1));
            client.put(bytes("n"), bytes("40"));
            assertEquals(OptionalLong.of(42), client.increment(bytes("n"), 2));
            assertEquals(OptionalLong.of(0), client.decrement(bytes("n"), 100));

            assertTrue(client.touch(bytes("k"), Duration.ofHours(1)));
            assertTrue(client.get(bytes("k")).orElseThrow().expiry > 0);
            assertEquals(Swap.Result.CHANGED, client.deleteCas(bytes("k"), cas).result);
            assertTrue(client.delete(bytes("k")));
            assertFalse(client.delete(bytes("k")));
            assertEquals(Optional.empty(), client.get(bytes("k")));

            client.put(bytes("empty"), new byte[0]);
            assertEquals(0, client.get(bytes("empty")).orElseThrow().bytes.length, "an empty value is one");
            byte[] longest = new byte[65_535];
            client.put(longest, bytes("long"));
            assertArrayEquals(bytes("long"), client.get(longest).orElseThrow().bytes);
            for (byte[] key : List.of(new byte[0], new byte[65_536])) {
                FawnException refused = assertThrows(FawnException.class, () -> client.get(key));
                assertEquals(FawnException.Reason.KEY, refused.reason());
            }
            FawnException tooLarge =
                    assertThrows(FawnException.class, () -> client.put(bytes("k"), new byte[1 << 20]));
            assertEquals(FawnException.Reason.TOO_LARGE, tooLarge.reason());

            client.flushAll();
            assertEquals(Optional.empty(), client.get(bytes("n")));

            FawnClient closed = cluster.connect(new Options());
            closed.close();
            FawnException late = assertThrows(FawnException.class, () -> closed.get(bytes("n")));
            assertEquals(FawnException.Reason.UNREACHED, late.reason());
        }
    }

    @Test
    void batchesAndScansShowAllThatThereIsInAllRanges() throws Exception {
        try (Cluster cluster = Cluster.start(3, 3, false);
                FawnClient client = cluster.connect(new Options().inFlight(100).inFlightBytes(50_000))) {
            Map<String, String> expected = new HashMap<>();
            List<Map.Entry<byte[], Item>> items = new ArrayList<>();
            List<byte[]> keys = new ArrayList<>();
            for (int number = 0; number < KEYS; number++) {
                String key = "key-" + number;
                expected.put(key, "value-" + number);
                items.add(Map.entry(bytes(key), Item.of(bytes("value-" + number))));
                keys.add(bytes(key));
            }
            assertEquals(KEYS, client.putAll(items).size());
            keys.add(bytes("none"));
            List<Optional<Value>> found = client.getAll(keys);
            List<CompletableFuture<Continued>> continued = new ArrayList<>();
            for (byte[] key : keys) {
                continued.add(client.getWithAsync(key, bytes("of " + text(key))));
            }
            for (int number = 0; number < KEYS; number++) {
                assertEquals("value-" + number, text(continued.get(number).get().value.orElseThrow().bytes));
                assertEquals("of key-" + number, text(continued.get(number).get().continuation));
            }
            assertEquals(Optional.empty(), continued.get(KEYS).get().value);
            FawnException tooLong = assertThrows(FawnException.class, () -> client.getWith(bytes("k"), new byte[4085]));
            assertEquals(FawnException.Reason.CONTINUATION, tooLong.reason());
            assertEquals(4084, client.getWith(bytes("k"), new byte[4084]).continuation.length);
            for (int number = 0; number < KEYS; number++) {
                assertEquals("value-" + number, text(found.get(number).orElseThrow().bytes));
            }
            assertEquals(Optional.empty(), found.get(KEYS));
            List<CompletableFuture<Boolean>> deleted = new ArrayList<>();
            for (int number = 0; number < KEYS; number += 3) {
                deleted.add(client.deleteAsync(bytes("key-" + number)));
                expected.remove("key-" + number);
            }
            for (CompletableFuture<Boolean> each : deleted) {
                assertTrue(each.get());
            }
            client.put(bytes("soon"), Item.of(bytes("gone")).expiringIn(Duration.ofSeconds(-5)));

            Map<String, String> scanned = new TreeMap<>();
            List<ScanPart> parts = new ArrayList<>();
            try (Scan scan = client.scan()) {
                for (ScanPart part = scan.next(); part != null; part = scan.next()) {
                    parts.add(part);
                    collect(client, part, scanned);
                }
            }
            assertEquals(new TreeMap<>(expected), scanned);
            assertTrue(parts.size() > 1, "a range is a part");
            Key next = Key.LOWEST;
            for (ScanPart part : parts) {
                assertEquals(next, part.interval.low, "parts follow each other");
                next = part.interval.high.successor();
                assertTrue(part.asOf.epoch > 0);
            }
            assertEquals(null, next, "parts are all of the key space");

            byte[] bookmark = MessageCodec.encode(parts.get(0).bookmark);
            Map<String, String> resumed = new TreeMap<>();
            collect(client, parts.get(0), resumed);
            try (Scan scan = client.scan(MessageCodec.decodeBookmark(bookmark))) {
                for (ScanPart part = scan.next(); part != null; part = scan.next()) {
                    collect(client, part, resumed);
                }
            }
            assertEquals(scanned, resumed);

            Key one = client.position(bytes("key-1"));
            Map<String, String> single = new TreeMap<>();
            try (Scan scan = client.scan(new Interval(one, one))) {
                collect(client, scan.next(), single);
                assertEquals(null, scan.next());
            }
            assertEquals(Map.of("key-1", "value-1"), single);
        }
    }

    private static void collect(FawnClient client, ScanPart part, Map<String, String> into) {
        part.entries().forEach((key, value) -> {
            assertTrue(part.interval.contains(client.position(key)));
            assertEquals(null, into.put(text(key), text(value.bytes)), "no key comes twice");
        });
    }

    /** Bounded parts of a scan: each key comes once, as it was, though tails die and others are written meanwhile. */
    @Test
    void aScanInPartsGoesOnWhenTailsDie() throws Exception {
        try (Cluster cluster = Cluster.start(3, 3, false);
                FawnClient client = cluster.connect(new Options().timeout(Duration.ofSeconds(60)))) {
            List<Map.Entry<byte[], Item>> items = new ArrayList<>();
            for (int number = 0; number < KEYS; number++) {
                items.add(Map.entry(bytes("key-" + number), Item.of(large(number))));
            }
            client.putAll(items);
            AtomicBoolean isOver = new AtomicBoolean();
            List<Throwable> failures = new ArrayList<>();
            Thread writer = new Thread(() -> {
                try {
                    for (int turn = 0; !isOver.get(); turn++) {
                        client.put(bytes("other-" + turn % 100), large(turn));
                    }
                } catch (FawnException | RuntimeException error) {
                    failures.add(error);
                }
            });
            writer.start();

            Map<String, String> seen = new HashMap<>();
            List<ScanPart> parts = new ArrayList<>();
            int killed = 0;
            try (Scan scan = client.scan(Interval.ALL, 1)) {
                for (ScanPart part = scan.next(); part != null; part = scan.next()) {
                    parts.add(part);
                    collect(client, part, seen);
                    if (killed < 2 && seen.size() > (killed + 1) * KEYS / 4) {
                        String tail = tailOf(client, part.interval.high.successor());
                        cluster.kill(tail);
                        Thread.sleep(2000);
                        cluster.startNode(tail);
                        killed++;
                        Thread.sleep(5000);
                    }
                }
            }
            isOver.set(true);
            writer.join();
            assertEquals(List.of(), failures);
            assertEquals(2, killed, "the scan was not over before");
            Key next = Key.LOWEST;
            long most = 0;
            for (ScanPart part : parts) {
                assertEquals(next, part.interval.low, "parts follow each other");
                next = part.interval.high.successor();
                most = Math.max(most, part.entries().size());
            }
            assertEquals(null, next);
            assertTrue(most < KEYS / 8, "parts are bounded, not of " + most + " keys");
            for (int number = 0; number < KEYS; number++) {
                assertEquals(text(large(number)), seen.get("key-" + number));
            }
            assertTrue(seen.keySet().stream().allMatch(key -> key.matches("(key|other)-[0-9]+")));
            System.out.println(parts.size() + " parts of " + most + " keys at most, with two tails killed");
        }
    }

    private static String tailOf(FawnClient client, Key position) throws FawnException {
        RangeInfo range = client.ranges().stream().filter(each -> each.interval.contains(position)).findFirst().orElseThrow();
        assertEquals(3, range.members.size());
        return range.members.get(0).name;
    }

    /** Four kilobytes that say which number they belong to. */
    private static byte[] large(int number) {
        return bytes((number + ";").repeat(4096).substring(0, 4096));
    }

    @Test
    void rangesNameTheMembersOfTheirChains() throws Exception {
        try (Cluster cluster = Cluster.start(3, 2, false); FawnClient client = cluster.connect(new Options())) {
            List<RangeInfo> ranges = client.ranges();
            for (int wait = 0; wait < 60 && !membersOf(ranges).equals(List.of("n1", "n2", "n3")); wait++) {
                Thread.sleep(1000);
                ranges = client.ranges();
            }
            assertEquals(List.of("n1", "n2", "n3"), membersOf(ranges));
            Key next = Key.LOWEST;
            for (RangeInfo range : ranges) {
                assertEquals(next, range.interval.low, "ranges cover all positions");
                next = range.interval.high.successor();
                assertEquals(2, range.members.size());
                range.members.forEach(member -> assertEquals("127.0.0.1", member.host));
            }
            assertEquals(null, next);

            RangeInfo one = ranges.get(1);
            List<String> inOne = new ArrayList<>();
            for (int number = 0; number < 100; number++) {
                client.put(bytes("key-" + number), Item.of(bytes("v")).expiringAt(4_000_000_000L));
                if (one.interval.contains(client.position(bytes("key-" + number)))) {
                    inOne.add("key-" + number);
                }
            }
            Map<String, String> scanned = new TreeMap<>();
            try (Scan scan = client.scan(one.interval.low, one.interval.high)) {
                for (ScanPart part = scan.next(); part != null; part = scan.next()) {
                    collect(client, part, scanned);
                    part.entries().values().forEach(value -> assertEquals(4_000_000_000L, value.expiry));
                }
            }
            inOne.sort(null);
            assertEquals(inOne, new ArrayList<>(scanned.keySet()));
            FawnClient closed = cluster.connect(new Options());
            closed.close();
            FawnException late = assertThrows(FawnException.class, closed::ranges);
            assertEquals(FawnException.Reason.UNREACHED, late.reason());
        }
    }

    private static List<String> membersOf(List<RangeInfo> ranges) {
        return ranges.stream().flatMap(range -> range.members.stream()).map(member -> member.name).distinct().sorted()
                .collect(Collectors.toList());
    }

    /** Counters that are incremented, and chains of cas, while nodes are killed: each write counts once. */
    @Test
    void writesAreCarriedOutOnceWhileNodesAreKilled() throws Exception {
        int writers = 8;
        try (Cluster cluster = Cluster.start(3, 3, false);
                FawnClient client = cluster.connect(new Options().timeout(Duration.ofSeconds(60)))) {
            AtomicBoolean isOver = new AtomicBoolean();
            AtomicLong[] counted = new AtomicLong[writers];
            List<Throwable> failures = new ArrayList<>();
            List<Thread> threads = new ArrayList<>();
            for (int writer = 0; writer < writers; writer++) {
                byte[] counter = bytes("counter-" + writer);
                byte[] chain = bytes("chain-" + writer);
                client.put(counter, bytes("0"));
                long first = client.put(chain, bytes("0"));
                AtomicLong count = counted[writer] = new AtomicLong();
                Thread thread = new Thread(() -> {
                    try {
                        long cas = first;
                        while (!isOver.get()) {
                            long next = count.get() + 1;
                            assertEquals(OptionalLong.of(next), client.increment(counter, 1));
                            Swap swap = client.cas(chain, Item.of(bytes(String.valueOf(next))), cas);
                            assertEquals(Swap.Result.DONE, swap.result, "nobody else writes");
                            cas = swap.cas;
                            count.set(next);
                        }
                    } catch (FawnException | RuntimeException | AssertionError error) {
                        synchronized (failures) {
                            failures.add(error);
                        }
                    }
                });
                threads.add(thread);
                thread.start();
            }
            for (String node : List.of("n1", "n2")) {
                Thread.sleep(2000);
                cluster.kill(node);
                Thread.sleep(3000);
                cluster.startNode(node);
                Thread.sleep(5000);
            }
            isOver.set(true);
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(List.of(), failures);
            long all = 0;
            for (int writer = 0; writer < writers; writer++) {
                String expected = String.valueOf(counted[writer].get());
                assertEquals(expected, text(client.get(bytes("counter-" + writer)).orElseThrow().bytes));
                assertEquals(expected, text(client.get(bytes("chain-" + writer)).orElseThrow().bytes));
                all += counted[writer].get();
            }
            assertTrue(all > 10 * writers, "something was written: " + all);
            System.out.println(2 * all + " writes were carried out once each, while two nodes of three were killed");
        }
    }

    @Test
    void certificatesAreAskedForOnBothSides() throws Exception {
        try (Cluster cluster = Cluster.start(2, 2, true)) {
            try (FawnClient client = cluster.connect(new Options())) {
                client.put(bytes("k"), bytes("secret"));
                assertArrayEquals(bytes("secret"), client.get(bytes("k")).orElseThrow().bytes);
                byte[] large = new byte[500_000];
                client.put(bytes("large"), large);
                assertArrayEquals(large, client.get(bytes("large")).orElseThrow().bytes);
            }
            Options brief = new Options().connectTimeout(Duration.ofSeconds(3));
            FawnException plain = assertThrows(FawnException.class,
                    () -> FawnClient.connect(List.of(cluster.manager()), brief));
            assertEquals(FawnException.Reason.CONNECT, plain.reason());
            assertTrue(plain.getMessage().contains("certificates"), plain.getMessage());
            Certificates none = new Certificates(cluster.certificatesDirectory().resolve("ca.pem"),
                    cluster.certificatesDirectory().resolve("app.pem"), cluster.certificatesDirectory().resolve("none.pem"));
            FawnException noKey = assertThrows(FawnException.class,
                    () -> FawnClient.connect(List.of(cluster.manager()), new Options().certificates(none)));
            assertEquals(FawnException.Reason.TLS, noKey.reason());
            assertTrue(noKey.getMessage().contains("none.pem"), noKey.getMessage());
            // Another cluster's authority is not trusted, nor trusts it this one's client.
            try (Cluster other = Cluster.start(1, 1, true)) {
                FawnException stranger = assertThrows(FawnException.class, () -> FawnClient.connect(
                        List.of(cluster.manager()),
                        new Options().connectTimeout(Duration.ofSeconds(3)).certificates(other.certificates())));
                assertTrue(stranger.getMessage().contains("authority"), stranger.getMessage());
            }
        }
    }

    @Test
    void timeOutsSayWhetherAnythingMayHaveBeenDone() throws Exception {
        try (Cluster cluster = Cluster.start(1, 1, false);
                FawnClient client = cluster.connect(new Options().timeout(Duration.ofSeconds(2)))) {
            client.put(bytes("k"), bytes("v"));
            cluster.kill("n1");
            long began = System.nanoTime();
            FawnException get = assertThrows(FawnException.class, () -> client.get(bytes("k")));
            assertTrue(get.isCertain(), get.getMessage());
            FawnException put = assertThrows(FawnException.class, () -> client.put(bytes("k"), bytes("w")));
            assertTrue(put.reason() == FawnException.Reason.UNREACHED || put.reason() == FawnException.Reason.UNKNOWN,
                    put.getMessage());
            long tookMs = (System.nanoTime() - began) / 1_000_000;
            assertTrue(tookMs >= 4000 && tookMs < 8000, tookMs + " ms");
            cluster.startNode("n1");
            try (FawnClient patient = cluster.connect(new Options().timeout(Duration.ofSeconds(60)))) {
                String found = text(patient.get(bytes("k")).orElseThrow().bytes);
                assertTrue(found.equals("v") || !put.isCertain() && found.equals("w"), found);
            }
        }
    }

    @Test
    void nobodyToConnectWithIsToldInTime() throws Exception {
        String address;
        try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            address = "127.0.0.1:" + probe.getLocalPort();
        }
        Options brief = new Options().connectTimeout(Duration.ofSeconds(2));
        FawnException refused = assertThrows(FawnException.class, () -> FawnClient.connect(List.of(address), brief));
        assertEquals(FawnException.Reason.CONNECT, refused.reason());
        assertTrue(refused.getMessage().contains(address), refused.getMessage());
        assertThrows(FawnException.class, () -> FawnClient.connect(List.of(), brief));
        FawnException noPort = assertThrows(FawnException.class, () -> FawnClient.connect(List.of("host"), brief));
        assertTrue(noPort.getMessage().contains("HOST:PORT"), noPort.getMessage());
    }
}
