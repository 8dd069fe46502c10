package fawn.client;

/** Who is to be called. */
final class Whom {
    /** {@code HOST:PORT}. */
    final String address;
    /** The member that it has to be; {@code null} for a manager. */
    final String member;
    /** The seat of it; {@code null} for whoever listens there. */
    final Long seat;
    /** The manager that this one is to connect the client with; {@code null} for itself. */
    final Long leader;
    /** The cluster; {@code null} if it is not known. */
    final byte[] cluster;

    Whom(String address, String member, Long seat, Long leader, byte[] cluster) {
        this.address = address;
        this.member = member;
        this.seat = seat;
        this.leader = leader;
        this.cluster = cluster;
    }

    /** The name that its certificate has to have. */
    String role() {
        return member == null ? "manager.fawn" : member + ".member.fawn";
    }

    @Override
    public String toString() {
        return member == null ? "the manager at " + address : "the member " + member + " at " + address;
    }
}
