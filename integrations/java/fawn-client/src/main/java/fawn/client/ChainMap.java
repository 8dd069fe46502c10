package fawn.client;

import fawn.client.wire.Chain;
import fawn.client.wire.Interval;
import fawn.client.wire.Key;
import fawn.client.wire.Member;
import fawn.client.wire.Pair;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The newest known chain of every key. Ranges of a map do not overlap. */
final class ChainMap {
    /** The bit of a node's number that says that it is an archive. */
    private static final long ARCHIVE = 1L << 31;

    /** By the last key. */
    private final TreeMap<Key, Pair<Long, Chain>> chains = new TreeMap<>();
    private long number;

    /** The members of a chain that are no archives, head first; all where there are no others. */
    static List<Member> readable(Chain chain) {
        List<Member> serving = new ArrayList<>(chain.members);
        serving.removeIf(ChainMap::isArchive);
        return serving.isEmpty() ? chain.members : serving;
    }

    /** Whether a member is on a node of class archive. */
    static boolean isArchive(Member member) {
        return (member.node & ARCHIVE) != 0;
    }

    /** As of which change of the manager's it is; whatever is newer is still to be learnt. */
    long number() {
        return number;
    }

    boolean isEmpty() {
        return chains.isEmpty();
    }

    /** Learns what has changed after one of the manager's changes, up to another. */
    void learnChanges(long since, long upto, List<Pair<Long, Chain>> changes) {
        for (Pair<Long, Chain> change : changes) {
            if (!change.second.members.isEmpty()) {
                learn(change);
            }
        }
        // An answer to who bore the name before leaves out what this one never heard.
        if (since <= number) {
            number = Math.max(number, upto);
        }
    }

    /** Learns of a chain. Where keys are known to be in a later epoch, it is old. */
    private void learn(Pair<Long, Chain> range) {
        List<Key> overlapping = new ArrayList<>();
        Interval keys = range.second.keys;
        for (Map.Entry<Key, Pair<Long, Chain>> known : chains.tailMap(keys.low, true).entrySet()) {
            if (known.getValue().second.keys.low.compareTo(keys.high) > 0) {
                break;
            }
            if (known.getValue().second.epoch > range.second.epoch) {
                return;
            }
            overlapping.add(known.getKey());
        }
        overlapping.forEach(chains::remove);
        chains.put(keys.high, range);
    }

    /** All ranges in the order of their keys; {@code null} while the chain of any key is not known. */
    List<Pair<Long, Chain>> whole() {
        List<Pair<Long, Chain>> whole = new ArrayList<>();
        Key next = Key.LOWEST;
        for (Pair<Long, Chain> range : chains.values()) {
            if (!range.second.keys.low.equals(next)) {
                return null;
            }
            whole.add(range);
            next = range.second.keys.high.successor();
        }
        return next == null ? whole : null;
    }

    /** The range of a position and its chain; {@code null} if none is known. */
    Pair<Long, Chain> lookup(Key position) {
        Map.Entry<Key, Pair<Long, Chain>> next = chains.ceilingEntry(position);
        return next != null && next.getValue().second.keys.contains(position) ? next.getValue() : null;
    }
}
