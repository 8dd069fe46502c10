package fawn.client;

import fawn.client.wire.Control;
import fawn.client.wire.Frame;
import fawn.client.wire.Greeted;
import fawn.client.wire.Greeting;
import fawn.client.wire.Lane;
import fawn.client.wire.MessageCodec;
import fawn.client.wire.Party;
import fawn.client.wire.WireWriter;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.StandardSocketOptions;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import jdk.net.ExtendedSocketOptions;

/** Makes connections: TCP, TLS where that is on, and greetings. */
final class Dialler {
    /** A call, with handshake and greetings, takes about so long at most, in milliseconds. */
    private static final int DIAL_MS = 2000;
    /** The kind of a certificate's alternative name that is a DNS name (RFC 5280, section 4.2.1.6). */
    private static final int DNS_NAME = 2;

    private final TlsFiles tls;

    /** One with these files; {@code null} for connections that are not protected. */
    Dialler(Certificates files) throws FawnException {
        tls = files == null ? null : new TlsFiles(files);
    }

    /** What a call came to. */
    static final class Call {
        final Socket socket;
        final Greeted greeted;

        Call(Socket socket, Greeted greeted) {
            this.socket = socket;
            this.greeted = greeted;
        }
    }

    /** Is told of the socket as soon as there is one, so that it can be closed meanwhile. */
    interface SocketHolder {
        void hold(Socket socket) throws IOException;
    }

    /** Calls somebody. A refusal of the other side is the exception's sentence. */
    Call dial(Whom whom, SocketHolder holder) throws IOException, FawnException {
        HostPort place = HostPort.of(whom.address);
        Socket socket = connected(place, holder);
        try {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(DIAL_MS);
            keepAlive(socket);
            if (tls != null) {
                socket = secured(socket, whom, place.port);
                holder.hold(socket);
            }
            Greeted greeted = greet(socket, whom);
            socket.setSoTimeout(0);
            return new Call(socket, greeted);
        } catch (IOException error) {
            socket.close();
            throw error;
        }
    }

    private static Socket connected(HostPort place, SocketHolder holder) throws IOException {
        IOException last = new IOException("its host has no address");
        for (InetAddress address : InetAddress.getAllByName(place.host)) {
            Socket socket = new Socket();
            try {
                holder.hold(socket);
                socket.connect(new InetSocketAddress(address, place.port), DIAL_MS);
                return socket;
            } catch (IOException error) {
                socket.close();
                last = error;
            }
        }
        throw last;
    }

    /** A party that is gone is noticed after a few seconds without traffic. */
    private static void keepAlive(Socket socket) throws IOException {
        socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        if (socket.supportedOptions().contains(ExtendedSocketOptions.TCP_KEEPIDLE)) {
            socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 2);
            socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, 1);
            socket.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, 3);
        }
    }

    private SSLSocket secured(Socket socket, Whom whom, int port) throws IOException {
        SSLSocket secured = (SSLSocket) tls.current().getSocketFactory()
                .createSocket(socket, whom.role(), port, true);
        secured.setEnabledProtocols(new String[] {"TLSv1.3"});
        try {
            secured.startHandshake();
        } catch (SSLException error) {
            secured.close();
            throw explained(error);
        }
        X509Certificate leaf = (X509Certificate) secured.getSession().getPeerCertificates()[0];
        if (!isNamed(leaf, whom.role())) {
            secured.close();
            throw new SSLException("its certificate is not that of " + whom + ": give it one with the name " + whom.role());
        }
        return secured;
    }

    private static SSLException explained(SSLException error) {
        return new SSLException("the TLS handshake failed (" + error.getMessage()
                + "): use certificates of the cluster's authority, and check both clocks", error);
    }

    /** Whether a certificate, whose chain was verified, has a name among its DNS names. */
    private static boolean isNamed(X509Certificate certificate, String name) throws SSLException {
        try {
            Collection<List<?>> names = certificate.getSubjectAlternativeNames();
            return names != null && names.stream().anyMatch(each ->
                    each.get(0).equals(DNS_NAME) && name.equals(each.get(1)));
        } catch (CertificateParsingException error) {
            throw new SSLException("its certificate cannot be read", error);
        }
    }

    private Greeted greet(Socket socket, Whom whom) throws IOException {
        Party to = whom.seat != null ? new Party.Seat(whom.seat)
                : whom.leader != null ? new Party.Manager(whom.leader) : null;
        Greeting greeting = new Greeting(Control.magic(), MessageCodec.OLDEST, MessageCodec.NEWEST, whom.cluster,
                new Party.Client(0), to, Lane.CLIENT);
        WireWriter out = new WireWriter(64);
        Frame.of(new Control.Greets(greeting)).write(out);
        socket.getOutputStream().write(out.toBytes());
        socket.getOutputStream().flush();
        Control answer = first(socket).control;
        if (answer instanceof Control.Refused) {
            throw new IOException(((Control.Refused) answer).why);
        }
        if (!(answer instanceof Control.IsGreeted)) {
            throw new IOException("it does not answer the greeting like FAWN: check the address");
        }
        Greeted greeted = ((Control.IsGreeted) answer).greeted;
        boolean isOther = whom.seat != null
                && !(greeted.from instanceof Party.Seat && ((Party.Seat) greeted.from).value == whom.seat);
        if (isOther) {
            throw new IOException("another seat answers than " + whom.seat);
        }
        if (greeted.version < MessageCodec.OLDEST || greeted.version > MessageCodec.NEWEST) {
            throw new IOException("it speaks version " + greeted.version + ": run a client of the cluster's release");
        }
        return greeted;
    }

    /** The first frame, and not a byte more. */
    private Frame first(Socket socket) throws IOException {
        try {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] header = new byte[Frame.HEADER_BYTES];
            in.readFully(header);
            byte[] body = new byte[Frame.bodyLength(header, Frame.MOST_GREETING_BYTES)];
            in.readFully(body);
            return Frame.read(header, body);
        } catch (SSLException error) {
            throw explained(error);
        } catch (EOFException | SocketException error) {
            String advice = tls == null
                    ? "it hung up: if the cluster has certificates, give the client some"
                    : "it hung up: if the cluster has no certificates, give the client none";
            throw new IOException(advice, error);
        }
    }
}
