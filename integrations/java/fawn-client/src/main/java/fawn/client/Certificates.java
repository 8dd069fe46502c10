package fawn.client;

import java.nio.file.Path;

/** The files that a client shows who it is with, as {@code fawn certs} makes them: PEM, the key as PKCS#8. */
public final class Certificates {
    /** Certificates of the authorities that are trusted. */
    public final Path authority;
    /** The client's own certificate chain, leaf first. */
    public final Path certificate;
    /** The key of its certificate. */
    public final Path key;

    /** Those of these files. They may be replaced while a client runs: new connections use the new ones. */
    public Certificates(Path authority, Path certificate, Path key) {
        this.authority = authority;
        this.certificate = certificate;
        this.key = key;
    }

    /** Where {@code fawn certs} puts the files of somebody of this name. */
    public static Certificates inDirectory(Path directory, String name) {
        return new Certificates(
                directory.resolve("ca.pem"),
                directory.resolve(name + ".pem"),
                directory.resolve(name + "-key.pem"));
    }
}
