package fawn.client;

import fawn.client.wire.Control;
import fawn.client.wire.Frame;
import fawn.client.wire.Greeted;
import fawn.client.wire.WireWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * A connection, or one that is being made: one thread calls and then reads, another one writes. What the driver says in
 * one turn leaves with one write.
 */
final class Link {
    private static final int READ_BYTES = 64 << 10;
    /** A buffer that is empty keeps no more than this. */
    private static final int KEEP_BYTES = 1 << 20;
    /** Lots of frames that wait for the driver; then nothing more is read. */
    private static final int MOST_LOTS = 8;
    /** The client says that it is there after so many milliseconds in which it has said nothing. */
    private static final long ALIVE_MS = 10_000;

    /** What happens to a link; called by its threads. */
    interface Listener {
        void up(Link link, Greeted greeted);

        void heard(Link link, List<Frame> frames, Runnable taken);

        void over(Link link, String why);
    }

    private final Whom whom;
    private final Dialler dialler;
    private final Listener listener;
    private final Semaphore lots = new Semaphore(MOST_LOTS);
    private final Object lock = new Object();
    /** What waits to be sent. */
    private WireWriter waiting = new WireWriter(1024);
    private Socket socket;
    private boolean isClosed;
    /** When the write began that goes on, by {@link System#nanoTime}; 0 for none. */
    private volatile long writingSince;

    private Link(Whom whom, Dialler dialler, Listener listener) {
        this.whom = whom;
        this.dialler = dialler;
        this.listener = listener;
    }

    /** Calls somebody. */
    static Link call(Whom whom, Dialler dialler, Listener listener) {
        Link link = new Link(whom, dialler, listener);
        start(link::read, "fawn-read " + whom.address);
        return link;
    }

    private static void start(Runnable body, String name) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Has these bytes sent. */
    void send(WireWriter bytes) {
        synchronized (lock) {
            waiting.append(bytes);
            lock.notifyAll();
        }
    }

    /** Whether a write has gone on for longer than so many nanoseconds: the other side takes nothing. */
    boolean isStalled(long ns) {
        long since = writingSince;
        return since != 0 && System.nanoTime() - since > ns;
    }

    /** Ends it. */
    void close() {
        Socket open;
        synchronized (lock) {
            isClosed = true;
            open = socket;
            lock.notifyAll();
        }
        lots.release(MOST_LOTS);
        if (open != null) {
            // TLS says farewell when it is closed, which may wait for a write that goes on.
            start(() -> closeQuietly(open), "fawn-close " + whom.address);
        }
    }

    private static void closeQuietly(Socket open) {
        try {
            open.close();
        } catch (IOException error) {
            // It is of no use any more in either case.
        }
    }

    private void hold(Socket made) throws IOException {
        synchronized (lock) {
            if (isClosed) {
                throw new IOException("the client has closed the connection");
            }
            socket = made;
        }
    }

    private void read() {
        String why = "the other side closed the connection";
        try {
            Dialler.Call call = dialler.dial(whom, this::hold);
            listener.up(this, call.greeted);
            start(() -> write(call.socket), "fawn-write " + whom.address);
            read(call.socket.getInputStream());
        } catch (IOException | FawnException error) {
            why = error.getMessage() == null ? error.toString() : error.getMessage();
        } finally {
            close();
            listener.over(this, whom + ": " + why);
        }
    }

    private void read(InputStream in) throws IOException {
        byte[] buffer = new byte[READ_BYTES];
        int filled = 0;
        for (int count = in.read(buffer, 0, buffer.length); count >= 0; ) {
            filled += count;
            List<Frame> frames = new ArrayList<>();
            int used = take(buffer, filled, frames);
            if (!frames.isEmpty() && !tell(frames)) {
                return;
            }
            System.arraycopy(buffer, used, buffer, 0, filled - used);
            filled -= used;
            if (filled == buffer.length) {
                // Doubled as bytes come, so that what a frame says of its length takes no memory by itself.
                buffer = Arrays.copyOf(buffer, 2 * buffer.length);
            } else if (filled == 0 && buffer.length > KEEP_BYTES) {
                buffer = new byte[READ_BYTES];
            }
            count = in.read(buffer, filled, buffer.length - filled);
        }
    }

    /** Takes the frames that are whole; returns how many bytes they are. */
    private static int take(byte[] bytes, int filled, List<Frame> frames) throws IOException {
        int used = 0;
        while (filled - used >= Frame.HEADER_BYTES) {
            byte[] header = Arrays.copyOfRange(bytes, used, used + Frame.HEADER_BYTES);
            int body = used + Frame.HEADER_BYTES;
            int length = Frame.bodyLength(header, Frame.MOST_BYTES);
            if (filled - body < length) {
                break;
            }
            frames.add(Frame.read(header, Arrays.copyOfRange(bytes, body, body + length)));
            used = body + length;
        }
        return used;
    }

    private boolean tell(List<Frame> frames) {
        lots.acquireUninterruptibly();
        synchronized (lock) {
            if (isClosed) {
                return false;
            }
        }
        listener.heard(this, frames, lots::release);
        return true;
    }

    private void write(Socket to) {
        try {
            OutputStream out = to.getOutputStream();
            WireWriter spare = new WireWriter(1024);
            for (WireWriter bytes = next(spare); bytes != null; bytes = next(spare)) {
                writingSince = Math.max(System.nanoTime(), 1);
                bytes.writeTo(out);
                out.flush();
                writingSince = 0;
                spare = bytes;
                spare.clear(KEEP_BYTES);
            }
        } catch (IOException error) {
            // The reader hears of it as well, and says why.
            closeQuietly(to);
        }
    }

    /** What waits to be sent, for which {@code spare} takes the next; {@code null} once the link is closed. */
    private WireWriter next(WireWriter spare) {
        synchronized (lock) {
            if (waiting.length() == 0 && !isClosed) {
                await();
            }
            if (isClosed) {
                return null;
            }
            if (waiting.length() == 0) {
                Frame.of(new Control.Alive()).write(waiting);
            }
            WireWriter bytes = waiting;
            waiting = spare;
            return bytes;
        }
    }

    /** Waits until there is something to send, or it is time to say that the client is there. */
    private void await() {
        long endNs = System.nanoTime() + ALIVE_MS * 1_000_000;
        try {
            while (waiting.length() == 0 && !isClosed) {
                long leftMs = (endNs - System.nanoTime()) / 1_000_000;
                if (leftMs <= 0) {
                    return;
                }
                lock.wait(leftMs);
            }
        } catch (InterruptedException error) {
            // Nobody interrupts the link's own thread but who ends it.
            isClosed = true;
        }
    }
}
