package fawn.spark;

import fawn.client.Certificates;
import fawn.client.Options;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.apache.spark.SparkFiles;

/** How a cluster is connected to. Equal ones share a client in each process. */
final class ClientSettings implements Serializable {
    private static final long serialVersionUID = 1;

    final List<String> managers;
    /** Authority, certificate and key; empty for no TLS. */
    private final List<String> tls;
    private final Duration connectTimeout;
    final Duration timeout;
    final int inFlight;
    final int inFlightBytes;

    ClientSettings(List<String> managers, List<String> tls, Duration connectTimeout, Duration timeout, int inFlight,
            int inFlightBytes) {
        this.managers = managers;
        this.tls = tls;
        this.connectTimeout = connectTimeout;
        this.timeout = timeout;
        this.inFlight = inFlight;
        this.inFlightBytes = inFlightBytes;
    }

    Options options() {
        Options options = new Options().connectTimeout(connectTimeout).timeout(timeout).inFlight(inFlight)
                .inFlightBytes(inFlightBytes);
        return tls.isEmpty() ? options : options.certificates(new Certificates(file(0), file(1), file(2)));
    }

    /** A file by its path or, where there is none, one that Spark was given with {@code --files}. */
    private Path file(int number) {
        Path path = Path.of(tls.get(number));
        return Files.exists(path) || path.isAbsolute() ? path : Path.of(SparkFiles.get(tls.get(number)));
    }

    private List<Object> parts() {
        return List.of(managers, tls, connectTimeout, timeout, inFlight, inFlightBytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ClientSettings && parts().equals(((ClientSettings) other).parts());
    }

    @Override
    public int hashCode() {
        return Objects.hash(parts());
    }
}
