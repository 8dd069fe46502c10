// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code RosterMember} of the wire. */
public final class RosterMember {
    /** The field {@code said}. */
    public final Enrolment said;
    /** The field {@code first}. */
    public final long first;
    /** The field {@code machine}. */
    public final long machine;
    /** Machines that may fail together; {@code null} for none. */
    public final Long domain;

    /** One of these fields. */
    public RosterMember(Enrolment said, long first, long machine, Long domain) {
        this.said = said;
        this.first = first;
        this.machine = machine;
        this.domain = domain;
    }

    static RosterMember read(WireReader in) throws WireException {
        return new RosterMember(
                Enrolment.read(in),
                in.u32(),
                in.u64(),
                in.option(WireReader::u64));
    }

    void write(WireWriter out) {
        said.write(out);
        out.u32(first);
        out.u64(machine);
        out.option(domain, (value1, out1) -> out1.u64(value1));
    }
}
