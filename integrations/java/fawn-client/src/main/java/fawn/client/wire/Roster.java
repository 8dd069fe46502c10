// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

import java.util.List;

/** The type {@code Roster} of the wire. */
public final class Roster {
    /** The field {@code number}. */
    public final long number;
    /** The field {@code managers}. */
    public final List<Pair<Long, String>> managers;
    /** The field {@code members}. */
    public final List<Pair<String, RosterMember>> members;
    /** The field {@code machines}. */
    public final List<Pair<String, Long>> machines;
    /** The field {@code domains}. */
    public final List<Pair<String, Long>> domains;
    /** The field {@code seats}. */
    public final long seats;

    /** One of these fields. */
    public Roster(
            long number,
            List<Pair<Long, String>> managers,
            List<Pair<String, RosterMember>> members,
            List<Pair<String, Long>> machines,
            List<Pair<String, Long>> domains,
            long seats) {
        this.number = number;
        this.managers = managers;
        this.members = members;
        this.machines = machines;
        this.domains = domains;
        this.seats = seats;
    }

    static Roster read(WireReader in) throws WireException {
        return new Roster(
                in.u64(),
                in.map(WireReader::u64, WireReader::string),
                in.map(WireReader::string, RosterMember::read),
                in.map(WireReader::string, WireReader::u64),
                in.map(WireReader::string, WireReader::u64),
                in.u32());
    }

    void write(WireWriter out) {
        out.u64(number);
        out.map(managers, (value1, out1) -> out1.u64(value1), (value1, out1) -> out1.string(value1));
        out.map(members, (value1, out1) -> out1.string(value1), RosterMember::write);
        out.map(machines, (value1, out1) -> out1.string(value1), (value1, out1) -> out1.u64(value1));
        out.map(domains, (value1, out1) -> out1.string(value1), (value1, out1) -> out1.u64(value1));
        out.u32(seats);
    }
}
