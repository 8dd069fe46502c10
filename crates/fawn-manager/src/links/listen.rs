//! Taking calls: a task for each connection, which reads frames and hands on what they say.

use super::dial::Dialler;
use super::proxy::{self, Caller};
use super::rate_limited_log::RateLimitedLog;
use super::stream::{BoxedStream, PeerStream, SILENCE, STALLED, Tls, plain, read_frame, tune};
use super::table::{LinkId, Outbox};
use super::unauthenticated_peers::{UnauthenticatedPeer, UnauthenticatedPeers};
use crate::consensus::{Group, calls};
use crate::options::ManagerError;
use fawn_kv::ids::Address;
use fawn_kv::link::control::MAGIC;
use fawn_kv::link::frame::{MOST_BYTES, put_control};
use fawn_kv::link::unauthenticated_limit::STRANGERS;
use fawn_kv::link::{Control, Frame, Frames, Greeting, Party, Proxied};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::VersionRange;
use fawn_tls::Identity;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

/// Handshake and greeting take no longer.
const GREETING: Duration = Duration::from_secs(5);

/// We say it after so long.
const ALIVE: Duration = Duration::from_secs(10);

/// One that wants to be a member is told within this, or asks again over another connection.
const NEWCOMER: Duration = Duration::from_secs(12);

/// Connections of those who have said who they are, at a time.
const MOST_CONNECTIONS: usize = 4096;

/// Descriptors of a manager, at least: they leave room for the connections of the smallest cluster with a front-end or two.
const LEAST_DESCRIPTORS: usize = 64;

/// Descriptors of the process, its log and calls of other managers, at least.
const OWN_DESCRIPTORS: usize = 32;

/// The longest frame of one that is no manager: a heartbeat of a node with very many ranges is far shorter.
const MOST_SAID: usize = 16 << 20;

/// Calls of consensus of one connection that are answered at a time.
const MOST_CALLS: usize = 64;

/// Why no more connections are taken.
const CONNECTIONS_TAKEN: &str = "all connections are in use: use fewer, or raise the manager's limit of open files";

/// What comes over links.
#[derive(Debug)]
pub enum LinkEvent {
    /// Somebody has called.
    Called {
        /// The connection.
        link: LinkId,
        /// What was said.
        greeting: Greeting,
        /// The newest version that both sides speak.
        version: u8,
        /// What the certificate says.
        identity: Option<Identity>,
        /// Where it calls from; `None`: within the process.
        host: Option<IpAddr>,
        /// What is to be sent.
        outbox: Outbox,
        /// Who it is from here on; if it may not go on, why.
        answer: oneshot::Sender<Result<Party, String>>,
    },
    /// A message, from one who may say it.
    Message {
        /// The connection.
        link: LinkId,
        /// What was said.
        message: Message,
    },
    /// Something outside of the protocol.
    Control {
        /// The connection.
        link: LinkId,
        /// What was said.
        control: Control,
    },
    /// The connection is over.
    Closed(LinkId),
}

/// How many connections the process's limit on descriptors leaves room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Of those who have said who they are.
    known: usize,
    /// Of those who have not.
    unauthenticated: usize,
}

impl ConnectionLimits {
    /// Those that fit `limit` descriptors; `None`: too few for a cluster. A quarter is for those who have not said who they are,
    /// and another for the log and calls of other managers.
    fn of(limit: usize) -> Option<Self> {
        let unauthenticated = (limit / 4).min(STRANGERS);
        let known = limit.saturating_sub((limit / 4).max(OWN_DESCRIPTORS) + unauthenticated).min(MOST_CONNECTIONS);
        (limit >= LEAST_DESCRIPTORS).then_some(Self { known, unauthenticated })
    }
}

/// Raises the process's limit on descriptors as far as it may; how many connections that leaves room for.
///
/// # Errors
/// [`ManagerError::Descriptors`]: too few for a cluster.
pub fn connections_that_fit() -> Result<ConnectionLimits, ManagerError> {
    let old = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: old.maximum, maximum: old.maximum };
    let current = if setrlimit(Resource::Nofile, raised).is_ok() { old.maximum } else { old.current };
    let limit = current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let fit = ConnectionLimits::of(limit).ok_or(ManagerError::Descriptors { limit })?;
    if fit.known < MOST_CONNECTIONS {
        tracing::warn!(
            "at most {} connections at a time: the system allows this manager {limit} open files; raise the hard limit \
             (ulimit -Hn, LimitNOFILE=) for a larger cluster",
            fit.known
        );
    }
    Ok(fit)
}

/// Takes calls. Clones are the same.
#[derive(Clone, Debug)]
pub struct Listener {
    events: mpsc::Sender<LinkEvent>,
    tls: Option<Tls>,
    next: Arc<AtomicU64>,
    room: Arc<Semaphore>,
    unauthenticated: UnauthenticatedPeers,
    refusals: Arc<RateLimitedLog>,
    group: GroupHandle,
    dialler: Arc<Dialler>,
}

/// The group, to which calls of other managers go.
#[derive(Clone)]
struct GroupHandle(Group);

impl std::fmt::Debug for GroupHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Group")
    }
}

impl Listener {
    /// One that hands on to `events` what comes.
    pub fn new(
        events: mpsc::Sender<LinkEvent>,
        tls: Option<Tls>,
        limits: ConnectionLimits,
        (group, dialler): (Group, Arc<Dialler>),
    ) -> Self {
        let room = Arc::new(Semaphore::new(limits.known));
        Self {
            events,
            tls,
            next: Arc::default(),
            room,
            unauthenticated: UnauthenticatedPeers::new(limits.unauthenticated),
            refusals: Arc::default(),
            group: GroupHandle(group),
            dialler,
        }
    }

    /// Takes calls for ever.
    pub async fn listen(self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, from)) => self.take(stream, from.ip().to_canonical()),
                Err(error) => {
                    // Too many open files: the next may fit.
                    self.refusals.warn(&format!("cannot accept a connection: {error}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn take(&self, stream: TcpStream, from: IpAddr) {
        let this = self.clone();
        self.unauthenticated.serve(from, |peer| async move {
            let secured = timeout(GREETING, async {
                tune(&stream)?;
                match &this.tls {
                    Some(tls) => tls.accept(stream).await,
                    None => Ok(plain(stream)),
                }
            });
            match secured.await {
                Ok(Ok(secured)) => this.serve(secured, Some(peer)).await,
                // Who hangs up before a word looks whether somebody listens.
                Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    tracing::debug!("a connection from {from} is refused: {error}");
                }
                Ok(Err(error)) => this.refusals.warn(&format!("a connection from {from} is refused: {error}")),
                Err(_) => {
                    this.refusals.warn(&format!("a connection from {from} is refused: its handshake takes too long"));
                }
            }
        });
    }

    /// Takes a connection within the process.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn take_local(&self, stream: std::os::unix::net::UnixStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        let stream: BoxedStream = Box::new(UnixStream::from_std(stream)?);
        let this = self.clone();
        tokio::spawn(async move { this.serve(PeerStream { stream, identity: None }, None).await });
        Ok(())
    }

    /// Serves until the connection ends. A caller is unauthenticated until it has greeted.
    async fn serve(&self, secured: PeerStream, peer: Option<UnauthenticatedPeer>) {
        let PeerStream { mut stream, identity } = secured;
        let mut rest = Vec::new();
        let greeting = timeout(GREETING, read_frame(&mut stream, &mut rest, Frames::default())).await;
        let greeting = match greeting {
            Ok(Ok(Frame::Control(Control::Greeting(greeting)))) => greeting,
            Ok(Err(error)) if error.kind() != io::ErrorKind::InvalidData => {
                return tracing::debug!("a connection ended before its greeting: {error}");
            }
            _ => return refuse_at_once(stream, "this is a FAWN manager: greet it first").await,
        };
        let room = peer.is_some().then(|| self.room.clone().try_acquire_owned()).transpose();
        let host = peer.as_ref().map(|peer| peer.host);
        drop(peer);
        let Ok(_room) = room else { return refuse_at_once(stream, CONNECTIONS_TAKEN).await };
        let caller = Caller { greeting, identity, host };
        match proxy::leader_called(&self.group.0, &caller.greeting) {
            Some(leader) => {
                // The connection to the leader is one more.
                let Ok(_room) = self.room.clone().try_acquire_owned() else {
                    return refuse_at_once(stream, CONNECTIONS_TAKEN).await;
                };
                match proxy::call(&self.dialler, &leader, caller, &rest).await {
                    Ok(link) => proxy::carry(stream, link).await,
                    Err(why) => refuse_at_once(stream, &why).await,
                }
            }
            None => self.converse(stream, rest, caller).await,
        }
    }

    /// Answers a greeting, and hears and says what there is until the connection ends.
    async fn converse(&self, stream: BoxedStream, mut rest: Vec<u8>, caller: Caller) {
        let link = LinkId(self.next.fetch_add(1, Ordering::Relaxed));
        let outbox = Outbox::default();
        let (mut reads, writes) = tokio::io::split(stream);
        let writer = write(writes, outbox.clone());
        let reader = async {
            let mut caller = caller;
            loop {
                let is_secured = caller.identity.is_some();
                let you = match self.greet(link, caller, &outbox).await {
                    Ok(you) => you,
                    Err(why) => {
                        refuse(&outbox, why);
                        return Ok(());
                    }
                };
                let dialogue = self.go_on(link, you, &mut reads, &mut rest, &outbox);
                let proxied = if you == Party::Newcomer {
                    timeout(NEWCOMER, dialogue).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?
                } else {
                    dialogue.await?
                };
                // Another manager has called, and from here on speaks for somebody else.
                let Some(proxied) = proxied else { return Ok(()) };
                caller = proxy::caller_of(*proxied, is_secured)
                    .map_err(|why| io::Error::new(io::ErrorKind::PermissionDenied, why))?;
            }
        };
        tokio::pin!(writer, reader);
        let ended = tokio::select! {
            ended = &mut writer => ended,
            ended = &mut reader => match ended {
                // What was said last is still to be sent.
                Ok(()) => timeout(STALLED, &mut writer).await.unwrap_or(Ok(())),
                Err(error) => Err(error),
            },
        };
        if let Err(error) = ended {
            tracing::debug!("connection {} ended: {error}", link.0);
        }
        outbox.close();
        let _ = self.events.send(LinkEvent::Closed(link)).await;
    }

    async fn greet(
        &self,
        link: LinkId,
        Caller { greeting, identity, host }: Caller,
        outbox: &Outbox,
    ) -> Result<Party, String> {
        if greeting.magic != MAGIC {
            return Err("the greeting is not FAWN's".to_owned());
        }
        let Some(version) = VersionRange::OWN.common(greeting.spoken()) else {
            let VersionRange { oldest, newest } = VersionRange::OWN;
            return Err(format!(
                "this manager speaks versions {oldest} to {newest}, and {} speaks {} to {}: run releases with a \
                common version",
                greeting.from, greeting.lowest, greeting.highest
            ));
        };
        let (answer, answered) = oneshot::channel();
        let outbox = outbox.clone();
        let called = LinkEvent::Called { link, greeting, version, identity, host, outbox, answer };
        let stops = || "this manager stops".to_owned();
        self.events.send(called).await.map_err(|_| stops())?;
        answered.await.map_err(|_| stops())?
    }

    /// Reads what a party says that has been greeted: until the connection ends, or a manager says for whom it has called.
    async fn go_on(
        &self,
        link: LinkId,
        you: Party,
        reads: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
        outbox: &Outbox,
    ) -> io::Result<Option<Box<Proxied>>> {
        let most = if matches!(you, Party::Manager(_)) { MOST_BYTES } else { MOST_SAID };
        let calls = Arc::new(Semaphore::new(MOST_CALLS));
        loop {
            let frame = read_frame(reads, buffer, Frames { most });
            let frame = match timeout(SILENCE, frame).await {
                Ok(frame) => frame?,
                Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{you} sends nothing"))),
            };
            let event = match frame {
                Frame::Message { to: Address::Manager, from, message }
                    if you.may_speak_as(from) && message.may_come_from(from) =>
                {
                    LinkEvent::Message { link, message }
                }
                Frame::Message { from, .. } => {
                    tracing::warn!("{you} sent a message as {from:?}, which it may not: dropped");
                    continue;
                }
                Frame::Control(Control::Consensus { number, kind, bytes }) => {
                    if !matches!(you, Party::Manager(_)) {
                        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{you} is no manager")));
                    }
                    let Ok(room) = calls.clone().acquire_owned().await else { return Ok(None) };
                    let (group, outbox) = (self.group.0.clone(), outbox.clone());
                    tokio::spawn(async move {
                        match calls::answer(&group, kind, &bytes).await {
                            Ok(bytes) => outbox.say(&Control::ConsensusAnswer { number, bytes }),
                            Err(error) => tracing::warn!("{you} calls, but cannot get a reply: {error}"),
                        }
                        drop(room);
                    });
                    continue;
                }
                Frame::Control(Control::Proxied(proxied)) => {
                    if !matches!(you, Party::Manager(_)) {
                        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{you} is no manager")));
                    }
                    return Ok(Some(Box::new(proxied)));
                }
                Frame::Control(Control::Alive) => continue,
                Frame::Control(control) => LinkEvent::Control { link, control },
            };
            if self.events.send(event).await.is_err() {
                return Ok(None);
            }
        }
    }
}

/// Refuses whoever has called, before anything is written by others.
async fn refuse_at_once(mut stream: BoxedStream, why: &str) {
    let mut frame = Vec::new();
    put_control(&mut frame, &Control::Refused { why: why.to_owned() });
    let say = async {
        stream.write_all(&frame).await?;
        stream.shutdown().await
    };
    let _ = timeout(STALLED, say).await;
}

fn refuse(outbox: &Outbox, why: String) {
    outbox.say(&Control::Refused { why });
    outbox.close();
}

/// Sends what waits until nothing is to come.
async fn write(mut writes: impl AsyncWrite + Unpin, outbox: Outbox) -> io::Result<()> {
    while let Some(bytes) = outbox.take() {
        if bytes.is_empty() {
            if timeout(ALIVE, outbox.changed()).await.is_err() {
                outbox.say(&Control::Alive);
            }
            continue;
        }
        match timeout(STALLED, writes.write_all(&bytes)).await {
            Ok(written) => written?,
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
    writes.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_descriptors_are_shared_out_and_too_few_refused() {
        let limits = |limit| ConnectionLimits::of(limit).map(|limits| (limits.known, limits.unauthenticated));
        assert_eq!(limits(0), None);
        assert_eq!(limits(63), None);
        assert_eq!(limits(64), Some((16, 16)));
        assert_eq!(limits(256), Some((128, 64)));
        assert_eq!(limits(1024), Some((512, 256)));
        assert_eq!(limits(1 << 20), Some((MOST_CONNECTIONS, STRANGERS)));
        assert_eq!(limits(usize::MAX), Some((MOST_CONNECTIONS, STRANGERS)));
    }
}
