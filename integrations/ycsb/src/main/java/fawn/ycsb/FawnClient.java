package fawn.ycsb;

import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicInteger;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * YCSB's binding for FAWN: over memcached's text protocol, or over that of clusters. README.md has its properties.
 *
 * <p>A record is one value, its key {@code TABLE:KEY}. YCSB makes an object for each of its threads; they share one client.
 */
public final class FawnClient extends DB {
    /** Servers of one store or cluster, {@code HOST:PORT}, with commas between them. */
    static final String SERVERS = "fawn.servers";
    /** Managers of a cluster, {@code HOST:PORT}, with commas between them; then its own protocol is spoken. */
    static final String MANAGERS = "fawn.managers";
    /** Connections to each server. By default one for every eight threads of YCSB. */
    static final String CONNECTIONS = "fawn.connections";
    /** Longest wait for an answer, milliseconds. */
    static final String TIMEOUT_MS = "fawn.timeoutms";

    private static final String DEFAULT_SERVERS = "127.0.0.1:11211";
    private static final String DEFAULT_TIMEOUT_MS = "10000";
    private static final int THREADS_A_CONNECTION = 8;
    /** Times that an update is begun anew, as others have written the record meanwhile. */
    private static final int MOST_TRIES = 100;
    /** Failures that are told, of all threads together. YCSB counts all of them. */
    private static final int MOST_TOLD = 10;

    private static Records records;
    private static int users;
    private static final AtomicInteger told = new AtomicInteger();

    private boolean writesAllFields;

    /** An operation that may fail. */
    private interface Operation {
        Status run(String key) throws IOException, InterruptedException;
    }

    @Override
    public void init() throws DBException {
        Properties properties = getProperties();
        writesAllFields = Boolean.parseBoolean(properties.getProperty("writeallfields", "false"));
        synchronized (FawnClient.class) {
            if (records == null) {
                records = connect(properties);
            }
            users++;
        }
    }

    private static Records connect(Properties properties) throws DBException {
        int timeoutMs = Integer.parseInt(properties.getProperty(TIMEOUT_MS, DEFAULT_TIMEOUT_MS));
        String managers = properties.getProperty(MANAGERS);
        if (managers != null) {
            return ClusterRecords.connect(managers, timeoutMs);
        }
        int threads = Integer.parseInt(properties.getProperty("threadcount", "1"));
        int needed = (threads + THREADS_A_CONNECTION - 1) / THREADS_A_CONNECTION;
        int connections = Integer.parseInt(properties.getProperty(CONNECTIONS, String.valueOf(needed)));
        return MemcachedRecords.connect(properties.getProperty(SERVERS, DEFAULT_SERVERS), connections, timeoutMs);
    }

    @Override
    public void cleanup() throws DBException {
        synchronized (FawnClient.class) {
            users--;
            if (users > 0) {
                return;
            }
            try {
                records.close();
            } catch (IOException error) {
                throw new DBException(error);
            } finally {
                records = null;
            }
        }
    }

    @Override
    public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        return carryOut("read", table, key, name -> {
            byte[] value = records.get(name);
            if (value == null) {
                return Status.NOT_FOUND;
            }
            Fields.decode(value).forEach((field, bytes) -> {
                if (fields == null || fields.contains(field)) {
                    result.put(field, new ByteArrayByteIterator(bytes));
                }
            });
            return Status.OK;
        });
    }

    /** A set: records that are there already are replaced, so that a load can be repeated. */
    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
        byte[] value = encoded("insert", bytesOf(values));
        return carryOut("insert", table, key, name ->
                records.set(name, value) ? Status.OK : refused("insert", name));
    }

    /**
     * With writeallfields=true one write of the whole record. Else the record is read, the fields are put in, and it is written if
     * nobody else has written it meanwhile; if somebody has, all of it is done again.
     */
    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
        // An iterator can be read once, and an update may have to be tried again.
        Map<String, byte[]> fields = bytesOf(values);
        if (writesAllFields) {
            byte[] value = encoded("update", fields);
            return carryOut("update", table, key, name ->
                    records.replace(name, value) ? Status.OK : Status.NOT_FOUND);
        }
        return carryOut("update", table, key, name -> {
            for (int tries = 0; tries < MOST_TRIES; tries++) {
                Records.Found found = records.gets(name);
                if (found == null) {
                    return Status.NOT_FOUND;
                }
                Map<String, byte[]> record = Fields.decode(found.value);
                record.putAll(fields);
                if (records.cas(name, Fields.encode(record), found.cas)) {
                    return Status.OK;
                }
            }
            return refused("update", name + ": others wrote it " + MOST_TRIES + " times meanwhile");
        });
    }

    @Override
    public Status delete(String table, String key) {
        return carryOut("delete", table, key, name -> records.delete(name) ? Status.OK : Status.NOT_FOUND);
    }

    @Override
    public Status scan(String table, String startKey, int count, Set<String> fields,
            Vector<HashMap<String, ByteIterator>> result) {
        tell("a scan was asked for, and keys have no order here: workload E cannot be run");
        return Status.NOT_IMPLEMENTED;
    }

    private static Status carryOut(String what, String table, String key, Operation operation) {
        String name = table + ":" + key;
        try {
            return operation.run(name);
        } catch (InterruptedException interrupted) {
            // YCSB's time is up.
            Thread.currentThread().interrupt();
            return Status.ERROR;
        } catch (IOException error) {
            return refused(what, name + ": " + error);
        }
    }

    private static Status refused(String what, String why) {
        tell("an operation failed: " + what + " of " + why);
        return Status.ERROR;
    }

    private static void tell(String line) {
        if (told.getAndIncrement() < MOST_TOLD) {
            System.err.println("fawn: " + line);
        }
    }

    private static Map<String, byte[]> bytesOf(Map<String, ByteIterator> values) {
        Map<String, byte[]> bytes = new LinkedHashMap<>();
        values.forEach((field, value) -> bytes.put(field, value.toArray()));
        return bytes;
    }

    private static byte[] encoded(String what, Map<String, byte[]> fields) {
        try {
            return Fields.encode(fields);
        } catch (IOException error) {
            // Nothing is written but memory: a field's name is longer than 65,535 bytes.
            throw new IllegalArgumentException(what + " of fields that no record can have", error);
        }
    }
}
