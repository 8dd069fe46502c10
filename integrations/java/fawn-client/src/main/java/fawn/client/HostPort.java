package fawn.client;

/** Where somebody listens, and which member it has to be. */
final class HostPort {
    final String host;
    final int port;
    /** The member's name; {@code null} for a manager. */
    final String member;

    private HostPort(String host, int port, String member) {
        this.host = host;
        this.port = port;
        this.member = member;
    }

    /** Of {@code HOST:PORT}, an IPv6 address in brackets, or {@code NAME=HOST:PORT}. */
    static HostPort of(String text) throws FawnException {
        int equals = text.indexOf('=');
        String address = text.substring(equals + 1);
        int colon = address.lastIndexOf(':');
        int port = -1;
        try {
            port = Integer.parseInt(address.substring(colon + 1));
        } catch (NumberFormatException error) {
            // Refused below.
        }
        if (colon < 1 || port < 1 || port > 65_535) {
            throw new FawnException(FawnException.Reason.CONNECT,
                    "`" + text + "` is no address: name managers as HOST:PORT", null);
        }
        return new HostPort(hostOf(address), port, equals < 0 ? null : text.substring(0, equals));
    }

    /** The host of {@code HOST:PORT}, without brackets. */
    static String hostOf(String address) {
        int colon = address.lastIndexOf(':');
        return address.substring(0, colon < 0 ? address.length() : colon).replaceAll("^\\[|\\]$", "");
    }
}
