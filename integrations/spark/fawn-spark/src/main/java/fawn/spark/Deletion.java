package fawn.spark;

import fawn.client.FawnException;
import fawn.client.bulk.RateLimit;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Deletes the records of some keys, or all of them, from the driver. */
final class Deletion {
    private final Settings settings;
    private final KeySet keys;

    private Deletion(Settings settings, KeySet keys) {
        this.settings = settings;
        this.keys = keys;
    }

    /** One of exactly these keys; all of them only if the options say that this is meant. */
    static Deletion of(Settings settings, KeySet keys) {
        if (!keys.isExact()) {
            throw new IllegalArgumentException(
                    "format fawn deletes by conditions on the key alone: use key = ... or key IN (...)");
        }
        if (!keys.isBounded() && !settings.mayTruncate) {
            throw new IllegalArgumentException("this would delete every record of the cluster, whoever wrote it: "
                    + "set option confirm.truncate to true if that is meant");
        }
        return new Deletion(settings, keys);
    }

    void run() {
        Counts counts = new Counts();
        try (ClientPool.Lease lease = ClientPool.take(settings.client)) {
            if (keys.isBounded()) {
                InFlight deletes = new InFlight(lease.client(), settings, new RateLimit(0, 0), counts);
                for (byte[] key : keys.keys()) {
                    deletes.add(key, null, 0, 0);
                }
                deletes.finish();
            } else {
                flush(lease, new Retry(settings.retryTimeout, counts));
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error.getMessage(), error);
        }
    }

    private static void flush(ClientPool.Lease lease, Retry retry) throws IOException {
        for (;;) {
            try {
                lease.client().flushAll();
                return;
            } catch (FawnException error) {
                retry.after(error);
            }
        }
    }
}
