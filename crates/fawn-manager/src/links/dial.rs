//! Calling another manager.

pub use super::stream::BoxedStream;
use super::stream::{Tls, plain, read_frame, tune};
use fawn_kv::ids::ClusterId;
use fawn_kv::link::control::MAGIC;
use fawn_kv::link::frame::put_control;
use fawn_kv::link::{Control, Frame, Frames, Greeted, Greeting, Lane, Party};
use fawn_kv::wire::version::VersionRange;
use fawn_tls::advice;
use std::io;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// A dial, with greetings, takes no longer.
pub const DIAL: Duration = Duration::from_secs(2);

/// Calls others, as one party.
#[derive(Debug)]
pub struct Dialler {
    /// Who calls.
    pub from: Party,
    /// The cluster, as far as it is known.
    pub cluster: watch::Receiver<Option<ClusterId>>,
    /// How connections are protected.
    pub tls: Option<Tls>,
}

/// A link that stands.
pub struct OutgoingLink {
    /// The connection; the first byte is of the first frame after the greeting.
    pub stream: BoxedStream,
    /// What the other side said.
    pub greeted: Greeted,
    /// What it has sent after that already.
    pub rest: Vec<u8>,
}

impl Dialler {
    /// Calls whoever listens there, who has to be `to`.
    ///
    /// # Errors
    /// Nobody answers, or the other side refuses, whose sentence is the error's.
    pub async fn dial(&self, address: &str, to: Option<Party>) -> io::Result<OutgoingLink> {
        match tokio::time::timeout(DIAL, self.call(address, to)).await {
            Ok(link) => link,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, format!("{address} does not answer"))),
        }
    }

    async fn call(&self, address: &str, to: Option<Party>) -> io::Result<OutgoingLink> {
        let stream = TcpStream::connect(address).await?;
        tune(&stream)?;
        let explain = |error| match &self.tls {
            Some(tls) => tls.explain(error),
            None => advice::plain(error),
        };
        let mut stream = match &self.tls {
            Some(tls) => tls.connect(stream).await.map_err(explain)?.stream,
            None => plain(stream).stream,
        };
        let cluster = *self.cluster.borrow();
        let VersionRange { oldest: lowest, newest: highest } = VersionRange::OWN;
        let (magic, lane) = (MAGIC, Lane::Chain);
        let greeting = Greeting { magic, lowest, highest, cluster, from: self.from, to, lane };
        let mut frame = Vec::new();
        put_control(&mut frame, &Control::Greeting(greeting));
        stream.write_all(&frame).await.map_err(explain)?;
        let mut rest = Vec::new();
        match read_frame(&mut stream, &mut rest, Frames::default()).await.map_err(explain)? {
            Frame::Control(Control::Greeted(greeted)) => Ok(OutgoingLink { stream, greeted, rest }),
            Frame::Control(Control::Refused { why }) => Err(io::Error::new(io::ErrorKind::PermissionDenied, why)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{address} does not answer the greeting"))),
        }
    }
}
