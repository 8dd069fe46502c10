package fawn.spark;

import fawn.client.FawnException;
import fawn.client.Value;
import fawn.client.bulk.RateLimit;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The records of some keys, as far as there are any. A bounded number of gets is under way at a time. */
final class GetSource implements RecordSource {
    private static final int AHEAD = 512;

    private final ClientPool.Lease lease;
    private final Read read;
    private final byte[][] keys;
    private final RateLimit rate;
    private final Counts counts;
    private final ArrayDeque<CompletableFuture<Optional<Value>>> asked = new ArrayDeque<>();
    /** How many keys were asked for, and how many were answered. */
    private int begun;
    private int ended;
    private byte[] key;
    private Value value;

    GetSource(ClientPool.Lease lease, Read read, byte[][] keys, RateLimit rate, Counts counts) {
        this.lease = lease;
        this.read = read;
        this.keys = keys;
        this.rate = rate;
        this.counts = counts;
    }

    @Override
    public boolean next() throws IOException {
        while (ended < keys.length) {
            key = keys[ended];
            if (!read.hasPrefixes(key)) {
                skip();
                continue;
            }
            askAhead();
            Optional<Value> found = await(asked.poll());
            ended++;
            if (found.isPresent()) {
                value = found.get();
                counts.take(rate, 1, (long) key.length + value.bytes.length);
                return true;
            }
        }
        return false;
    }

    private void skip() {
        begun = Math.max(begun, ended + 1);
        ended++;
    }

    private void askAhead() {
        // All at once when few are left, so that gets of one node leave together.
        if (asked.size() > AHEAD / 2) {
            return;
        }
        while (begun < keys.length && asked.size() < AHEAD) {
            if (read.hasPrefixes(keys[begun])) {
                asked.add(lease.client().getAsync(keys[begun]));
                counts.gets++;
            }
            begun++;
        }
    }

    private Optional<Value> await(CompletableFuture<Optional<Value>> first) throws IOException {
        Retry retry = new Retry(read.settings.retryTimeout, counts);
        CompletableFuture<Optional<Value>> future = first;
        for (;;) {
            long beganNs = System.nanoTime();
            try {
                return Reply.of(future, read.settings.client.timeout);
            } catch (FawnException error) {
                retry.after(error);
                counts.gets++;
                future = lease.client().getAsync(key);
            } finally {
                counts.waitNs += System.nanoTime() - beganNs;
            }
        }
    }

    @Override
    public byte[] key() {
        return key;
    }

    @Override
    public Value value() {
        return value;
    }

    @Override
    public void close() {
        lease.close();
    }
}
