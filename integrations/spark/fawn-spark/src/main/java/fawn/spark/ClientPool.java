package fawn.spark;

import fawn.client.FawnClient;
import fawn.client.FawnException;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** One client for each cluster in this process, for all its tasks. One that nobody uses is closed after half a minute. */
final class ClientPool {
    private static final long IDLE_S = 30;
    private static final Map<ClientSettings, Entry> ENTRIES = new HashMap<>();
    private static final ScheduledExecutorService CLOSER = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "fawn-spark-clients");
        thread.setDaemon(true);
        return thread;
    });

    private ClientPool() {}

    private static final class Entry {
        private FawnClient client;
        private int users;
        /** Counts how often it was taken, so that an old closing does not end what is in use again. */
        private long taken;
    }

    /** A client on loan. */
    static final class Lease implements AutoCloseable {
        private final ClientSettings settings;
        private final Entry entry;
        private boolean isOver;

        private Lease(ClientSettings settings, Entry entry) {
            this.settings = settings;
            this.entry = entry;
        }

        FawnClient client() {
            return entry.client;
        }

        @Override
        public void close() {
            synchronized (entry) {
                if (isOver) {
                    return;
                }
                isOver = true;
                entry.users--;
                long taken = entry.taken;
                if (entry.users == 0) {
                    CLOSER.schedule(() -> retire(settings, entry, taken), IDLE_S, TimeUnit.SECONDS);
                }
            }
        }
    }

    /** A client of a cluster, connected. */
    static Lease take(ClientSettings settings) throws IOException {
        Entry entry;
        synchronized (ENTRIES) {
            entry = ENTRIES.computeIfAbsent(settings, key -> new Entry());
        }
        synchronized (entry) {
            if (entry.client == null) {
                entry.client = connect(settings);
            }
            entry.users++;
            entry.taken++;
            return new Lease(settings, entry);
        }
    }

    private static FawnClient connect(ClientSettings settings) throws IOException {
        try {
            return FawnClient.connect(settings.managers, settings.options());
        } catch (FawnException error) {
            throw new IOException(error.getMessage(), error);
        }
    }

    private static void retire(ClientSettings settings, Entry entry, long taken) {
        synchronized (entry) {
            if (entry.users == 0 && entry.taken == taken && entry.client != null) {
                entry.client.close();
                entry.client = null;
            }
        }
    }
}
