package fawn.spark;

import fawn.client.bulk.RateLimit;
import fawn.client.bulk.WriteQueue;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What a task has done, as Spark's page shows it. */
final class Counts implements WriteQueue.Meter {
    long records;
    long bytes;
    long gets;
    long retries;
    long waitNs;

    /** Counts records that were read, and waits until the rate lets them pass. */
    void take(RateLimit rate, long number, long size) throws InterruptedIOException {
        records += number;
        bytes += size;
        long ns = rate.take(number, size, System.nanoTime());
        if (ns > 0) {
            try {
                TimeUnit.NANOSECONDS.sleep(ns);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("the task was interrupted while it waited for its rate limit");
            }
            waitNs += ns;
        }
    }

    @Override
    public void paced(long ns) {
        waitNs += ns;
    }

    @Override
    public void waited(long ns) {
        waitNs += ns;
    }

    @Override
    public void retried() {
        retries++;
    }

    /** The metrics that reads and writes report. */
    static CustomMetric[] metrics() {
        return new CustomMetric[] {new Records(), new Bytes(), new Gets(), new Retries(), new Waits()};
    }

    CustomTaskMetric[] now() {
        List<CustomTaskMetric> all = new ArrayList<>();
        all.add(value(Records.NAME, records));
        all.add(value(Bytes.NAME, bytes));
        all.add(value(Gets.NAME, gets));
        all.add(value(Retries.NAME, retries));
        all.add(value(Waits.NAME, waitNs / 1_000_000));
        return all.toArray(new CustomTaskMetric[0]);
    }

    private static CustomTaskMetric value(String name, long value) {
        return new CustomTaskMetric() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public long value() {
                return value;
            }
        };
    }

    /** A metric that adds up what the tasks report. Spark makes those of its classes by name. */
    private abstract static class Sum extends CustomSumMetric {
        private final String name;
        private final String description;

        private Sum(String name, String description) {
            this.name = name;
            this.description = description;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public String description() {
            return description;
        }
    }

    /** Records that came from nodes, or went to them. */
    public static final class Records extends Sum {
        static final String NAME = "fawnRecords";

        public Records() {
            super(NAME, "records exchanged with nodes");
        }
    }

    /** Bytes of their keys and values. */
    public static final class Bytes extends Sum {
        static final String NAME = "fawnBytes";

        public Bytes() {
            super(NAME, "bytes of keys and values exchanged with nodes");
        }
    }

    /** Keys that were asked for one by one. */
    public static final class Gets extends Sum {
        static final String NAME = "fawnGets";

        public Gets() {
            super(NAME, "gets");
        }
    }

    /** Requests and scans that were begun again. */
    public static final class Retries extends Sum {
        static final String NAME = "fawnRetries";

        public Retries() {
            super(NAME, "requests retried");
        }
    }

    /** Milliseconds that tasks waited for limits and for replies. */
    public static final class Waits extends Sum {
        static final String NAME = "fawnWaits";

        public Waits() {
            super(NAME, "ms that tasks waited for replies and rate limits");
        }
    }
}
