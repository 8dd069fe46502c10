//! TLS in the event loop: `rustls` as a codec between a socket's bytes and the protocol's.

use crate::observe::warnings::RateLimitedLog;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

/// Logs, now and then, why a client cannot talk to this node: its own messages seldom say it.
pub fn log_error(error: &rustls::Error, client: impl FnOnce() -> String) {
    static LOG: RateLimitedLog = RateLimitedLog::new();
    if let Some(more) = LOG.happened(Instant::now()) {
        tracing::warn!("{}, a client of the TLS port, was disconnected: {}{more}", client(), reason(error));
    }
}

/// What a client did wrong.
fn reason(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(_) => "it does not speak TLS".into(),
        rustls::Error::AlertReceived(alert) => {
            format!(
                "it ended the handshake ({alert:?}); does it trust the certificate, and does the certificate \
                have its host name?"
            )
        }
        other => other.to_string(),
    }
}

/// One connection's TLS.
#[derive(Debug)]
pub struct Secure {
    session: Connection,
}

impl Secure {
    /// A connection that has not said anything yet.
    ///
    /// # Errors
    /// What `rustls` reports.
    pub fn new(config: &Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let mut session = ServerConnection::new(Arc::clone(config))?;
        // Output is bounded by the connection before it comes here.
        session.set_buffer_limit(None);
        Ok(Self { session: session.into() })
    }

    /// A connection of another party of the cluster that has called.
    ///
    /// # Errors
    /// What `rustls` reports.
    pub fn called(config: &Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        Self::new(config)
    }

    /// A connection to another party of the cluster, which is to show itself as `name`.
    ///
    /// # Errors
    /// What `rustls` reports.
    pub fn calling(config: &Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, rustls::Error> {
        let mut session = ClientConnection::new(Arc::clone(config), name)?;
        session.set_buffer_limit(None);
        Ok(Self { session: session.into() })
    }

    /// The certificates of the other side, leaf first, once it has shown them and they are right.
    pub fn peer(&self) -> &[CertificateDer<'static>] {
        if self.is_handshaking() { &[] } else { self.session.peer_certificates().unwrap_or_default() }
    }

    /// Whether the handshake is still to be completed: the next bytes may cost a signature.
    pub fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Takes bytes of the socket and appends what they say to `plain`. Returns false after the peer has said that it
    /// sends no more.
    ///
    /// # Errors
    /// The peer broke the protocol; [`take_output`](Self::take_output) has the alert to send before closing.
    pub fn receive(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<bool, rustls::Error> {
        loop {
            let taken = self.session.read_tls(&mut bytes).unwrap_or(0);
            let state = self.session.process_new_packets()?;
            let ready = state.plaintext_bytes_to_read();
            if ready > 0 {
                let start = plain.len();
                plain.resize(start + ready, 0);
                self.session.reader().read_exact(&mut plain[start..]).expect("rustls has as many bytes as it says");
            }
            if state.peer_has_closed() {
                return Ok(false);
            }
            if bytes.is_empty() || (taken == 0 && ready == 0) {
                return Ok(true);
            }
        }
    }

    /// Encrypts `plain` and appends everything that is to be sent to `out`.
    pub fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        // Neither writes to a socket: both sides are buffers, which take everything.
        self.session.writer().write_all(plain).expect("the buffer has no limit");
        self.take_output(out);
    }

    /// Appends handshake messages and alerts that are to be sent to `out`.
    pub fn take_output(&mut self, out: &mut Vec<u8>) {
        while self.session.wants_write() {
            self.session.write_tls(out).expect("a buffer takes everything");
        }
    }

    /// Says that no more will be sent.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.session.send_close_notify();
        self.take_output(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TlsFiles;
    use crate::tests::harness::certificate;

    #[test]
    fn a_client_that_speaks_plain_text_is_refused_with_that_reason() {
        let dir = tempfile::tempdir().unwrap();
        let TlsFiles { cert, key } = certificate(dir.path());
        let mut secure = Secure::new(&fawn_tls::for_clients(&cert, &key).unwrap()).unwrap();
        let error = secure.receive(b"version\r\n", &mut Vec::new()).unwrap_err();
        assert_eq!(reason(&error), "it does not speak TLS");
    }
}
