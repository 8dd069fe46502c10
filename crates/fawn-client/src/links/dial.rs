//! Making a connection: TCP, TLS where that is on, and greetings.

use fawn_kv::ids::{ClusterId, ManagerId, SeatId};
use fawn_kv::link::control::MAGIC;
use fawn_kv::link::{Control, Frame, Frames, Greeted, Greeting, Lane, Party, frame};
use fawn_kv::wire::version::VersionRange;
use fawn_tls::{Links, Material, Reloading, Role, TlsError, advice, server_name_for};
use rustix::net::sockopt;
use std::time::Duration;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// A call, with handshake and greetings, takes no longer.
const DIAL: Duration = Duration::from_secs(2);

/// What of a party that has gone silently is noticed by the network itself: after this, bytes that are not acknowledged end
/// the connection.
const USER_TIMEOUT_MS: u32 = 3000;

/// Both directions of a connection.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// A connection of whatever kind.
pub(crate) type Stream = Box<dyn Bytes>;

/// Who is to be called.
#[derive(Clone, Debug)]
pub(crate) struct Whom {
    /// HOST:PORT.
    pub(crate) address: String,
    /// The member that it has to be; `None`: a manager.
    pub(crate) member: Option<String>,
    /// The seat of it; `None`: whoever listens there.
    pub(crate) seat: Option<SeatId>,
    /// The manager that this one is to connect the client with; `None`: itself.
    pub(crate) leader: Option<ManagerId>,
    /// The cluster, if that is known.
    pub(crate) cluster: Option<ClusterId>,
}

/// Makes connections.
pub(crate) struct Dialler {
    tls: Option<Reloading<Links>>,
}

impl fmt::Debug for Dialler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialler").field("is_protected", &self.tls.is_some()).finish()
    }
}

impl Dialler {
    /// With these files, also when they are replaced.
    ///
    /// # Errors
    /// Of a file that is of no use.
    pub(crate) fn new(certificates: Option<&Material>) -> Result<Self, TlsError> {
        Ok(Self { tls: certificates.map(Reloading::links).transpose()? })
    }

    /// Calls somebody: the connection, what the other side said of itself, and what it has sent after that already.
    ///
    /// # Errors
    /// Nobody answers, or the other side refuses, whose sentence is the error's.
    pub(crate) async fn dial(&self, whom: &Whom) -> io::Result<(Stream, Greeted, Vec<u8>)> {
        match timeout(DIAL, self.call(whom)).await {
            Ok(called) => called,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer")),
        }
    }

    async fn call(&self, whom: &Whom) -> io::Result<(Stream, Greeted, Vec<u8>)> {
        let stream = TcpStream::connect(&whom.address).await?;
        tune(&stream)?;
        let explain = |error| match &self.tls {
            Some(tls) => {
                let who =
                    whom.member.as_ref().map_or_else(|| "a manager".to_owned(), |name| format!("the member {name}"));
                advice::secure(error, &tls.current().ca, &who)
            }
            None => advice::plain(error),
        };
        let mut stream: Stream = match &self.tls {
            Some(tls) => {
                let role = whom.member.clone().map_or(Role::Manager, Role::Member);
                let name = server_name_for(&role).map_err(io::Error::other)?;
                Box::new(TlsConnector::from(tls.current().client).connect(name, stream).await.map_err(explain)?)
            }
            None => Box::new(stream),
        };
        let mut bytes = Vec::new();
        let VersionRange { oldest: lowest, newest: highest } = VersionRange::OWN;
        let (magic, lane) = (MAGIC, Lane::Client);
        let to = whom.seat.map(Party::Seat).or(whom.leader.map(Party::Manager));
        let (cluster, from) = (whom.cluster, Party::Client(0));
        let greeting = Greeting { magic, lowest, highest, cluster, from, to, lane };
        frame::put_control(&mut bytes, &Control::Greeting(greeting));
        stream.write_all(&bytes).await?;
        stream.flush().await?;
        bytes.clear();
        let refused = |why: String| io::Error::new(io::ErrorKind::PermissionDenied, why);
        let (first, used) = loop {
            if let Ok(first) = Frames::default().next(&bytes).map_err(io::Error::other)? {
                break first;
            }
            if stream.read_buf(&mut bytes).await.map_err(explain)? == 0 {
                return Err(advice::hung_up(self.tls.is_some()));
            }
        };
        bytes.drain(..used);
        match first {
            Frame::Control(Control::Greeted(greeted)) => match (greeted.from, whom.seat) {
                (from, Some(seat)) if from != Party::Seat(seat) => Err(refused(format!("{from} answers for {seat:?}"))),
                _ if !(lowest..=highest).contains(&greeted.version) => {
                    Err(refused("it speaks another version".to_owned()))
                }
                _ => Ok((stream, greeted, bytes)),
            },
            Frame::Control(Control::Refused { why }) => Err(refused(why)),
            _ => Err(refused("it does not answer the greeting like FAWN".to_owned())),
        }
    }
}

/// Nothing waits for more to be sent with it, and a party that is gone is noticed.
fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_tcp_user_timeout(stream, USER_TIMEOUT_MS)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(2))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(1))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    Ok(())
}
