package fawn.client;

import fawn.client.wire.Chain;
import fawn.client.wire.Key;
import fawn.client.wire.Message;
import fawn.client.wire.Pair;
import fawn.client.wire.Wedge;
import java.util.ArrayList;
import java.util.List;

/** Who is in which chain, and who owns which wedge, as far as managers have said. */
final class Routes {
    private final ChainMap map = new ChainMap();
    /** In the order of their keys. */
    private final List<Wedge> wedges = new ArrayList<>();

    /** Takes what is newer. */
    void learn(Message.View view) {
        map.learnChanges(view.since, view.number, view.chains);
        for (int at = 0; at < view.wedges.size(); at++) {
            Wedge wedge = view.wedges.get(at);
            if (at >= wedges.size()) {
                wedges.add(wedge);
            } else if (isNewer(wedge, wedges.get(at))) {
                wedges.set(at, wedge);
            }
        }
    }

    private static boolean isNewer(Wedge wedge, Wedge known) {
        int order = Long.compareUnsigned(wedge.epoch, known.epoch);
        return order > 0 || order == 0 && wedge.released && !known.released;
    }

    /** As of which change chains are known. */
    long number() {
        return map.number();
    }

    /** The number of a position's range; {@code null} if none is known. */
    Long rangeAt(Key position) {
        Pair<Long, Chain> range = map.lookup(position);
        return range == null ? null : range.first;
    }

    /** The front-end that owns a position's wedge; {@code null} if none is known. */
    Long ownerAt(Key position) {
        int low = 0;
        int high = wedges.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (wedges.get(middle).keys.high.compareTo(position) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low == wedges.size() || wedges.get(low).owner == null ? null : (Long) wedges.get(low).owner.front;
    }
}
