// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.
package fawn.client.wire;

/** The type {@code Enrolment} of the wire. */
public final class Enrolment {
    /** The field {@code name}. */
    public final String name;
    /** The field {@code directory}. */
    public final byte[] directory;
    /** The field {@code address}. */
    public final String address;
    /** The field {@code clients}; {@code null} for none. */
    public final String clients;
    /** The field {@code node}. */
    public final NodeClass node;
    /** The field {@code isFront}. */
    public final boolean isFront;
    /** The field {@code seats}. */
    public final long seats;
    /** The field {@code machine}. */
    public final String machine;
    /** The field {@code domain}; {@code null} for none. */
    public final String domain;
    /** The field {@code virtualIds}. */
    public final long virtualIds;
    /** The field {@code release}. */
    public final String release;

    /** One of these fields. */
    public Enrolment(
            String name,
            byte[] directory,
            String address,
            String clients,
            NodeClass node,
            boolean isFront,
            long seats,
            String machine,
            String domain,
            long virtualIds,
            String release) {
        this.name = name;
        this.directory = directory;
        this.address = address;
        this.clients = clients;
        this.node = node;
        this.isFront = isFront;
        this.seats = seats;
        this.machine = machine;
        this.domain = domain;
        this.virtualIds = virtualIds;
        this.release = release;
    }

    static Enrolment read(WireReader in) throws WireException {
        return new Enrolment(
                in.string(),
                in.fixed(16),
                in.string(),
                in.option(WireReader::string),
                NodeClass.read(in),
                in.bool(),
                in.u32(),
                in.string(),
                in.option(WireReader::string),
                in.u32(),
                in.string());
    }

    void write(WireWriter out) {
        out.string(name);
        out.fixed(directory, 16);
        out.string(address);
        out.option(clients, (value1, out1) -> out1.string(value1));
        node.write(out);
        out.bool(isFront);
        out.u32(seats);
        out.string(machine);
        out.option(domain, (value1, out1) -> out1.string(value1));
        out.u32(virtualIds);
        out.string(release);
    }
}
