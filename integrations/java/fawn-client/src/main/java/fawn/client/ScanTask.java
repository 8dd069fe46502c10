package fawn.client;

import fawn.client.wire.Message;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A scan between the driver's thread and the one that takes its events. */
final class ScanTask {
    /** Events that wait to be taken: each holds a part of a range, some 256 KiB. */
    private static final int EVENTS = 2;

    private final ScanMachine machine;
    private final ArrayBlockingQueue<ScanEvent> events = new ArrayBlockingQueue<>(EVENTS);
    private volatile String trouble = "no node was asked yet";
    private volatile boolean isClosed;

    ScanTask(ScanMachine machine) {
        this.machine = machine;
    }

    /** The next event; {@code null} if none comes in time. For the thread that takes them. */
    ScanEvent take(long timeoutMs) throws InterruptedException {
        return events.poll(timeoutMs, TimeUnit.MILLISECONDS);
    }

    /** Why nothing has come for a while. */
    String trouble() {
        return trouble;
    }

    /** Nobody takes events any more. */
    void close() {
        isClosed = true;
    }

    long dueUs() {
        return machine.dueUs();
    }

    /** Does what is due; returns whether it goes on. For the driver's thread, as all that follows. */
    boolean tick(Now now, List<Outgoing> out) {
        while (events.remainingCapacity() > 0) {
            ScanEvent event = machine.nextEvent();
            if (event == null) {
                break;
            }
            events.add(event);
        }
        machine.tick(now, out);
        if (machine.trouble() != null) {
            trouble = machine.trouble();
        }
        return !isClosed && !machine.isOver();
    }

    void receive(Message message, Now now) {
        machine.receive(message, now);
    }

    void lost(long node, Now now) {
        machine.lost(node, now);
    }

    /** A node cannot read what it is asked. */
    void tooOld() {
        trouble = "a node runs a release without scans for clients: upgrade it";
    }
}
