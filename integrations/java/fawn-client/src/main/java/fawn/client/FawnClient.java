package fawn.client;

import fawn.client.wire.Arithmetic;
import fawn.client.wire.Bookmark;
import fawn.client.wire.Cas;
import fawn.client.wire.Delete;
import fawn.client.wire.Frame;
import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import fawn.client.wire.MessageCodec;
import fawn.client.wire.Mode;
import fawn.client.wire.Operation;
import fawn.client.wire.Outcome;
import fawn.client.wire.PositionHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A client of a FAWN cluster. It learns from the managers who owns which keys, and asks the owner of each key itself.
 *
 * <p>What is not answered is asked again under the same name, wherever the key has gone meanwhile, so that it is carried out
 * once. What is not answered in time ends with a {@link FawnException} that says whether anything may have been done. That
 * something is not there is no error, and something else than that it is empty.
 *
 * <p>Any number of threads may use one client. Keys have 1 to 65535 bytes; arrays that were handed over must not be changed
 * before the call has returned, or the future has ended. A cas is unsigned, 64 bits.
 */
public final class FawnClient implements AutoCloseable {
    private static final int MOST_KEY_BYTES = 65_535;
    /** Bytes of key and operation that fit the longest frame, with all that may be around them. */
    static final int MOST_WRITE_BYTES = Frame.MOST_BYTES - 256;
    private static final int MOST_CONTINUATION_BYTES = 4096 - RequestMachine.OWN_BYTES;
    /** What the driver may take, after a deadline, to say that it has passed. */
    private static final long SLACK_US = 1_000_000;
    private static final int PART_BYTES = 1 << 20;

    private final Driver driver;
    private final PositionHash hash;
    private final long timeoutUs;
    private final Semaphore inFlight;
    private final Semaphore bytes;
    private final int mostBytes;
    private final AtomicLong scans = new AtomicLong();

    /** Makes of an outcome what a program wants to see. */
    private interface Reading<T> {
        T of(RequestOutcome outcome) throws FawnException;
    }

    private FawnClient(Driver driver, PositionHash hash, Options options) {
        this.driver = driver;
        this.hash = hash;
        timeoutUs = options.timeoutUs();
        inFlight = new Semaphore(options.inFlight(), true);
        mostBytes = options.inFlightBytes();
        bytes = new Semaphore(mostBytes, true);
    }

    /**
     * Connects to a cluster: it is there when this returns, and has told where keys lie.
     *
     * @param managers where the cluster is found, {@code HOST:PORT} each; one that answers is enough. A member may be named
     *     too, with certificates as {@code NAME=HOST:PORT}
     * @throws FawnException {@code CONNECT} if nobody answers in time, {@code TLS} if a certificate file is of no use
     */
    public static FawnClient connect(List<String> managers, Options options) throws FawnException {
        if (managers.isEmpty()) {
            throw new FawnException(FawnException.Reason.CONNECT,
                    "no address is given: name a manager of the cluster, HOST:PORT", null);
        }
        for (String manager : managers) {
            HostPort.of(manager);
        }
        Driver driver = new Driver(List.copyOf(managers), new Dialler(options.certificates()));
        try {
            PositionHash hash = driver.connected().get(options.connectTimeoutUs(), TimeUnit.MICROSECONDS);
            return new FawnClient(driver, hash, options);
        } catch (TimeoutException | ExecutionException error) {
            driver.close();
            throw new FawnException(FawnException.Reason.CONNECT, "the cluster does not answer within "
                    + options.connectTimeoutUs() / 1000 + " ms; the last try: " + driver.lastFailure(), error);
        } catch (InterruptedException error) {
            driver.close();
            Thread.currentThread().interrupt();
            throw new FawnException(FawnException.Reason.INTERRUPTED);
        }
    }

    /** Ends the connections. Operations that have not ended do so now, as if their time was over. */
    @Override
    public void close() {
        driver.close();
    }

    /** Where a key lies. */
    public Key position(byte[] key) {
        return hash.position(key);
    }

    /** What is there; empty for nothing. */
    public Optional<Value> get(byte[] key) throws FawnException {
        return await(getAsync(key));
    }

    /** As {@link #get}; a failure is a {@link FawnException}. Waits only while too much is in flight. */
    public CompletableFuture<Optional<Value>> getAsync(byte[] key) {
        return begin(Request.Want.GET, key, null, outcome -> Optional.ofNullable(Value.of(outcome.kept)));
    }

    /**
     * As {@link #get}, with a continuation: at most 4084 bytes of the program's own, which travel to whoever has the key and
     * come back with what is there. No front-end on the way remembers anything of the request, so that its memory does not
     * bound how many are under way. Where a front-end is of an older release, it is asked without.
     */
    public Continued getWith(byte[] key, byte[] continuation) throws FawnException {
        return await(getWithAsync(key, continuation));
    }

    /** As {@link #getWith}; a failure is a {@link FawnException}. Waits only while too much is in flight. */
    public CompletableFuture<Continued> getWithAsync(byte[] key, byte[] continuation) {
        if (continuation.length > MOST_CONTINUATION_BYTES) {
            return CompletableFuture.failedFuture(new FawnException(FawnException.Reason.CONTINUATION));
        }
        return begin(Request.Want.GET, key, null, continuation,
                outcome -> new Continued(Optional.ofNullable(Value.of(outcome.kept)), continuation));
    }

    /**
     * What is there of many keys, in their order: each as of some time between the question and the answer. Questions to one
     * front-end leave together.
     *
     * @throws FawnException of the first that has no answer
     */
    public List<Optional<Value>> getAll(List<byte[]> keys) throws FawnException {
        List<CompletableFuture<Optional<Value>>> asked = new ArrayList<>(keys.size());
        keys.forEach(key -> asked.add(getAsync(key)));
        return awaitAll(asked);
    }

    /** Puts a value, whatever is there. Returns what names its version. */
    public long put(byte[] key, byte[] value) throws FawnException {
        return put(key, Item.of(value));
    }

    /** Puts an item, whatever is there. Returns what names its version. */
    public long put(byte[] key, Item item) throws FawnException {
        return await(putAsync(key, item));
    }

    /** As {@link #put(byte[], Item)}; a failure is a {@link FawnException}. Waits only while too much is in flight. */
    public CompletableFuture<Long> putAsync(byte[] key, Item item) {
        return store(key, item, new Mode.Set(), null,
                outcome -> stored(outcome).orElseThrow(() -> new IllegalStateException("a set is not refused")));
    }

    /**
     * Puts many values; there is no order among them. Returns what names their versions, in the order of the items.
     *
     * @throws FawnException of the first that has no answer; others may have been put
     */
    public List<Long> putAll(List<Map.Entry<byte[], Item>> items) throws FawnException {
        List<CompletableFuture<Long>> asked = new ArrayList<>(items.size());
        items.forEach(item -> asked.add(putAsync(item.getKey(), item.getValue())));
        return awaitAll(asked);
    }

    /** Puts an item if nothing is there; empty if something is. */
    public OptionalLong add(byte[] key, Item item) throws FawnException {
        return await(store(key, item, new Mode.Add(), null, FawnClient::stored));
    }

    /** Puts an item if something is there; empty if nothing is. */
    public OptionalLong replace(byte[] key, Item item) throws FawnException {
        return await(store(key, item, new Mode.Replace(), null, FawnClient::stored));
    }

    /** Puts an item if the version that is there is the one that was got, or put: {@link Value#cas}. */
    public Swap cas(byte[] key, Item item, long cas) throws FawnException {
        return await(casAsync(key, item, cas));
    }

    /** As {@link #cas}; a failure is a {@link FawnException}. Waits only while too much is in flight. */
    public CompletableFuture<Swap> casAsync(byte[] key, Item item, long cas) {
        return store(key, item, new Mode.Cas(), cas, FawnClient::swap);
    }

    /** Adds bytes after the value that is there; empty if none is, or it would become longer than the cluster takes. */
    public OptionalLong append(byte[] key, byte[] value) throws FawnException {
        return await(store(key, Item.of(value), new Mode.Append(null), null, FawnClient::stored));
    }

    /** Adds bytes before the value that is there; empty as with {@link #append}. */
    public OptionalLong prepend(byte[] key, byte[] value) throws FawnException {
        return await(store(key, Item.of(value), new Mode.Prepend(null), null, FawnClient::stored));
    }

    /**
     * Counts the number that is there up, as decimal digits of at most 64 bits, and returns it; it wraps round. Empty if
     * nothing is there: {@link #add} makes a counter.
     */
    public OptionalLong increment(byte[] key, long by) throws FawnException {
        return count(key, by, false);
    }

    /** Counts the number that is there down, but never below 0, and returns it; empty if nothing is there. */
    public OptionalLong decrement(byte[] key, long by) throws FawnException {
        return count(key, by, true);
    }

    private OptionalLong count(byte[] key, long by, boolean isDown) throws FawnException {
        Arithmetic step = new Arithmetic(isDown, by, 0, null, null, null, null);
        return write(key, MessageCodec.encode(new Operation.Arithmetic(step)), outcome -> {
            if (outcome.outcome instanceof Outcome.Number) {
                return OptionalLong.of(((Outcome.Number) outcome.outcome).value.value);
            }
            if (outcome.outcome instanceof Outcome.NonNumeric) {
                throw new FawnException(FawnException.Reason.NOT_A_NUMBER);
            }
            isFound(outcome, Outcome.Number.class);
            return OptionalLong.empty();
        });
    }

    /** Has what is there expire after so long, or never if that is {@code null}. Returns whether something is there. */
    public boolean touch(byte[] key, Duration expiresIn) throws FawnException {
        long expiry = expiresIn == null ? 0 : Item.unixIn(expiresIn);
        byte[] operation = MessageCodec.encode(new Operation.Touch(expiry));
        return write(key, operation, outcome -> isFound(outcome, Outcome.Touched.class));
    }

    /** Deletes what is there. Returns whether something was. */
    public boolean delete(byte[] key) throws FawnException {
        return await(deleteAsync(key));
    }

    /** As {@link #delete}; a failure is a {@link FawnException}. Waits only while too much is in flight. */
    public CompletableFuture<Boolean> deleteAsync(byte[] key) {
        return begin(Request.Want.WRITE, key, deletion(null), outcome -> isFound(outcome, Outcome.Deleted.class));
    }

    /** Deletes what is there if it is the version that was got, or put: {@link Value#cas}. */
    public Swap deleteCas(byte[] key, long cas) throws FawnException {
        return await(deleteCasAsync(key, cas));
    }

    /** As {@link #deleteCas}; a failure is a {@link FawnException}. Waits only while too much is in flight. */
    public CompletableFuture<Swap> deleteCasAsync(byte[] key, long cas) {
        return begin(Request.Want.WRITE, key, deletion(cas), FawnClient::swap);
    }

    private static byte[] deletion(Long compare) {
        return MessageCodec.encode(new Operation.Delete(new Delete(compare, null, false, null, false, 0)));
    }

    /**
     * Deletes all that there is in the cluster, whoever put it. What is put after this has returned stays; of what is put
     * meanwhile some may go.
     */
    public void flushAll() throws FawnException {
        await(begin(Request.Want.FLUSH, new byte[0], null, outcome -> null));
    }

    /** The ranges of the cluster in the order of their keys, as they are now: they cover all positions. */
    public List<RangeInfo> ranges() throws FawnException {
        return await(driver.ranges(driver.nowUs() + timeoutUs));
    }

    /** All that there is in the cluster, range by range, each as of one record. */
    public Scan scan() {
        return scan(Interval.ALL);
    }

    /** All whose positions lie in an interval, range by range, each as of one record. */
    public Scan scan(Interval interval) {
        return scan(new Bookmark(List.of(), interval.low, interval.high));
    }

    /** All whose positions are {@code low}, {@code high} or between them, in parts of about a mebibyte. */
    public Scan scan(Key low, Key high) {
        return scan(new Interval(low, high), PART_BYTES);
    }

    /**
     * All whose positions lie in an interval, in parts that end once they have so many bytes of keys and values. A part may
     * have 256 KiB and one record more than that, and what was written to its keys while it was read.
     */
    public Scan scan(Interval interval, int partBytes) {
        if (partBytes < 1) {
            throw new IllegalArgumentException("a part has 1 byte or more, not " + partBytes);
        }
        return scan(new Bookmark(List.of(), interval.low, interval.high), partBytes);
    }

    /** All that another scan has not come to, range by range: see {@link ScanPart#bookmark}. */
    public Scan scan(Bookmark bookmark) {
        return scan(bookmark, Long.MAX_VALUE);
    }

    private Scan scan(Bookmark bookmark, long partBytes) {
        boolean isOver = bookmark.stretches.isEmpty() && bookmark.rest == null;
        ScanTask task = new ScanTask(new ScanMachine(scans.incrementAndGet(), bookmark, partBytes));
        if (!isOver) {
            driver.scan(task);
        }
        return new Scan(task, driver::wake, hash, isOver);
    }

    private <T> T write(byte[] key, byte[] operation, Reading<T> reading) throws FawnException {
        return await(begin(Request.Want.WRITE, key, operation, reading));
    }

    private <T> CompletableFuture<T> store(byte[] key, Item item, Mode mode, Long compare, Reading<T> reading) {
        // Bytes of an operation, which has the value and more, may be more than an array can have.
        long size = (long) key.length + item.length();
        return size > MOST_WRITE_BYTES
                ? CompletableFuture.failedFuture(oversize(size))
                : begin(Request.Want.WRITE, key, item.operation(mode, compare), reading);
    }

    private static FawnException oversize(long size) {
        return new FawnException(FawnException.Reason.OVERSIZE,
                "a write has at most " + MOST_WRITE_BYTES + " bytes of key and value, not " + size + ": split the value", null);
    }

    private static long resolved(Cas cas, RequestOutcome outcome) {
        return cas instanceof Cas.Known ? ((Cas.Known) cas).value : outcome.position.seq;
    }

    private static OptionalLong stored(RequestOutcome outcome) throws FawnException {
        if (outcome.outcome instanceof Outcome.Stored) {
            return OptionalLong.of(resolved(((Outcome.Stored) outcome.outcome).cas, outcome));
        }
        if (outcome.outcome instanceof Outcome.NotStored || outcome.outcome instanceof Outcome.NotFound) {
            return OptionalLong.empty();
        }
        throw new FawnException(FawnException.Reason.MALFORMED);
    }

    private static Swap swap(RequestOutcome outcome) throws FawnException {
        if (outcome.outcome instanceof Outcome.Stored) {
            return new Swap(Swap.Result.DONE, resolved(((Outcome.Stored) outcome.outcome).cas, outcome));
        }
        if (outcome.outcome instanceof Outcome.Exists) {
            return new Swap(Swap.Result.CHANGED, 0);
        }
        return new Swap(isFound(outcome, Outcome.Deleted.class) ? Swap.Result.DONE : Swap.Result.NOT_FOUND, 0);
    }

    /** Whether an outcome is of a kind; if not, there was no such key. */
    private static boolean isFound(RequestOutcome outcome, Class<? extends Outcome> kind) throws FawnException {
        if (!kind.isInstance(outcome.outcome) && !(outcome.outcome instanceof Outcome.NotFound)) {
            throw new FawnException(FawnException.Reason.MALFORMED);
        }
        return kind.isInstance(outcome.outcome);
    }

    /** Has something asked as soon as there is room; it is under way when this returns. */
    private <T> CompletableFuture<T> begin(Request.Want want, byte[] key, byte[] operation, Reading<T> reading) {
        return begin(want, key, operation, null, reading);
    }

    private <T> CompletableFuture<T> begin(Request.Want want, byte[] key, byte[] operation, byte[] continuation,
            Reading<T> reading) {
        CompletableFuture<T> ended = new CompletableFuture<>();
        boolean isOfKey = want != Request.Want.FLUSH;
        if (isOfKey && (key.length == 0 || key.length > MOST_KEY_BYTES)) {
            ended.completeExceptionally(new FawnException(FawnException.Reason.KEY,
                    "a key has 1 to 65535 bytes, not " + key.length, null));
            return ended;
        }
        long deadlineUs = driver.nowUs() + timeoutUs;
        long size = (long) key.length + (operation == null ? 0 : operation.length);
        if (size > MOST_WRITE_BYTES) {
            ended.completeExceptionally(oversize(size));
            return ended;
        }
        // What is larger than all that is allowed waits until it is alone.
        int room = (int) Math.min(size, mostBytes);
        FawnException refused = reserve(room, deadlineUs);
        if (refused != null) {
            ended.completeExceptionally(refused);
            return ended;
        }
        driver.ask(new Request(want, key, hash.position(key), operation, continuation, deadlineUs, outcome -> {
            inFlight.release();
            bytes.release(room);
            try {
                ended.complete(reading.of(checked(outcome, want)));
            } catch (FawnException error) {
                ended.completeExceptionally(error);
            }
        }));
        return ended;
    }

    private FawnException reserve(int room, long deadlineUs) {
        try {
            if (bytes.tryAcquire(room, deadlineUs - driver.nowUs(), TimeUnit.MICROSECONDS)) {
                if (inFlight.tryAcquire(deadlineUs - driver.nowUs(), TimeUnit.MICROSECONDS)) {
                    return null;
                }
                bytes.release(room);
            }
            return new FawnException(FawnException.Reason.BUSY);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            return new FawnException(FawnException.Reason.INTERRUPTED);
        }
    }

    private static RequestOutcome checked(RequestOutcome outcome, Request.Want want) throws FawnException {
        switch (outcome.kind) {
            case REFUSED:
                throw FawnException.refused(outcome.refusal);
            case UNREACHED:
                throw new FawnException(FawnException.Reason.UNREACHED);
            case UNKNOWN:
                throw new FawnException(unknown(want));
            default:
                return outcome;
        }
    }

    private static FawnException.Reason unknown(Request.Want want) {
        return want == Request.Want.GET ? FawnException.Reason.TIMED_OUT : FawnException.Reason.UNKNOWN;
    }

    private <T> T await(CompletableFuture<T> asked) throws FawnException {
        try {
            return asked.get(timeoutUs + SLACK_US, TimeUnit.MICROSECONDS);
        } catch (ExecutionException error) {
            if (error.getCause() instanceof FawnException) {
                throw (FawnException) error.getCause();
            }
            throw new IllegalStateException(error.getCause());
        } catch (TimeoutException error) {
            throw new FawnException(FawnException.Reason.UNKNOWN);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new FawnException(FawnException.Reason.INTERRUPTED);
        }
    }

    private <T> List<T> awaitAll(List<CompletableFuture<T>> asked) throws FawnException {
        List<T> all = new ArrayList<>(asked.size());
        for (CompletableFuture<T> each : asked) {
            all.add(await(each));
        }
        return all;
    }
}
