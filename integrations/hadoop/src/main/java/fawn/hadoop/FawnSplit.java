package fawn.hadoop;

import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputSplit;

/** Keys that one task reads: an interval of positions, of one range when the job was submitted. */
public final class FawnSplit extends InputSplit implements Writable {
    private static final BigInteger POSITIONS = BigInteger.ONE.shiftLeft(8 * Key.BYTES);
    private static final long MILLION = 1_000_000;

    private Interval interval = Interval.ALL;
    private List<String> hosts = List.of();

    /** For Hadoop, which reads its fields afterwards. */
    public FawnSplit() {}

    FawnSplit(Interval interval, List<String> hosts) {
        this.interval = interval;
        this.hosts = hosts;
    }

    /** The splits of a range: so many intervals that differ by a position at most. */
    static List<FawnSplit> of(Interval range, List<String> hosts, int count) {
        List<FawnSplit> splits = new ArrayList<>();
        range.divide(count).forEach(interval -> splits.add(new FawnSplit(interval, hosts)));
        return splits;
    }

    /** The positions of its keys. */
    public Interval interval() {
        return interval;
    }

    /** Millionths of all positions: nobody knows how many bytes they hold, but keys are spread evenly. */
    @Override
    public long getLength() {
        BigInteger size = interval.size().subtract(BigInteger.ONE);
        return size.multiply(BigInteger.valueOf(MILLION)).divide(POSITIONS).longValueExact();
    }

    /** The hosts that have them; the one that answers reads comes first. */
    @Override
    public String[] getLocations() {
        return hosts.toArray(new String[0]);
    }

    @Override
    public void write(DataOutput out) throws IOException {
        out.write(interval.low.toBytes());
        out.write(interval.high.toBytes());
        out.writeInt(hosts.size());
        for (String host : hosts) {
            out.writeUTF(host);
        }
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        byte[] low = new byte[Key.BYTES];
        byte[] high = new byte[Key.BYTES];
        in.readFully(low);
        in.readFully(high);
        interval = new Interval(Key.of(low), Key.of(high));
        List<String> read = new ArrayList<>();
        for (int count = in.readInt(); count > 0; count--) {
            read.add(in.readUTF());
        }
        hosts = read;
    }

    @Override
    public String toString() {
        return "positions " + interval.low + " to " + interval.high + " at " + hosts;
    }
}
