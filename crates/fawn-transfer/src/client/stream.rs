//! Connections over TCP, a Unix socket or TLS, as one type that a poll loop can drive.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::{Address, ClientError};

/// Everything there is to know to connect to a server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where it listens.
    pub address: Address,
    /// Speak TLS.
    pub tls: Option<Tls>,
    /// Say who we are.
    pub credentials: Option<Credentials>,
    /// Longest wait for a connection or an answer.
    pub timeout: Duration,
}

/// How to check the server's certificate.
#[derive(Clone, Debug)]
pub struct Tls {
    /// PEM file of the certificates to trust.
    pub authority: PathBuf,
    /// Name that the certificate must carry; the address's host when `None`.
    pub name: Option<String>,
}

/// A user of memcached's authentication file.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// User name.
    pub user: String,
    /// File whose first line is the password.
    pub password_file: PathBuf,
}

impl Endpoint {
    /// The first line of the password file, with the user: the value of memcached's authenticating `set`.
    ///
    /// # Errors
    /// [`ClientError::Password`].
    pub fn secret(&self) -> Result<Option<String>, ClientError> {
        let Some(credentials) = &self.credentials else { return Ok(None) };
        Ok(Some(format!("{} {}", credentials.user, credentials.password()?)))
    }
}

impl Credentials {
    /// The first line of the password file.
    ///
    /// # Errors
    /// [`ClientError::Password`].
    pub fn password(&self) -> Result<String, ClientError> {
        let path = &self.password_file;
        let text =
            fawn_files::text::read(path).map_err(|source| ClientError::Password { path: path.clone(), source })?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }
}

/// A connected socket.
#[derive(Debug)]
pub enum ServerStream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TLS over TCP or a Unix socket.
    Tls(Box<StreamOwned<ClientConnection, ServerStream>>),
}

impl ServerStream {
    /// Connects; with TLS, the handshake is done by the first write.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, ClientError> {
        let address = &endpoint.address;
        let unreachable = |source| ClientError::Unreachable { address: address.clone(), source };
        let stream = match address {
            Address::Tcp { host, port } => Self::Tcp(connect_tcp(host, *port, endpoint.timeout).map_err(unreachable)?),
            Address::Unix(path) => Self::Unix(UnixStream::connect(path).map_err(unreachable)?),
        };
        stream.set_timeout(Some(endpoint.timeout)).map_err(unreachable)?;
        match &endpoint.tls {
            None => Ok(stream),
            Some(tls) => {
                let host = match address {
                    Address::Tcp { host, .. } => host.as_str(),
                    Address::Unix(_) => "localhost",
                };
                let session = tls_session(tls, host)?;
                Ok(Self::Tls(Box::new(StreamOwned::new(session, stream))))
            }
        }
    }

    /// Makes reads and writes return `WouldBlock` instead of waiting.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(true),
            Self::Unix(stream) => stream.set_nonblocking(true),
            Self::Tls(stream) => stream.sock.set_nonblocking(),
        }
    }

    /// Whether bytes that were taken by `write` still wait for the socket.
    pub fn wants_write(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.conn.wants_write())
    }

    /// Limits every read and write.
    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
            Self::Unix(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
            Self::Tls(stream) => stream.sock.set_timeout(timeout),
        }
    }
}

impl Read for ServerStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for ServerStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl AsFd for ServerStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
            Self::Tls(stream) => stream.sock.as_fd(),
        }
    }
}

/// The addresses of a name, which may take the system much longer than this.
fn resolve(host: &str, port: u16, timeout: Duration) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = host.parse() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let (found, addresses) = mpsc::channel();
    let host = host.to_owned();
    // Whoever waits no longer leaves it behind.
    std::thread::Builder::new().name("fawn-resolve".to_owned()).spawn(move || {
        let _ = found.send((host.as_str(), port).to_socket_addrs().map(Iterator::collect));
    })?;
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the name was not resolved in time");
    addresses.recv_timeout(timeout).map_err(late)?
}

/// Tries every address of the name.
fn connect_tcp(host: &str, port: u16, timeout: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in resolve(host, port, timeout)? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// A TLS session that trusts the given certificates.
fn tls_session(tls: &Tls, host: &str) -> Result<ClientConnection, ClientError> {
    let refused = |reason: String| ClientError::Certificates { path: tls.authority.clone(), reason };
    let roots = read_roots(&tls.authority).map_err(refused)?;
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = tls.name.as_deref().unwrap_or(host).to_owned();
    let name = ServerName::try_from(name).map_err(|error| refused(error.to_string()))?;
    ClientConnection::new(Arc::new(config), name).map_err(|error| refused(error.to_string()))
}

/// The certificates in a PEM file.
fn read_roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let text = fawn_files::text::read_bytes(path).map_err(|error| error.to_string())?;
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("it holds no certificate".to_owned()) } else { Ok(roots) }
}
