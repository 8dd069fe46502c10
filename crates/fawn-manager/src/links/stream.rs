//! Connections, encrypted or not, and frames over them.

use fawn_kv::link::{Frame, Frames};
use fawn_tls::certificate::Expiry;
use fawn_tls::{Identity, Links, Material, Reloading, Role, TlsError, advice, server_name_for};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A peer that says nothing for so long is gone. All say [`Alive`](fawn_kv::link::Control::Alive) now and then.
pub const SILENCE: Duration = Duration::from_mins(1);

/// A peer that takes nothing for so long is gone.
pub const STALLED: Duration = Duration::from_secs(10);

/// Both directions of a connection.
pub trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// A connection, encrypted or not.
pub type BoxedStream = Box<dyn Bytes>;

/// A connection, and what is known of the other side.
pub struct PeerStream {
    /// The connection.
    pub stream: BoxedStream,
    /// Who the other side's certificate says that it is; `None`: it has shown none, and is believed what it says.
    pub identity: Option<Identity>,
}

/// Makes connections secure: TLS 1.3 with a certificate of the cluster's authority on both sides.
#[derive(Clone)]
pub struct Tls(Arc<Reloading<Links>>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// With these files, also when they are replaced.
    ///
    /// # Errors
    /// Of a file that is of no use.
    pub fn of(files: &Material) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(Reloading::links(files)?)))
    }

    /// Which of its certificates ends first, and when.
    pub fn expiry(&self) -> Option<Expiry> {
        self.0.expiry()
    }

    /// The side that was called.
    ///
    /// # Errors
    /// The other side is none of the cluster.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<PeerStream> {
        let stream = TlsAcceptor::from(self.0.current().server).accept(stream).await?;
        let identity = identity(stream.get_ref().1.peer_certificates())?;
        Ok(PeerStream { stream: Box::new(stream), identity })
    }

    /// What an error of a call most likely comes from, before the other side has said anything.
    pub fn explain(&self, error: io::Error) -> io::Error {
        advice::secure(error, &self.0.current().ca, "a manager")
    }

    /// The side that calls; a manager is to answer.
    ///
    /// # Errors
    /// The other side is no manager of the cluster.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<PeerStream> {
        let name = server_name_for(&Role::Manager).map_err(io::Error::other)?;
        let stream = TlsConnector::from(self.0.current().client).connect(name, stream).await?;
        let identity = identity(stream.get_ref().1.peer_certificates())?;
        Ok(PeerStream { stream: Box::new(stream), identity })
    }
}

fn identity(chain: Option<&[CertificateDer<'_>]>) -> io::Result<Option<Identity>> {
    let invalid = |error| io::Error::new(io::ErrorKind::PermissionDenied, error);
    Identity::of(chain.unwrap_or_default()).map(Some).map_err(invalid)
}

/// A connection that nothing protects.
pub fn plain(stream: TcpStream) -> PeerStream {
    PeerStream { stream: Box::new(stream), identity: None }
}

/// What of a peer that has gone silently is noticed by the network itself: after this, unacknowledged bytes end the
/// connection.
const USER_TIMEOUT: Duration = Duration::from_secs(5);

/// Sets what every connection of a cluster has: nothing waits for more to be sent with it, and a peer that is gone is noticed.
///
/// # Errors
/// The system refuses.
pub fn tune(stream: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    stream.set_nodelay(true)?;
    sockopt::set_tcp_user_timeout(stream, USER_TIMEOUT.as_millis() as u32)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(5))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(2))?;
    Ok(())
}

/// The next frame; what came after it stays in `buffer`.
///
/// # Errors
/// The connection ends, or what comes is no frame.
pub async fn read_frame(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    frames: Frames,
) -> io::Result<Frame> {
    loop {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        if let Ok((frame, used)) = frames.next(buffer).map_err(invalid)? {
            buffer.drain(..used);
            return Ok(frame);
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
