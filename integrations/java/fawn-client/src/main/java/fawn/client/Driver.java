package fawn.client;

import fawn.client.wire.Address;
import fawn.client.wire.Control;
import fawn.client.wire.Frame;
import fawn.client.wire.Greeted;
import fawn.client.wire.Message;
import fawn.client.wire.MessageCodec;
import fawn.client.wire.Pair;
import fawn.client.wire.Party;
import fawn.client.wire.PositionHash;
import fawn.client.wire.RosterMember;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The thread that owns a client's connections: requests in, answers out. Whom to ask, and when again, {@link RequestMachine}
 * decides. Whatever others want of it they put into its queue.
 */
final class Driver implements Link.Listener {
    /** Tasks that are done before what they said is sent. */
    private static final int TASKS_A_TURN = 1024;
    /** The driver looks at least so often what is to be done, in microseconds; while it connects, sooner. */
    private static final long LOOK_US = 500_000;
    private static final long CONNECTING_LOOK_US = 50_000;

    private final Dialler dialler;
    private final LeaderDiscovery discovery;
    private final LinkedBlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
    private final Map<Long, SeatConnection> seats = new HashMap<>();
    private final List<ScanTask> scans = new ArrayList<>();
    private final List<RangesQuery> queries = new ArrayList<>();
    private final List<Outgoing> out = new ArrayList<>();
    private final long beganNs = System.nanoTime();
    /** Ends with where keys lie, once the cluster was found. */
    private final CompletableFuture<PositionHash> connected = new CompletableFuture<>();
    private PositionHash hash;
    private RequestMachine machine;
    private byte[] cluster;
    private boolean isClosed;
    /** The thread has ended. */
    private volatile boolean isOver;
    private volatile String lastFailure = "no answer yet";

    /** One of a cluster that is found at these addresses. */
    Driver(List<String> addresses, Dialler dialler) {
        this.dialler = dialler;
        this.discovery = new LeaderDiscovery(addresses, whom -> Link.call(whom, dialler, this));
        Thread thread = new Thread(this::run, "fawn-client");
        thread.setDaemon(true);
        thread.start();
    }

    CompletableFuture<PositionHash> connected() {
        return connected;
    }

    /** Why the last connection was over. */
    String lastFailure() {
        return lastFailure;
    }

    /** Microseconds since the driver was made. */
    long nowUs() {
        return (System.nanoTime() - beganNs) / 1000 + 1;
    }

    private Now now() {
        return new Now(nowUs(), Math.min(System.currentTimeMillis() / 1000, 0xffff_ffffL));
    }

    /** Has a request carried out; after the end nobody is asked any more. */
    void ask(Request request) {
        post(() -> {
            if (isClosed || machine == null) {
                request.done.accept(RequestOutcome.of(RequestOutcome.Kind.UNREACHED));
            } else {
                machine.ask(request, now());
            }
        });
    }

    /** Asks which ranges there are; the answer comes before the deadline, or a {@link FawnException}. */
    CompletableFuture<List<RangeInfo>> ranges(long deadlineUs) {
        RangesQuery query = new RangesQuery(deadlineUs);
        post(() -> {
            if (isClosed) {
                query.close();
            } else {
                queries.add(query);
            }
        });
        return query.ended();
    }

    /** Begins a scan. */
    void scan(ScanTask scan) {
        post(() -> scans.add(scan));
    }

    /** There is something to do: an event of a scan was taken, say. */
    void wake() {
        post(() -> { });
    }

    /** Ends all connections. Requests that have not ended do so now. */
    void close() {
        post(() -> isClosed = true);
    }

    private void run() {
        try {
            while (!isClosed) {
                settle();
                Runnable task = tasks.poll(waitUs(), TimeUnit.MICROSECONDS);
                for (int count = 0; task != null && count < TASKS_A_TURN; count++) {
                    task.run();
                    task = count + 1 < TASKS_A_TURN ? tasks.poll() : null;
                }
            }
        } catch (InterruptedException error) {
            lastFailure = "the client's thread was interrupted";
        } finally {
            end();
        }
    }

    private void end() {
        isClosed = true;
        discovery.close();
        seats.values().forEach(seat -> seat.link.close());
        if (machine != null) {
            machine.close();
        }
        queries.forEach(RangesQuery::close);
        seats.clear();
        isOver = true;
        drain();
    }

    /** Does what is left after the end, which asks nobody any more. */
    private synchronized void drain() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    /** Has something done by the driver's thread or, once that has ended, here. */
    private void post(Runnable task) {
        tasks.add(task);
        if (isOver) {
            drain();
        }
    }

    private long waitUs() {
        long dueUs = discovery.dueUs();
        dueUs = Math.min(dueUs, machine == null ? Long.MAX_VALUE : machine.dueUs());
        for (ScanTask scan : scans) {
            dueUs = Math.min(dueUs, scan.dueUs());
        }
        for (RangesQuery query : queries) {
            dueUs = Math.min(dueUs, query.dueUs());
        }
        long mostUs = connected.isDone() ? LOOK_US : CONNECTING_LOOK_US;
        return Math.max(0, Math.min(dueUs - nowUs(), mostUs));
    }

    /** Does what is due, and sends what there is. */
    private void settle() {
        Now now = now();
        discovery.look(cluster, now.us);
        if (!connected.isDone()) {
            discovery.askForTheRest(machine != null, now.us);
        }
        leaveSilent(now);
        if (machine != null) {
            machine.tick(now);
        }
        scans.removeIf(scan -> !scan.tick(now, out));
        queries.removeIf(query -> !query.tick(now, discovery::memberOf, out));
        for (int at = 0; at < out.size(); at++) {
            send(out.get(at), now);
        }
        out.clear();
        discovery.flush();
        seats.values().forEach(SeatConnection::flush);
    }

    private void leaveSilent(Now now) {
        List<Long> silent = new ArrayList<>();
        seats.forEach((seat, connection) -> {
            if (connection.isSilent(now.us)) {
                silent.add(seat);
            }
        });
        silent.forEach(seat -> lost(seat, now));
    }

    private void send(Outgoing message, Now now) {
        Long seat = seatOf(message.to);
        if (seat == null) {
            discovery.ask(message, now.us);
            return;
        }
        SeatConnection connection = seats.get(seat);
        if (connection == null) {
            Pair<String, RosterMember> member = discovery.memberOf(seat);
            if (member == null) {
                unreached(seat, List.of(message), now);
                return;
            }
            Whom whom = new Whom(member.second.said.address, member.first, seat, null, cluster);
            connection = new SeatConnection(Link.call(whom, dialler, this));
            seats.put(seat, connection);
            machine.called(seat, now);
        }
        if (!connection.put(message, now.us)) {
            scans.forEach(ScanTask::tooOld);
        }
    }

    private static Long seatOf(Address address) {
        if (address instanceof Address.Front) {
            return ((Address.Front) address).value;
        }
        return address instanceof Address.Node ? (Long) ((Address.Node) address).value : null;
    }

    /** A connection to a seat is over, or was never made: then what waited for it was not sent. */
    private void lost(long seat, Now now) {
        SeatConnection connection = seats.remove(seat);
        connection.link.close();
        if (connection.isUp()) {
            machine.lost(seat, now);
            scans.forEach(scan -> scan.lost(seat, now));
        } else {
            unreached(seat, connection.held(), now);
        }
    }

    private void unreached(long seat, List<Outgoing> unsent, Now now) {
        machine.unreached(seat, unsent, now);
        scans.forEach(scan -> scan.lost(seat, now));
    }

    @Override
    public void up(Link link, Greeted greeted) {
        post(() -> {
            Address me = new Address.Client(greeted.you instanceof Party.Client ? ((Party.Client) greeted.you).value : 0);
            cluster = cluster == null ? greeted.cluster : cluster;
            Long seat = seatOf(link);
            if (discovery.has(link)) {
                discovery.up(greeted.from, me, nowUs());
            } else if (seat != null) {
                machine.up(seat);
                if (!seats.get(seat).up(me, greeted.version, nowUs())) {
                    scans.forEach(ScanTask::tooOld);
                }
            }
        });
    }

    @Override
    public void heard(Link link, List<Frame> frames, Runnable taken) {
        post(() -> {
            taken.run();
            Long seat = seatOf(link);
            Now now = now();
            if (discovery.has(link)) {
                for (Frame frame : frames) {
                    heardFromManager(frame, now);
                }
            } else if (seat != null) {
                SeatConnection connection = seats.get(seat);
                connection.heard();
                frames.forEach(frame -> heardFromSeat(frame, connection.version(), now));
            }
        });
    }

    @Override
    public void over(Link link, String why) {
        post(() -> {
            Long seat = seatOf(link);
            if (discovery.has(link)) {
                lastFailure = why;
                discovery.leave(nowUs());
            } else if (seat != null) {
                lastFailure = why;
                lost(seat, now());
            }
        });
    }

    /** The seat that a link goes to; {@code null} if it is a manager's, or was left. */
    private Long seatOf(Link link) {
        for (Map.Entry<Long, SeatConnection> seat : seats.entrySet()) {
            if (seat.getValue().link == link) {
                return seat.getKey();
            }
        }
        return null;
    }

    private void heardFromManager(Frame frame, Now now) {
        if (frame.message instanceof Message.View) {
            discovery.answered();
            scans.forEach(scan -> scan.receive(frame.message, now));
            queries.forEach(query -> query.receive((Message.View) frame.message));
            if (machine != null) {
                machine.receive(frame.message, MessageCodec.NEWEST, now);
            }
        } else if (frame.control instanceof Control.Leads) {
            discovery.leads(((Control.Leads) frame.control).leader, now.us);
        } else if (frame.control instanceof Control.TellsRoster) {
            if (discovery.heard(((Control.TellsRoster) frame.control).roster, now.us)) {
                learnFronts(now);
            }
        } else if (frame.control instanceof Control.Secret && machine == null) {
            hash = ((Control.Secret) frame.control).hash();
            machine = new RequestMachine(new SecureRandom().nextInt(), out);
            learnFronts(now);
        }
    }

    private void heardFromSeat(Frame frame, int version, Now now) {
        if (frame.message instanceof Message.Reply) {
            machine.receive(frame.message, version, now);
        } else if (frame.message instanceof Message.Scanned) {
            scans.forEach(scan -> scan.receive(frame.message, now));
        }
    }

    /** The roster has changed: who has gone, or moved, is not asked there any more. */
    private void learnFronts(Now now) {
        List<Long> gone = new ArrayList<>(seats.keySet());
        gone.removeIf(seat -> discovery.memberOf(seat) != null);
        gone.forEach(seat -> lost(seat, now));
        List<Long> fronts = discovery.fronts();
        if (machine != null) {
            machine.setFronts(fronts);
            if (!fronts.isEmpty()) {
                connected.complete(hash);
            }
        }
    }
}
