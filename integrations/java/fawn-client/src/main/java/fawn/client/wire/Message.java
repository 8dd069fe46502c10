// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Message} of the wire: one of its variants. */
public abstract class Message {
    private Message() {}

    abstract void write(WireWriter out);

    static Message read(WireReader in) throws WireException {
        long number = in.u32();
        switch ((int) number) {
            case 0:
                return Request.read(in);
            case 1:
                return Flush.read(in);
            case 2:
                return Get.read(in);
            case 3:
                return Reply.read(in);
            case 4:
                return Feed.read(in);
            case 5:
                return Have.read(in);
            case 6:
                return Barrier.read(in);
            case 7:
                return BarrierAt.read(in);
            case 8:
                return Copy.read(in);
            case 9:
                return CopyPart.read(in);
            case 10:
                return Fetch.read(in);
            case 11:
                return Fetched.read(in);
            case 12:
                return Hello.read(in);
            case 13:
                return Welcome.read(in);
            case 14:
                return Superseded.read(in);
            case 15:
                return Heartbeat.read(in);
            case 16:
                return Lease.read(in);
            case 17:
                return Learn.read(in);
            case 18:
                return Seal.read(in);
            case 19:
                return Sealed.read(in);
            case 20:
                return Equalise.read(in);
            case 21:
                return Level.read(in);
            case 22:
                return Activate.read(in);
            case 23:
                return Drop.read(in);
            case 24:
                return new Ping();
            case 25:
                return new Pong();
            case 26:
                return AskView.read(in);
            case 27:
                return View.read(in);
            case 28:
                return Fence.read(in);
            case 29:
                return FenceHolds.read(in);
            case 30:
                return Ask.read(in);
            case 31:
                return AskMany.read(in);
            case 32:
                return AskFlush.read(in);
            case 33:
                return FrontHello.read(in);
            case 34:
                return FrontWelcome.read(in);
            case 35:
                return FrontSuperseded.read(in);
            case 36:
                return FrontHeartbeat.read(in);
            case 37:
                return FrontLease.read(in);
            case 38:
                return Prepare.read(in);
            case 39:
                return Prepared.read(in);
            case 40:
                return OtherCluster.read(in);
            case 41:
                return Offer.read(in);
            case 42:
                return Adopt.read(in);
            case 43:
                return Occupied.read(in);
            case 44:
                return Farewell.read(in);
            case 45:
                return FrontFarewell.read(in);
            case 46:
                return Scan.read(in);
            case 47:
                return Scanned.read(in);
            case 48:
                return Relayed.read(in);
            case 49:
                return Probe.read(in);
            case 50:
                return Echo.read(in);
            case 51:
                return FrontCutOff.read(in);
            case 52:
                return NodeCutOff.read(in);
            default:
                throw in.noSuch("Message", number);
        }
    }

    /**
     * Number 0: a client, or the front-end that owns the key's wedge, to the head of the key's range, in a weak cluster
     * to every member of its chain; again until there is an answer.
     */
    public static final class Request extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** The same at every try. */
        public final RequestId id;
        /** All requests of the session up to this number have been answered and are not tried again. */
        public final long answered;
        /** The field {@code asker}. */
        public final Asker asker;
        /** The epoch in which the asker owns the key's wedge, 0 for one that is no front-end. */
        public final long wedge;
        /** Of the chain that the asker knows. */
        public final long epoch;
        /** The field {@code key}. */
        public final byte[] key;
        /** An {@code Operation} in postcard's encoding, without a version byte. */
        public final byte[] operation;

        /** One of these fields. */
        public Request(
                long range,
                RequestId id,
                long answered,
                Asker asker,
                long wedge,
                long epoch,
                byte[] key,
                byte[] operation) {
            this.range = range;
            this.id = id;
            this.answered = answered;
            this.asker = asker;
            this.wedge = wedge;
            this.epoch = epoch;
            this.key = key;
            this.operation = operation;
        }

        static Request read(WireReader in) throws WireException {
            return new Request(
                    in.u32(),
                    RequestId.read(in),
                    in.u64(),
                    Asker.read(in),
                    in.u64(),
                    in.u32(),
                    in.bytes(),
                    in.bytes());
        }

        @Override
        void write(WireWriter out) {
            out.u32(0);
            out.u32(range);
            id.write(out);
            out.u64(answered);
            asker.write(out);
            out.u64(wedge);
            out.u32(epoch);
            out.bytes(key);
            out.bytes(operation);
        }
    }

    /**
     * Number 1: the owner of a wedge to the heads of all ranges that have keys of it, in a weak cluster to every member
     * of their chains; or, where no front-end has ever owned any, a client to the head of each range; {@code
     * flush_all}.
     */
    public static final class Flush extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** The same for all keys and every range. */
        public final RequestId id;
        /** The field {@code answered}. */
        public final long answered;
        /** The field {@code asker}. */
        public final Asker asker;
        /** The epoch in which the asker owns the wedge of the keys, 0 for one that is no front-end. */
        public final long wedge;
        /** Of the range. */
        public final Interval keys;
        /** Unix second from which on everything is gone, 0 for now. */
        public final long due;

        /** One of these fields. */
        public Flush(long range, RequestId id, long answered, Asker asker, long wedge, Interval keys, long due) {
            this.range = range;
            this.id = id;
            this.answered = answered;
            this.asker = asker;
            this.wedge = wedge;
            this.keys = keys;
            this.due = due;
        }

        static Flush read(WireReader in) throws WireException {
            return new Flush(
                    in.u32(),
                    RequestId.read(in),
                    in.u64(),
                    Asker.read(in),
                    in.u64(),
                    Interval.read(in),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(1);
            out.u32(range);
            id.write(out);
            out.u64(answered);
            asker.write(out);
            out.u64(wedge);
            keys.write(out);
            out.u32(due);
        }
    }

    /**
     * Number 2: as {@code Request}, to the *reader*: the last member that is no archive, or the tail if all are
     * archives; where reads are spread, to any member up to the reader; in a weak chain to the owner; a member that
     * cannot answer sends it on to the reader.
     */
    public static final class Get extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** The field {@code id}. */
        public final RequestId id;
        /** The field {@code asker}. */
        public final Asker asker;
        /** An owner of a wedge, counted from 1. */
        public final long wedge;
        /** The field {@code key}. */
        public final byte[] key;
        /** Comes back with the answer, as it is; {@code null} for none. */
        public final Continuation continuation;

        /** One of these fields. */
        public Get(long range, RequestId id, Asker asker, long wedge, byte[] key, Continuation continuation) {
            this.range = range;
            this.id = id;
            this.asker = asker;
            this.wedge = wedge;
            this.key = key;
            this.continuation = continuation;
        }

        static Get read(WireReader in) throws WireException {
            return new Get(
                    in.u32(),
                    RequestId.read(in),
                    Asker.read(in),
                    in.u64(),
                    in.bytes(),
                    in.option(Continuation::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(2);
            out.u32(range);
            id.write(out);
            asker.write(out);
            out.u64(wedge);
            out.bytes(key);
            out.option(continuation, Continuation::write);
        }
    }

    /**
     * Number 3: whoever was asked, to the asker's address: a head or tail once the record is committed or the key read;
     * a front-end to its client or to the front-end that has passed a request on.
     */
    public static final class Reply extends Message {
        /** The field {@code id}. */
        public final RequestId id;
        /** The asker's. */
        public final long tag;
        /** The question's; {@code null} for none. */
        public final Continuation continuation;
        /**
         * Unix second from when on the answer may not be shown from a cache any more, because a flush of the key is due
         * then, 0 for none.
         */
        public final long until;
        /** The field {@code answer}. */
        public final Answer answer;

        /** One of these fields. */
        public Reply(RequestId id, long tag, Continuation continuation, long until, Answer answer) {
            this.id = id;
            this.tag = tag;
            this.continuation = continuation;
            this.until = until;
            this.answer = answer;
        }

        static Reply read(WireReader in) throws WireException {
            return new Reply(
                    RequestId.read(in),
                    in.u64(),
                    in.option(Continuation::read),
                    in.u32(),
                    Answer.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(3);
            id.write(out);
            out.u64(tag);
            out.option(continuation, Continuation::write);
            out.u32(until);
            answer.write(out);
        }
    }

    /**
     * Number 4: a member to its successor, when its log or the mark has grown; again from what the successor has, when
     * not all is committed for long.
     */
    public static final class Feed extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** The chain's. */
        public final long epoch;
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long to;
        /** In order, without gaps, at most 64, perhaps none. */
        public final List<Entry> entries;
        /** Every member up to the sender has synced the log up to here. */
        public final long mark;

        /** One of these fields. */
        public Feed(long range, long epoch, long to, List<Entry> entries, long mark) {
            this.range = range;
            this.epoch = epoch;
            this.to = to;
            this.entries = entries;
            this.mark = mark;
        }

        static Feed read(WireReader in) throws WireException {
            return new Feed(
                    in.u32(),
                    in.u32(),
                    in.u32(),
                    in.list(Entry::read),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(4);
            out.u32(range);
            out.u32(epoch);
            out.u32(to);
            out.list(entries, Entry::write);
            out.u64(mark);
        }
    }

    /** Number 5: a member to its predecessor, when one of them has changed, and after every {@code Feed}. */
    public static final class Have extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** A configuration of a range, which only grows, along splits and merges too. 0 is before the first. */
        public final long epoch;
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long to;
        /** The end of the sender's log. */
        public final long last;
        /** Every member has synced the log up to here. */
        public final long committed;
        /** The sender, or a member after it, has no room for more values. */
        public final boolean full;

        /** One of these fields. */
        public Have(long range, long epoch, long to, long last, long committed, boolean full) {
            this.range = range;
            this.epoch = epoch;
            this.to = to;
            this.last = last;
            this.committed = committed;
            this.full = full;
        }

        static Have read(WireReader in) throws WireException {
            return new Have(
                    in.u32(),
                    in.u32(),
                    in.u32(),
                    in.u64(),
                    in.u64(),
                    in.bool());
        }

        @Override
        void write(WireWriter out) {
            out.u32(5);
            out.u32(range);
            out.u32(epoch);
            out.u32(to);
            out.u64(last);
            out.u64(committed);
            out.bool(full);
        }
    }

    /**
     * Number 6: a reader without a lease to the head, when gets wait; again, under the next number, if it is not
     * answered.
     */
    public static final class Barrier extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** A configuration of a range, which only grows, along splits and merges too. 0 is before the first. */
        public final long epoch;
        /** Names the barrier. */
        public final long number;

        /** One of these fields. */
        public Barrier(long range, long epoch, long number) {
            this.range = range;
            this.epoch = epoch;
            this.number = number;
        }

        static Barrier read(WireReader in) throws WireException {
            return new Barrier(
                    in.u32(),
                    in.u32(),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(6);
            out.u32(range);
            out.u32(epoch);
            out.u64(number);
        }
    }

    /** Number 7: the head to the reader. */
    public static final class BarrierAt extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** A configuration of a range, which only grows, along splits and merges too. 0 is before the first. */
        public final long epoch;
        /** As asked. */
        public final long number;
        /** The record. Once it is committed, what was asked before the barrier is answered. */
        public final long seq;

        /** One of these fields. */
        public BarrierAt(long range, long epoch, long number, long seq) {
            this.range = range;
            this.epoch = epoch;
            this.number = number;
            this.seq = seq;
        }

        static BarrierAt read(WireReader in) throws WireException {
            return new BarrierAt(
                    in.u32(),
                    in.u32(),
                    in.u64(),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(7);
            out.u32(range);
            out.u32(epoch);
            out.u64(number);
            out.u64(seq);
        }
    }

    /** Number 8: a learner, or a member that is made level, to the member that it follows, after each part. */
    public static final class Copy extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** Who is answered. */
        public final Member learner;
        /** Where the part begins, none for the first; {@code null} for none. */
        public final Key from;
        /** The learner has everything up to here, 0 for nothing. */
        public final Position since;
        /** What was committed when the copy began. */
        public final Position least;

        /** One of these fields. */
        public Copy(long range, Member learner, Key from, Position since, Position least) {
            this.range = range;
            this.learner = learner;
            this.from = from;
            this.since = since;
            this.least = least;
        }

        static Copy read(WireReader in) throws WireException {
            return new Copy(
                    in.u32(),
                    Member.read(in),
                    in.option(Key::read),
                    Position.read(in),
                    Position.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(8);
            out.u32(range);
            learner.write(out);
            out.option(from, Key::write);
            since.write(out);
            least.write(out);
        }
    }

    /** Number 9: the answer. */
    public static final class CopyPart extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long to;
        /** Who sends it. */
        public final Member from;
        /** The question's; {@code null} for none. */
        public final Key asked;
        /** The question's, or 0 if all must be copied. */
        public final Position since;
        /** The newest version of each key, deleted ones too, in the order of positions. */
        public final List<Kept> kept;
        /** Where the next part begins, none if this is the last; {@code null} for none. */
        public final Key next;
        /** What was committed before the part was read. */
        public final Position at;
        /** Deletions up to here are no longer kept, and not in the copy. */
        public final long forgotten;
        /** What is committed, with the first part; {@code null} for none. */
        public final Meta meta;

        /** One of these fields. */
        public CopyPart(
                long range,
                long to,
                Member from,
                Key asked,
                Position since,
                List<Kept> kept,
                Key next,
                Position at,
                long forgotten,
                Meta meta) {
            this.range = range;
            this.to = to;
            this.from = from;
            this.asked = asked;
            this.since = since;
            this.kept = kept;
            this.next = next;
            this.at = at;
            this.forgotten = forgotten;
            this.meta = meta;
        }

        static CopyPart read(WireReader in) throws WireException {
            return new CopyPart(
                    in.u32(),
                    in.u32(),
                    Member.read(in),
                    in.option(Key::read),
                    Position.read(in),
                    in.list(Kept::read),
                    in.option(Key::read),
                    Position.read(in),
                    in.u64(),
                    in.option(Meta::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(9);
            out.u32(range);
            out.u32(to);
            from.write(out);
            out.option(asked, Key::write);
            since.write(out);
            out.list(kept, Kept::write);
            out.option(next, Key::write);
            at.write(out);
            out.u64(forgotten);
            out.option(meta, Meta::write);
        }
    }

    /** Number 10: as {@code Copy}, when nothing is to be copied; a learner goes on with it. */
    public static final class Fetch extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** To be made level for it, none to follow as a learner; {@code null} for none. */
        public final Long attempt;
        /** Who is answered. */
        public final Member learner;
        /** What the learner knows to be committed. */
        public final Position committed;
        /** The ends of each epoch's records in what follows, oldest first. */
        public final List<Position> ends;

        /** One of these fields. */
        public Fetch(long range, Long attempt, Member learner, Position committed, List<Position> ends) {
            this.range = range;
            this.attempt = attempt;
            this.learner = learner;
            this.committed = committed;
            this.ends = ends;
        }

        static Fetch read(WireReader in) throws WireException {
            return new Fetch(
                    in.u32(),
                    in.option(WireReader::u32),
                    Member.read(in),
                    Position.read(in),
                    in.list(Position::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(10);
            out.u32(range);
            out.option(attempt, (value1, out1) -> out1.u32(value1));
            learner.write(out);
            committed.write(out);
            out.list(ends, Position::write);
        }
    }

    /** Number 11: the answer, with at most 64 records. */
    public static final class Fetched extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** The question's; {@code null} for none. */
        public final Long attempt;
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long to;
        /** Who sends it. */
        public final Member from;
        /** The field {@code records}. */
        public final Given records;

        /** One of these fields. */
        public Fetched(long range, Long attempt, long to, Member from, Given records) {
            this.range = range;
            this.attempt = attempt;
            this.to = to;
            this.from = from;
            this.records = records;
        }

        static Fetched read(WireReader in) throws WireException {
            return new Fetched(
                    in.u32(),
                    in.option(WireReader::u32),
                    in.u32(),
                    Member.read(in),
                    Given.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(11);
            out.u32(range);
            out.option(attempt, (value1, out1) -> out1.u32(value1));
            out.u32(to);
            from.write(out);
            records.write(out);
        }
    }

    /** Number 12: a node to the manager, every 200 ms until it has a life. */
    public static final class Hello extends Message {
        /** That what it has belongs to, none if it has nothing of any; {@code null} for none. */
        public final byte[] cluster;
        /** A node, for ever, with bit 31 set for an archive. */
        public final long node;
        /** Names this start, never used before. */
        public final long nonce;
        /** The field {@code machine}. */
        public final long machine;
        /** What fails together with the machine; {@code null} for none. */
        public final Long domain;
        /** Number of its places on the ring. */
        public final long virtualIds;

        /** One of these fields. */
        public Hello(byte[] cluster, long node, long nonce, long machine, Long domain, long virtualIds) {
            this.cluster = cluster;
            this.node = node;
            this.nonce = nonce;
            this.machine = machine;
            this.domain = domain;
            this.virtualIds = virtualIds;
        }

        static Hello read(WireReader in) throws WireException {
            return new Hello(
                    in.option(in1 -> in1.fixed(16)),
                    in.u64(),
                    in.u64(),
                    in.u64(),
                    in.option(WireReader::u64),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(12);
            out.option(cluster, (value1, out1) -> out1.fixed(value1, 16));
            out.u64(node);
            out.u64(nonce);
            out.u64(machine);
            out.option(domain, (value1, out1) -> out1.u64(value1));
            out.u32(virtualIds);
        }
    }

    /** Number 13: the answer, once it is in the managers' log. */
    public static final class Welcome extends Message {
        /** Which what the node has belongs to from here on. */
        public final byte[] cluster;
        /** The start that it is for. */
        public final long nonce;
        /** The life. */
        public final long incarnation;

        /** One of these fields. */
        public Welcome(byte[] cluster, long nonce, long incarnation) {
            this.cluster = cluster;
            this.nonce = nonce;
            this.incarnation = incarnation;
        }

        static Welcome read(WireReader in) throws WireException {
            return new Welcome(
                    in.fixed(16),
                    in.u64(),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(13);
            out.fixed(cluster, 16);
            out.u64(nonce);
            out.u32(incarnation);
        }
    }

    /** Number 14: the manager to a node whose heartbeat is of another life than the present one. */
    public static final class Superseded extends Message {
        /** The life that is over. */
        public final long incarnation;

        /** One of these fields. */
        public Superseded(long incarnation) {
            this.incarnation = incarnation;
        }

        static Superseded read(WireReader in) throws WireException {
            return new Superseded(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(14);
            out.u32(incarnation);
        }
    }

    /** Number 15: a node to the manager every 200 ms, and at once when it becomes active in a chain. */
    public static final class Heartbeat extends Message {
        /** That it lives in. */
        public final byte[] cluster;
        /** Who lives. */
        public final Member member;
        /** Numbers it within the start. */
        public final long nonce;
        /** One for each range that is here. */
        public final List<Report> reports;
        /** Neighbours in its chains, or such that were within the last minute, that it has not heard for 700 ms. */
        public final List<Long> silent;

        /** One of these fields. */
        public Heartbeat(byte[] cluster, Member member, long nonce, List<Report> reports, List<Long> silent) {
            this.cluster = cluster;
            this.member = member;
            this.nonce = nonce;
            this.reports = reports;
            this.silent = silent;
        }

        static Heartbeat read(WireReader in) throws WireException {
            return new Heartbeat(
                    in.fixed(16),
                    Member.read(in),
                    in.u64(),
                    in.list(Report::read),
                    in.list(WireReader::u64));
        }

        @Override
        void write(WireWriter out) {
            out.u32(15);
            out.fixed(cluster, 16);
            member.write(out);
            out.u64(nonce);
            out.list(reports, Report::write);
            out.list(silent, (value1, out1) -> out1.u64(value1));
        }
    }

    /**
     * Number 16: the manager, once it has confirmed that it leads; not to a node that has yet to seal, or believes to
     * be in a chain that is over.
     */
    public static final class Lease extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;
        /** The heartbeat's. */
        public final long nonce;
        /** From when that was sent the node may answer reads for so many microseconds by its clock. */
        public final long leaseUs;

        /** One of these fields. */
        public Lease(long incarnation, long nonce, long leaseUs) {
            this.incarnation = incarnation;
            this.nonce = nonce;
            this.leaseUs = leaseUs;
        }

        static Lease read(WireReader in) throws WireException {
            return new Lease(
                    in.u32(),
                    in.u64(),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(16);
            out.u32(incarnation);
            out.u64(nonce);
            out.u64(leaseUs);
        }
    }

    /** Number 17: the manager to a node that is to come into the chain; again until it has caught up. */
    public static final class Learn extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** The range's. */
        public final Interval keys;
        /** Whom to follow. */
        public final Member source;
        /** Attempts up to this one are over. */
        public final long over;
        /** The field {@code consistency}. */
        public final Consistency consistency;

        /** One of these fields. */
        public Learn(long incarnation, long range, Interval keys, Member source, long over, Consistency consistency) {
            this.incarnation = incarnation;
            this.range = range;
            this.keys = keys;
            this.source = source;
            this.over = over;
            this.consistency = consistency;
        }

        static Learn read(WireReader in) throws WireException {
            return new Learn(
                    in.u32(),
                    in.u32(),
                    Interval.read(in),
                    Member.read(in),
                    in.u32(),
                    Consistency.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(17);
            out.u32(incarnation);
            out.u32(range);
            keys.write(out);
            source.write(out);
            out.u32(over);
            consistency.write(out);
        }
    }

    /** Number 18: the manager to all who are, or are to be, in the chain; again until they have. */
    public static final class Seal extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** The field {@code keys}. */
        public final Interval keys;
        /** The one that begins. */
        public final long attempt;
        /**
         * Whose log the receiver's is to be like, if that is certain and the receiver is to be in the chain; {@code
         * null} for none.
         */
        public final Member source;

        /** One of these fields. */
        public Seal(long incarnation, long range, Interval keys, long attempt, Member source) {
            this.incarnation = incarnation;
            this.range = range;
            this.keys = keys;
            this.attempt = attempt;
            this.source = source;
        }

        static Seal read(WireReader in) throws WireException {
            return new Seal(
                    in.u32(),
                    in.u32(),
                    Interval.read(in),
                    in.u32(),
                    in.option(Member::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(18);
            out.u32(incarnation);
            out.u32(range);
            keys.write(out);
            out.u32(attempt);
            out.option(source, Member::write);
        }
    }

    /** Number 19: the answer: it takes and answers nothing in the range any more; again when the log is synced. */
    public static final class Sealed extends Message {
        /** Who has sealed. */
        public final Member member;
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** A try to change a range's chain, which only grows. */
        public final long attempt;
        /** The end of its log. */
        public final Position last;
        /** As of which its log was made level last; {@code null} for none. */
        public final Long held;
        /** It was prepared, and all of its log is synced, so that it is level if the source's ends there, too. */
        public final boolean synced;

        /** One of these fields. */
        public Sealed(Member member, long range, long attempt, Position last, Long held, boolean synced) {
            this.member = member;
            this.range = range;
            this.attempt = attempt;
            this.last = last;
            this.held = held;
            this.synced = synced;
        }

        static Sealed read(WireReader in) throws WireException {
            return new Sealed(
                    Member.read(in),
                    in.u32(),
                    in.u32(),
                    Position.read(in),
                    in.option(WireReader::u32),
                    in.bool());
        }

        @Override
        void write(WireWriter out) {
            out.u32(19);
            member.write(out);
            out.u32(range);
            out.u32(attempt);
            last.write(out);
            out.option(held, (value1, out1) -> out1.u32(value1));
            out.bool(synced);
        }
    }

    /**
     * Number 20: the manager to all who are to be in the chain, once enough have sealed; again until they are level.
     */
    public static final class Equalise extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** A try to change a range's chain, which only grows. */
        public final long attempt;
        /**
         * Whose log, none for a range that begins empty, and in a weak cluster the receiver itself if it has a log to
         * keep; {@code null} for none.
         */
        public final Member source;
        /** The end of the source's log. */
        public final Position last;

        /** One of these fields. */
        public Equalise(long incarnation, long range, long attempt, Member source, Position last) {
            this.incarnation = incarnation;
            this.range = range;
            this.attempt = attempt;
            this.source = source;
            this.last = last;
        }

        static Equalise read(WireReader in) throws WireException {
            return new Equalise(
                    in.u32(),
                    in.u32(),
                    in.u32(),
                    in.option(Member::read),
                    Position.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(20);
            out.u32(incarnation);
            out.u32(range);
            out.u32(attempt);
            out.option(source, Member::write);
            last.write(out);
        }
    }

    /** Number 21: the node once its log is like the source's and synced; again until there is a chain. */
    public static final class Level extends Message {
        /** The field {@code member}. */
        public final Member member;
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** A try to change a range's chain, which only grows. */
        public final long attempt;

        /** One of these fields. */
        public Level(Member member, long range, long attempt) {
            this.member = member;
            this.range = range;
            this.attempt = attempt;
        }

        static Level read(WireReader in) throws WireException {
            return new Level(
                    Member.read(in),
                    in.u32(),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(21);
            member.write(out);
            out.u32(range);
            out.u32(attempt);
        }
    }

    /**
     * Number 22: the manager to all who have sealed and all in the chains, once it is in the managers' log; again to
     * those whose reports show that they missed it.
     */
    public static final class Activate extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;
        /** A try to change a range's chain, which only grows. */
        public final long attempt;
        /** Ranges that are no more, one that was split or two that were merged. */
        public final List<Long> over;
        /** Those that are active now. */
        public final List<Pair<Long, Chain>> chains;

        /** One of these fields. */
        public Activate(long incarnation, long attempt, List<Long> over, List<Pair<Long, Chain>> chains) {
            this.incarnation = incarnation;
            this.attempt = attempt;
            this.over = over;
            this.chains = chains;
        }

        static Activate read(WireReader in) throws WireException {
            return new Activate(
                    in.u32(),
                    in.u32(),
                    in.list(WireReader::u32),
                    in.list(in1 -> in1.pair(WireReader::u32, Chain::read)));
        }

        @Override
        void write(WireWriter out) {
            out.u32(22);
            out.u32(incarnation);
            out.u32(attempt);
            out.list(over, (value1, out1) -> out1.u32(value1));
            out.list(chains, (value1, out1) -> out1.pair(value1, (value2, out2) -> out2.u32(value2), Chain::write));
        }
    }

    /** Number 23: the manager to a node whose reports show a range that it need not have. */
    public static final class Drop extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** Of the range's chain, which is without the node, 4,294,967,295 if the range is no more. */
        public final long epoch;
        /** Attempts up to this one are over. */
        public final long over;

        /** One of these fields. */
        public Drop(long incarnation, long range, long epoch, long over) {
            this.incarnation = incarnation;
            this.range = range;
            this.epoch = epoch;
            this.over = over;
        }

        static Drop read(WireReader in) throws WireException {
            return new Drop(
                    in.u32(),
                    in.u32(),
                    in.u32(),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(23);
            out.u32(incarnation);
            out.u32(range);
            out.u32(epoch);
            out.u32(over);
        }
    }

    /** Number 24: a node to a neighbour that it has not heard for a while. */
    public static final class Ping extends Message {
        @Override
        void write(WireWriter out) {
            out.u32(24);
        }
    }

    /** Number 25: the answer, to the sender. */
    public static final class Pong extends Message {
        @Override
        void write(WireWriter out) {
            out.u32(25);
        }
    }

    /**
     * Number 26: a client or a front-end to the manager, when an answer says that it does not know enough; a front-end
     * every 200 ms.
     */
    public static final class AskView extends Message {
        /** The field {@code asker}. */
        public final Address asker;
        /** What changed up to this number the asker knows, 0 for nothing. */
        public final long known;

        /** One of these fields. */
        public AskView(Address asker, long known) {
            this.asker = asker;
            this.known = known;
        }

        static AskView read(WireReader in) throws WireException {
            return new AskView(
                    Address.read(in),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(26);
            asker.write(out);
            out.u64(known);
        }
    }

    /**
     * Number 27: the answer; also, with {@code since} the newest change and so no chains, to a front-end that is
     * granted a wedge, and then to all that the leading manager has heard.
     */
    public static final class View extends Message {
        /** {@code known}, as it was asked. */
        public final long since;
        /** As of which change. */
        public final long number;
        /** Those that changed after {@code since}, by range, perhaps without members yet. */
        public final List<Pair<Long, Chain>> chains;
        /** All, in the order of their keys, none in a cluster without front-ends. */
        public final List<Wedge> wedges;

        /** One of these fields. */
        public View(long since, long number, List<Pair<Long, Chain>> chains, List<Wedge> wedges) {
            this.since = since;
            this.number = number;
            this.chains = chains;
            this.wedges = wedges;
        }

        static View read(WireReader in) throws WireException {
            return new View(
                    in.u64(),
                    in.u64(),
                    in.list(in1 -> in1.pair(WireReader::u32, Chain::read)),
                    in.list(Wedge::read));
        }

        @Override
        void write(WireWriter out) {
            out.u32(27);
            out.u64(since);
            out.u64(number);
            out.list(chains, (value1, out1) -> out1.pair(value1, (value2, out2) -> out2.u32(value2), Chain::write));
            out.list(wedges, Wedge::write);
        }
    }

    /**
     * Number 28: a front-end that was granted a wedge, to the heads of all ranges with keys of it; again until it
     * holds.
     */
    public static final class Fence extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** Who is told when it holds. */
        public final Address front;
        /** Those of the wedge that are in the range. */
        public final Interval keys;
        /** Whoever asks as of a lower one is refused. */
        public final long epoch;

        /** One of these fields. */
        public Fence(long range, Address front, Interval keys, long epoch) {
            this.range = range;
            this.front = front;
            this.keys = keys;
            this.epoch = epoch;
        }

        static Fence read(WireReader in) throws WireException {
            return new Fence(
                    in.u32(),
                    Address.read(in),
                    Interval.read(in),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(28);
            out.u32(range);
            front.write(out);
            keys.write(out);
            out.u64(epoch);
        }
    }

    /** Number 29: the tail when it commits the fence, or the head. */
    public static final class FenceHolds extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** As asked. */
        public final Interval keys;
        /** As asked. */
        public final long epoch;

        /** One of these fields. */
        public FenceHolds(long range, Interval keys, long epoch) {
            this.range = range;
            this.keys = keys;
            this.epoch = epoch;
        }

        static FenceHolds read(WireReader in) throws WireException {
            return new FenceHolds(
                    in.u32(),
                    Interval.read(in),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(29);
            out.u32(range);
            keys.write(out);
            out.u64(epoch);
        }
    }

    /** Number 30: a client to any front-end, or that front-end to the one that owns the key's wedge. */
    public static final class Ask extends Message {
        /** The field {@code id}. */
        public final RequestId id;
        /**
         * None if the asker keeps no session and asks once, the front-end then numbers the request in its own; {@code
         * null} for none.
         */
        public final Long answered;
        /** The field {@code asker}. */
        public final Asker asker;
        /** It comes from another front-end, and goes no further. */
        public final boolean forwarded;
        /** The field {@code key}. */
        public final byte[] key;
        /** As in {@code Request}, none for a get; {@code null} for none. */
        public final byte[] operation;
        /** For gets alone, 4096 at most, between front-ends a Continuation, the client's; {@code null} for none. */
        public final byte[] continuation;

        /** One of these fields. */
        public Ask(
                RequestId id,
                Long answered,
                Asker asker,
                boolean forwarded,
                byte[] key,
                byte[] operation,
                byte[] continuation) {
            this.id = id;
            this.answered = answered;
            this.asker = asker;
            this.forwarded = forwarded;
            this.key = key;
            this.operation = operation;
            this.continuation = continuation;
        }

        static Ask read(WireReader in) throws WireException {
            return new Ask(
                    RequestId.read(in),
                    in.option(WireReader::u64),
                    Asker.read(in),
                    in.bool(),
                    in.bytes(),
                    in.option(WireReader::bytes),
                    in.option(WireReader::bytes));
        }

        @Override
        void write(WireWriter out) {
            out.u32(30);
            id.write(out);
            out.option(answered, (value1, out1) -> out1.u64(value1));
            asker.write(out);
            out.bool(forwarded);
            out.bytes(key);
            out.option(operation, (value1, out1) -> out1.bytes(value1));
            out.option(continuation, (value1, out1) -> out1.bytes(value1));
        }
    }

    /** Number 31: a client to any front-end. */
    public static final class AskMany extends Message {
        /** The field {@code id}. */
        public final RequestId id;
        /** The field {@code asker}. */
        public final Asker asker;
        /** At most 1024 by default, more are {@code Busy}. */
        public final List<byte[]> keys;

        /** One of these fields. */
        public AskMany(RequestId id, Asker asker, List<byte[]> keys) {
            this.id = id;
            this.asker = asker;
            this.keys = keys;
        }

        static AskMany read(WireReader in) throws WireException {
            return new AskMany(
                    RequestId.read(in),
                    Asker.read(in),
                    in.list(WireReader::bytes));
        }

        @Override
        void write(WireWriter out) {
            out.u32(31);
            id.write(out);
            asker.write(out);
            out.list(keys, (value1, out1) -> out1.bytes(value1));
        }
    }

    /**
     * Number 32: a client to any front-end, and that front-end to the owner of each wedge, all under the name of the
     * request; again until there is an answer.
     */
    public static final class AskFlush extends Message {
        /** The field {@code id}. */
        public final RequestId id;
        /** As in {@code Ask}; {@code null} for none. */
        public final Long answered;
        /** The field {@code asker}. */
        public final Asker asker;
        /** From one front-end to another, of this wedge alone, none for all keys; {@code null} for none. */
        public final Long wedge;
        /** Unix second from which on everything is gone, 0 for now. */
        public final long due;

        /** One of these fields. */
        public AskFlush(RequestId id, Long answered, Asker asker, Long wedge, long due) {
            this.id = id;
            this.answered = answered;
            this.asker = asker;
            this.wedge = wedge;
            this.due = due;
        }

        static AskFlush read(WireReader in) throws WireException {
            return new AskFlush(
                    RequestId.read(in),
                    in.option(WireReader::u64),
                    Asker.read(in),
                    in.option(WireReader::u32),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(32);
            id.write(out);
            out.option(answered, (value1, out1) -> out1.u64(value1));
            asker.write(out);
            out.option(wedge, (value1, out1) -> out1.u32(value1));
            out.u32(due);
        }
    }

    /** Number 33: as {@code Hello}. */
    public static final class FrontHello extends Message {
        /** A front-end, for ever. */
        public final long front;
        /** Names this start. */
        public final long nonce;

        /** One of these fields. */
        public FrontHello(long front, long nonce) {
            this.front = front;
            this.nonce = nonce;
        }

        static FrontHello read(WireReader in) throws WireException {
            return new FrontHello(
                    in.u32(),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(33);
            out.u32(front);
            out.u64(nonce);
        }
    }

    /** Number 34: as {@code Welcome}. */
    public static final class FrontWelcome extends Message {
        /** The field {@code nonce}. */
        public final long nonce;
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;

        /** One of these fields. */
        public FrontWelcome(long nonce, long incarnation) {
            this.nonce = nonce;
            this.incarnation = incarnation;
        }

        static FrontWelcome read(WireReader in) throws WireException {
            return new FrontWelcome(
                    in.u64(),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(34);
            out.u64(nonce);
            out.u32(incarnation);
        }
    }

    /** Number 35: as {@code Superseded}. */
    public static final class FrontSuperseded extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;

        /** One of these fields. */
        public FrontSuperseded(long incarnation) {
            this.incarnation = incarnation;
        }

        static FrontSuperseded read(WireReader in) throws WireException {
            return new FrontSuperseded(in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(35);
            out.u32(incarnation);
        }
    }

    /** Number 36: a front-end to the manager every 200 ms. */
    public static final class FrontHeartbeat extends Message {
        /** Who lives. */
        public final FrontMember member;
        /** Numbers it within the start. */
        public final long nonce;

        /** One of these fields. */
        public FrontHeartbeat(FrontMember member, long nonce) {
            this.member = member;
            this.nonce = nonce;
        }

        static FrontHeartbeat read(WireReader in) throws WireException {
            return new FrontHeartbeat(
                    FrontMember.read(in),
                    in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(36);
            member.write(out);
            out.u64(nonce);
        }
    }

    /** Number 37: as {@code Lease}, with all wedges that are granted to it and not released. */
    public static final class FrontLease extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;
        /** The heartbeat's. */
        public final long nonce;
        /** As in {@code Lease}. */
        public final long leaseUs;
        /** From when the heartbeat was sent the front-end owns these for so long. */
        public final List<Pair<Long, Long>> wedges;

        /** One of these fields. */
        public FrontLease(long incarnation, long nonce, long leaseUs, List<Pair<Long, Long>> wedges) {
            this.incarnation = incarnation;
            this.nonce = nonce;
            this.leaseUs = leaseUs;
            this.wedges = wedges;
        }

        static FrontLease read(WireReader in) throws WireException {
            return new FrontLease(
                    in.u32(),
                    in.u64(),
                    in.u64(),
                    in.list(in1 -> in1.pair(WireReader::u32, WireReader::u64)));
        }

        @Override
        void write(WireWriter out) {
            out.u32(37);
            out.u32(incarnation);
            out.u64(nonce);
            out.u64(leaseUs);
            out.list(wedges, (value1, out1) -> out1.pair(value1, (value2, out2) -> out2.u32(value2), (value2, out2) -> out2.u64(value2)));
        }
    }

    /**
     * Number 38: the manager to members that are to stay, while all of the chain live; again until they are prepared,
     * or for 50 ms.
     */
    public static final class Prepare extends Message {
        /** A life of a node or front-end, numbered by the manager from 1. */
        public final long incarnation;
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** The one that begins. */
        public final long attempt;

        /** One of these fields. */
        public Prepare(long incarnation, long range, long attempt) {
            this.incarnation = incarnation;
            this.range = range;
            this.attempt = attempt;
        }

        static Prepare read(WireReader in) throws WireException {
            return new Prepare(
                    in.u32(),
                    in.u32(),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(38);
            out.u32(incarnation);
            out.u32(range);
            out.u32(attempt);
        }
    }

    /** Number 39: the answer, once it is durable that the log is held for the attempt. */
    public static final class Prepared extends Message {
        /** The field {@code member}. */
        public final Member member;
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** A try to change a range's chain, which only grows. */
        public final long attempt;

        /** One of these fields. */
        public Prepared(Member member, long range, long attempt) {
            this.member = member;
            this.range = range;
            this.attempt = attempt;
        }

        static Prepared read(WireReader in) throws WireException {
            return new Prepared(
                    Member.read(in),
                    in.u32(),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(39);
            member.write(out);
            out.u32(range);
            out.u32(attempt);
        }
    }

    /** Number 40: the answer to {@code Hello} and {@code Heartbeat} of a node that has something of another cluster. */
    public static final class OtherCluster extends Message {
        /** The managers', none if it has yet to begin; {@code null} for none. */
        public final byte[] cluster;

        /** One of these fields. */
        public OtherCluster(byte[] cluster) {
            this.cluster = cluster;
        }

        static OtherCluster read(WireReader in) throws WireException {
            return new OtherCluster(in.option(in1 -> in1.fixed(16)));
        }

        @Override
        void write(WireWriter out) {
            out.u32(40);
            out.option(cluster, (value1, out1) -> out1.fixed(value1, 16));
        }
    }

    /**
     * Number 41: a node whose store was one of a plain directory, and is of no cluster yet, to the manager in place of
     * {@code Hello}.
     */
    public static final class Offer extends Message {
        /** A node, for ever, with bit 31 set for an archive. */
        public final long node;
        /** The field {@code nonce}. */
        public final long nonce;
        /** The field {@code machine}. */
        public final long machine;
        /** Machines that may fail together; {@code null} for none. */
        public final Long domain;
        /** All as in {@code Hello}. */
        public final long virtualIds;
        /** What the node's store holds. */
        public final Plain plain;

        /** One of these fields. */
        public Offer(long node, long nonce, long machine, Long domain, long virtualIds, Plain plain) {
            this.node = node;
            this.nonce = nonce;
            this.machine = machine;
            this.domain = domain;
            this.virtualIds = virtualIds;
            this.plain = plain;
        }

        static Offer read(WireReader in) throws WireException {
            return new Offer(
                    in.u64(),
                    in.u64(),
                    in.u64(),
                    in.option(WireReader::u64),
                    in.u32(),
                    Plain.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(41);
            out.u64(node);
            out.u64(nonce);
            out.u64(machine);
            out.option(domain, (value1, out1) -> out1.u64(value1));
            out.u32(virtualIds);
            plain.write(out);
        }
    }

    /**
     * Number 42: the answer to {@code Offer}, once both the life and the range are in the managers' log, and to {@code
     * Hello} of a node that has adopted before; again with every {@code Offer}.
     */
    public static final class Adopt extends Message {
        /** A cluster, drawn at random when it begins. */
        public final byte[] cluster;
        /** The field {@code nonce}. */
        public final long nonce;
        /** All as in {@code Welcome}. */
        public final long incarnation;
        /** What the store holds is this range from here on. */
        public final long range;

        /** One of these fields. */
        public Adopt(byte[] cluster, long nonce, long incarnation, long range) {
            this.cluster = cluster;
            this.nonce = nonce;
            this.incarnation = incarnation;
            this.range = range;
        }

        static Adopt read(WireReader in) throws WireException {
            return new Adopt(
                    in.fixed(16),
                    in.u64(),
                    in.u32(),
                    in.u32());
        }

        @Override
        void write(WireWriter out) {
            out.u32(42);
            out.fixed(cluster, 16);
            out.u64(nonce);
            out.u32(incarnation);
            out.u32(range);
        }
    }

    /** Number 43: the answer to {@code Offer}, where ranges were made without the node's store. */
    public static final class Occupied extends Message {
        /** The managers'. */
        public final byte[] cluster;

        /** One of these fields. */
        public Occupied(byte[] cluster) {
            this.cluster = cluster;
        }

        static Occupied read(WireReader in) throws WireException {
            return new Occupied(in.fixed(16));
        }

        @Override
        void write(WireWriter out) {
            out.u32(43);
            out.fixed(cluster, 16);
        }
    }

    /** Number 44: a node that is about to stop to the manager, once: it answers nothing any more. */
    public static final class Farewell extends Message {
        /** That it lived in. */
        public final byte[] cluster;
        /** Whose life is over. */
        public final Member member;

        /** One of these fields. */
        public Farewell(byte[] cluster, Member member) {
            this.cluster = cluster;
            this.member = member;
        }

        static Farewell read(WireReader in) throws WireException {
            return new Farewell(
                    in.fixed(16),
                    Member.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(44);
            out.fixed(cluster, 16);
            member.write(out);
        }
    }

    /** Number 45: as {@code Farewell}, from a front-end. */
    public static final class FrontFarewell extends Message {
        /** Whose life is over. */
        public final FrontMember member;

        /** One of these fields. */
        public FrontFarewell(FrontMember member) {
            this.member = member;
        }

        static FrontFarewell read(WireReader in) throws WireException {
            return new FrontFarewell(FrontMember.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(45);
            member.write(out);
        }
    }

    /**
     * Number 46: a client, or a front-end for one that lists keys, to the reader while {@code least} is 0, then to any
     * member, an archive only where all are; after 3 s to another one.
     */
    public static final class Scan extends Message {
        /** An instance of a range, with its own log. None comes twice. */
        public final long range;
        /** Names the question. */
        public final RequestId id;
        /** The field {@code asker}. */
        public final Asker asker;
        /** Of the range, from where the part begins. */
        public final Interval keys;
        /** The newest that the asker has seen of them, 0 for nothing. */
        public final Position least;
        /** The field {@code sought}. */
        public final Sought sought;

        /** One of these fields. */
        public Scan(long range, RequestId id, Asker asker, Interval keys, Position least, Sought sought) {
            this.range = range;
            this.id = id;
            this.asker = asker;
            this.keys = keys;
            this.least = least;
            this.sought = sought;
        }

        static Scan read(WireReader in) throws WireException {
            return new Scan(
                    in.u32(),
                    RequestId.read(in),
                    Asker.read(in),
                    Interval.read(in),
                    Position.read(in),
                    Sought.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(46);
            out.u32(range);
            id.write(out);
            asker.write(out);
            keys.write(out);
            least.write(out);
            sought.write(out);
        }
    }

    /** Number 47: the answer. */
    public static final class Scanned extends Message {
        /** The field {@code id}. */
        public final RequestId id;
        /** The asker's. */
        public final long tag;
        /** Who answers. */
        public final Member from;
        /** The field {@code found}. */
        public final Found found;

        /** One of these fields. */
        public Scanned(RequestId id, long tag, Member from, Found found) {
            this.id = id;
            this.tag = tag;
            this.from = from;
            this.found = found;
        }

        static Scanned read(WireReader in) throws WireException {
            return new Scanned(
                    RequestId.read(in),
                    in.u64(),
                    Member.read(in),
                    Found.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(47);
            id.write(out);
            out.u64(tag);
            from.write(out);
            found.write(out);
        }
    }

    /** Number 48: a seat that does not reach another to a third, and that one to the receiver. */
    public static final class Relayed extends Message {
        /** Whom it is for, a node or front-end. */
        public final Address to;
        /** Who says it, a node or front-end. */
        public final Address from;
        /**
         * A message with its version byte: 0 to 3, 6, 7, 28 to 30, 32, 46 or 47, or a {@code Probe} or {@code Echo}.
         */
        public final byte[] message;

        /** One of these fields. */
        public Relayed(Address to, Address from, byte[] message) {
            this.to = to;
            this.from = from;
            this.message = message;
        }

        static Relayed read(WireReader in) throws WireException {
            return new Relayed(
                    Address.read(in),
                    Address.read(in),
                    in.bytes());
        }

        @Override
        void write(WireWriter out) {
            out.u32(48);
            to.write(out);
            from.write(out);
            out.bytes(message);
        }
    }

    /** Number 49: a seat to one that it has something to say to, and by way of others if there is no echo. */
    public static final class Probe extends Message {
        /** The sender's time, in microseconds. */
        public final long number;

        /** One of these fields. */
        public Probe(long number) {
            this.number = number;
        }

        static Probe read(WireReader in) throws WireException {
            return new Probe(in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(49);
            out.u64(number);
        }
    }

    /** Number 50: the answer, the way that the probe came. */
    public static final class Echo extends Message {
        /** The probe's. */
        public final long number;

        /** One of these fields. */
        public Echo(long number) {
            this.number = number;
        }

        static Echo read(WireReader in) throws WireException {
            return new Echo(in.u64());
        }

        @Override
        void write(WireWriter out) {
            out.u32(50);
            out.u64(number);
        }
    }

    /** Number 51: a front-end that no other member answers to the manager, after a heartbeat. */
    public static final class FrontCutOff extends Message {
        /** Who says so. */
        public final FrontMember member;

        /** One of these fields. */
        public FrontCutOff(FrontMember member) {
            this.member = member;
        }

        static FrontCutOff read(WireReader in) throws WireException {
            return new FrontCutOff(FrontMember.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(51);
            member.write(out);
        }
    }

    /** Number 52: a node that no other member answers to the manager, after a heartbeat. */
    public static final class NodeCutOff extends Message {
        /** The sender. */
        public final Member member;

        /** One of these fields. */
        public NodeCutOff(Member member) {
            this.member = member;
        }

        static NodeCutOff read(WireReader in) throws WireException {
            return new NodeCutOff(Member.read(in));
        }

        @Override
        void write(WireWriter out) {
            out.u32(52);
            member.write(out);
        }
    }
}
