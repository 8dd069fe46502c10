//! Connections, encrypted or not, and frames over them.

use fawn_kv::link::{Frame, Frames};
use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;

/// Both directions of a connection.
pub trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// A connection of whatever kind.
pub type Stream = Box<dyn Bytes>;

/// A connection, and what is known of the other side.
pub struct Secured {
    /// The connection.
    pub stream: Stream,
    /// The names that the other side's certificate carries; `None`: it has shown none, and is believed what it says.
    pub names: Option<Vec<String>>,
}

/// What comes of a handshake.
pub type Handshake<'a> = Pin<Box<dyn Future<Output = io::Result<Secured>> + Send + 'a>>;

/// Makes connections secure.
pub trait Secure: Debug + Send + Sync {
    /// The side that was called.
    fn accept(&self, stream: TcpStream) -> Handshake<'_>;

    /// The side that calls; the other is to have a certificate with this name.
    fn connect<'a>(&'a self, stream: TcpStream, name: &'a str) -> Handshake<'a>;
}

/// A connection that nothing protects.
pub fn plain(stream: TcpStream) -> Secured {
    Secured { stream: Box::new(stream), names: None }
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
