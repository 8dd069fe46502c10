package fawn.client;

/** A member of a range's chain. */
public final class RangeMember {
    /** The node's name. */
    public final String name;
    /** The host of the address that it has registered: a name, or an address without brackets. */
    public final String host;

    /** Whether it keeps copies that others are asked for. */
    public final boolean isArchive;

    RangeMember(String name, String host, boolean isArchive) {
        this.name = name;
        this.host = host;
        this.isArchive = isArchive;
    }
}
