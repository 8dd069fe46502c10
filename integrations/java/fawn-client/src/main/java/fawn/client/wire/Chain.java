// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Chain} of the wire. */
public final class Chain {
    /** Of the range. */
    public final Interval keys;
    /** A configuration of a range, which only grows, along splits and merges too. 0 is before the first. */
    public final long epoch;
    /** That brought it about. */
    public final long attempt;
    /** Head first, none in a range that is yet to begin. */
    public final List<Member> members;
    /** The end of the log that it goes on from. */
    public final Position after;
    /** Number of its first record. */
    public final long first;
    /** The field {@code rules}. */
    public final Rules rules;

    /** One of these fields. */
    public Chain(
            Interval keys,
            long epoch,
            long attempt,
            List<Member> members,
            Position after,
            long first,
            Rules rules) {
        this.keys = keys;
        this.epoch = epoch;
        this.attempt = attempt;
        this.members = members;
        this.after = after;
        this.first = first;
        this.rules = rules;
    }

    static Chain read(WireReader in) throws WireException {
        return new Chain(
                Interval.read(in),
                in.u32(),
                in.u32(),
                in.list(Member::read),
                Position.read(in),
                in.u64(),
                Rules.read(in));
    }

    void write(WireWriter out) {
        keys.write(out);
        out.u32(epoch);
        out.u32(attempt);
        out.list(members, Member::write);
        after.write(out);
        out.u64(first);
        rules.write(out);
    }
}
