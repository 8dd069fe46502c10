package fawn.client;

import fawn.client.wire.Address;
import fawn.client.wire.Control;
import fawn.client.wire.Frame;
import fawn.client.wire.Message;
import fawn.client.wire.Pair;
import fawn.client.wire.Party;
import fawn.client.wire.Roster;
import fawn.client.wire.RosterMember;
import fawn.client.wire.WireWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds the manager that leads, and who is in the cluster. One connection is kept, to the manager that leads as far as is
 * known: it alone answers who owns what. Any other, and any member, says who the managers are. A leader that is not reached
 * is called by way of another manager.
 */
final class LeaderDiscovery {
    /** Most seats of one member. */
    static final long MOST_SEATS = 64;
    /** Between two calls, in microseconds. */
    private static final long REDIAL_US = 100_000;
    /** What has not been told is asked for again. */
    private static final long ASK_US = 200_000;
    /** A manager that does not answer for so long, or knows of none that leads, is left for another. */
    private static final long SILENT_US = 2_000_000;
    /** A leader that was not reached is called by way of other managers for so long. */
    private static final long UNREACHED_US = 10_000_000;
    private static final long NEVER = Long.MAX_VALUE;

    private final List<String> seeds;
    private final Caller caller;
    /** Calls so far. */
    private int tried;
    /** Whom to call next, before all others; {@code null} for nobody. */
    private Hint hint;
    /** Where those are who were called and did not answer, and until when that counts. */
    private final Map<String, Long> unreached = new HashMap<>();
    private Long leader;
    private Connection kept;
    private long againUs;
    private Roster roster = new Roster(0, List.of(), List.of(), List.of(), List.of(), 0);

    /** Makes calls. */
    interface Caller {
        Link call(Whom whom);
    }

    /** An address, and the manager that is to be reached through it, if it is another. */
    private static final class Hint {
        private final String address;
        private final Long leader;

        Hint(String address, Long leader) {
            this.address = address;
            this.leader = leader;
        }
    }

    /** The connection that is kept. */
    private static final class Connection {
        private final Link link;
        private final String address;
        /** It is to connect this client with the leader. */
        private final boolean isWay;
        /** Who is at the other end; {@code null}: it has yet to say. */
        private Party party;
        /** What it calls this client. */
        private Address me;
        private final WireWriter output = new WireWriter(256);
        /** Since when it owes an answer. */
        private long owesSinceUs = NEVER;
        /** Since when it has not been with the manager that leads. */
        private long astraySinceUs = NEVER;
        /** When it was last asked for what has not been told. */
        private long askedUs = -ASK_US;

        Connection(Link link, String address, boolean isWay) {
            this.link = link;
            this.address = address;
            this.isWay = isWay;
        }

        /** When it is left for another, if nothing comes of it. */
        long deadlineUs() {
            long since = Math.min(owesSinceUs, astraySinceUs);
            return since == NEVER ? NEVER : since + SILENT_US;
        }
    }

    LeaderDiscovery(List<String> seeds, Caller caller) {
        this.seeds = seeds;
        this.caller = caller;
    }

    Roster roster() {
        return roster;
    }

    /** The member that has a seat, with its name; {@code null} for none. */
    Pair<String, RosterMember> memberOf(long seat) {
        for (Pair<String, RosterMember> member : roster.members) {
            long first = member.second.first;
            if (first <= seat && seat < first + Math.min(member.second.said.seats, MOST_SEATS)) {
                return member;
            }
        }
        return null;
    }

    /** The seats that serve clients. */
    List<Long> fronts() {
        List<Long> fronts = new ArrayList<>();
        for (Pair<String, RosterMember> member : roster.members) {
            long seats = member.second.said.isFront ? Math.min(member.second.said.seats, MOST_SEATS) : 0;
            for (long seat = 0; seat < seats; seat++) {
                fronts.add(member.second.first + seat);
            }
        }
        return fronts;
    }

    /** Whether this is the connection that is kept. */
    boolean has(Link link) {
        return kept != null && kept.link == link;
    }

    /** When there is something to do next. */
    long dueUs() {
        return kept == null ? againUs : kept.deadlineUs();
    }

    /** Calls somebody, if it is time to. */
    void look(byte[] cluster, long nowUs) {
        if (kept != null && nowUs >= kept.deadlineUs()) {
            leave(nowUs);
        }
        if (kept != null || nowUs < againUs) {
            return;
        }
        unreached.values().removeIf(untilUs -> nowUs >= untilUs);
        Hint next = hint != null ? hint : turn();
        hint = null;
        tried++;
        againUs = nowUs + REDIAL_US;
        int equals = next.address.indexOf('=');
        String member = equals < 0 ? null : next.address.substring(0, equals);
        String address = next.address.substring(equals + 1);
        Link link = caller.call(new Whom(address, member, null, next.leader, cluster));
        kept = new Connection(link, address, next.leader != null);
    }

    /** Whose turn it is: managers that are known, then where the cluster was said to be; one that answers before others. */
    private Hint turn() {
        List<String> all = new ArrayList<>();
        roster.managers.forEach(manager -> all.add(manager.second));
        for (String seed : seeds) {
            if (!all.contains(seed)) {
                all.add(seed);
            }
        }
        for (int turn = 0; turn < all.size(); turn++) {
            String address = all.get(Math.floorMod(tried + turn, all.size()));
            if (!unreached.containsKey(address)) {
                return new Hint(address, null);
            }
        }
        return new Hint(all.get(Math.floorMod(tried, all.size())), null);
    }

    /** The connection stands. */
    void up(Party party, Address me, long nowUs) {
        kept.party = party;
        kept.me = me;
        say(new Control.AskRoster(roster.number));
        follow(nowUs);
    }

    private void say(Control control) {
        Frame.of(control).write(kept.output);
    }

    /** The connection is over, or is to be another. */
    void leave(long nowUs) {
        if (kept != null) {
            if (!kept.isWay && (kept.party == null || kept.owesSinceUs != NEVER)) {
                unreached.put(kept.address, nowUs + UNREACHED_US);
            }
            kept.link.close();
            kept = null;
        }
        leader = null;
    }

    /** Ends the connection. */
    void close() {
        if (kept != null) {
            kept.link.close();
            kept = null;
        }
    }

    /** Who leads; {@code null}: nobody knows. */
    void leads(Long manager, long nowUs) {
        leader = manager;
        follow(nowUs);
    }

    /** Who is in the cluster; returns whether that is news. */
    boolean heard(Roster news, long nowUs) {
        boolean isNews = Long.compareUnsigned(news.number, roster.number) > 0;
        if (isNews) {
            roster = news;
        }
        follow(nowUs);
        return isNews;
    }

    /** Goes to the manager that leads, if another one is connected, or a member; or has the other one connect it. */
    private void follow(long nowUs) {
        if (kept == null || kept.party == null) {
            return;
        }
        Long here = kept.party instanceof Party.Manager ? (Long) ((Party.Manager) kept.party).value : null;
        Hint next = null;
        if (here != null && leader != null && !here.equals(leader)) {
            String address = managerAt(leader);
            if (address != null && unreached.containsKey(address)) {
                next = new Hint(kept.address, leader);
            } else if (address != null) {
                next = new Hint(address, null);
            }
        } else if (kept.party instanceof Party.Seat && !roster.managers.isEmpty()) {
            String first = roster.managers.get(0).second;
            next = new Hint(roster.managers.stream().map(manager -> manager.second)
                    .filter(address -> !unreached.containsKey(address)).findFirst().orElse(first), null);
        }
        if (next != null) {
            hint = next;
            kept.link.close();
            kept = null;
            leader = null;
        } else if (here != null && here.equals(leader)) {
            kept.astraySinceUs = NEVER;
        } else if (kept.astraySinceUs == NEVER) {
            // One that was cut off from the others may never hear of one that leads.
            kept.astraySinceUs = nowUs;
        }
    }

    private String managerAt(Long id) {
        return roster.managers.stream().filter(manager -> manager.first.equals(id))
                .map(manager -> manager.second).findFirst().orElse(null);
    }

    /** Asks where keys lie, until that is told, and who there is if nobody is known. */
    void askForTheRest(boolean hasSecret, long nowUs) {
        if (kept == null || kept.party == null || nowUs < kept.askedUs + ASK_US) {
            return;
        }
        kept.askedUs = nowUs;
        say(new Control.AskRoster(roster.number));
        if (!hasSecret) {
            say(new Control.AskSecret());
        }
    }

    /** Puts a question to the manager that leads, if it is connected. */
    void ask(Outgoing question, long nowUs) {
        boolean leads = kept != null && leader != null && kept.party instanceof Party.Manager
                && ((Party.Manager) kept.party).value == leader;
        if (leads) {
            Message message = question.of(kept.me);
            Frame.of(new Address.Manager(), kept.me, message).write(kept.output);
            kept.owesSinceUs = Math.min(kept.owesSinceUs, nowUs);
        }
    }

    /** The manager has answered. */
    void answered() {
        if (kept != null) {
            kept.owesSinceUs = NEVER;
        }
    }

    /** Sends what there is to say. */
    void flush() {
        if (kept != null && kept.output.length() > 0) {
            kept.link.send(kept.output);
            kept.output.clear(1024);
        }
    }
}
