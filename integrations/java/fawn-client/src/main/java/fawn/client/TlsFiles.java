package fawn.client;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** What connections are secured with: read from PEM files, and read again once a file was replaced. */
final class TlsFiles {
    private static final String KEY_BEGINS = "-----BEGIN PRIVATE KEY-----";
    private static final String KEY_ENDS = "-----END PRIVATE KEY-----";

    private final Certificates files;
    private SSLContext context;
    private List<FileTime> times;

    /** Reads the files. */
    TlsFiles(Certificates files) throws FawnException {
        this.files = files;
        times = times();
        context = read();
    }

    /** What new connections are secured with. Files that are of no use leave what was read before. */
    synchronized SSLContext current() {
        try {
            List<FileTime> now = times();
            if (!now.equals(times)) {
                context = read();
                times = now;
            }
        } catch (FawnException error) {
            System.getLogger("fawn.client").log(System.Logger.Level.WARNING,
                    "the certificates that were read before stay in use: {0}", error.getMessage());
        }
        return context;
    }

    private List<FileTime> times() throws FawnException {
        List<FileTime> found = new ArrayList<>();
        for (Path file : List.of(files.authority, files.certificate, files.key)) {
            try {
                found.add(Files.getLastModifiedTime(file));
            } catch (IOException error) {
                throw refused(file, "it cannot be read: name an existing file", error);
            }
        }
        return found;
    }

    private SSLContext read() throws FawnException {
        List<Certificate> authorities = certificates(files.authority);
        List<Certificate> chain = certificates(files.certificate);
        PrivateKey key = key(chain.get(0).getPublicKey().getAlgorithm());
        try {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null, null);
            for (int at = 0; at < authorities.size(); at++) {
                trusted.setCertificateEntry("authority-" + at, authorities.get(at));
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            KeyStore own = KeyStore.getInstance(KeyStore.getDefaultType());
            own.load(null, null);
            char[] none = new char[0];
            own.setKeyEntry("client", key, none, chain.toArray(new Certificate[0]));
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(own, none);
            SSLContext made = SSLContext.getInstance("TLSv1.3");
            made.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
            return made;
        } catch (GeneralSecurityException | IOException error) {
            throw refused(files.key, "key and certificate cannot be used together: " + error.getMessage(), error);
        }
    }

    private static List<Certificate> certificates(Path file) throws FawnException {
        try (InputStream in = Files.newInputStream(file)) {
            Collection<? extends Certificate> found =
                    CertificateFactory.getInstance("X.509").generateCertificates(in);
            if (found.isEmpty()) {
                throw refused(file, "it has no certificate: name a PEM file of fawn certs", null);
            }
            return new ArrayList<>(found);
        } catch (GeneralSecurityException | IOException error) {
            throw refused(file, "it has no certificate: name a PEM file of fawn certs", error);
        }
    }

    private PrivateKey key(String algorithm) throws FawnException {
        String what = "it has no key that fits the certificate: name a PEM file with PKCS#8, as fawn certs makes it";
        try {
            String text = new String(Files.readAllBytes(files.key), StandardCharsets.US_ASCII);
            int begin = text.indexOf(KEY_BEGINS);
            int end = text.indexOf(KEY_ENDS);
            if (begin < 0 || end < begin) {
                throw refused(files.key, what, null);
            }
            byte[] der = Base64.getMimeDecoder().decode(text.substring(begin + KEY_BEGINS.length(), end));
            return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
        } catch (GeneralSecurityException | IOException | IllegalArgumentException error) {
            throw refused(files.key, what, error);
        }
    }

    private static FawnException refused(Path file, String what, Exception cause) {
        return new FawnException(FawnException.Reason.TLS, file + ": " + what, cause);
    }
}
