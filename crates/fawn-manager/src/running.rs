//! A manager in a thread of its own.

use crate::consensus::log_store::StoredMember;
use crate::consensus::types::LogId;
use crate::consensus::{Group, LogStore, Network, StateMachine, elections};
use crate::directory;
use crate::driver::{Driver, MemberIdentity};
use crate::join;
use crate::links::dial::Dialler;
use crate::links::listen::{Listener, connections_that_fit};
use crate::links::stream::Tls;
use crate::metrics::ManagerMetrics;
use crate::options::{ManagerError, Options};
use fawn_kv::ids::ManagerId;
use fawn_kv::link::Party;
use openraft::{BasicNode, Config, SnapshotPolicy};
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc as threads;
use std::thread::JoinHandle;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

/// What waits to be heard of links, at most: a peer that says more is not read.
const MOST_EVENTS: usize = 1024;

/// A manager that runs.
#[derive(Debug)]
pub struct Running {
    address: Option<SocketAddr>,
    id: ManagerId,
    local: mpsc::UnboundedSender<UnixStream>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<Result<(), ManagerError>>>,
}

impl Running {
    /// Where it takes calls, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Its number.
    pub fn id(&self) -> ManagerId {
        self.id
    }

    /// A connection to it that needs no port. Whoever has it is believed what it says.
    ///
    /// # Errors
    /// The system has no more of them, or the manager has stopped.
    pub fn connect(&self) -> std::io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        self.local.send(theirs).map_err(|_| std::io::Error::from(std::io::ErrorKind::ConnectionRefused))?;
        Ok(ours)
    }

    /// Whether it has not stopped.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Asks it to stop; [`wait`](Self::wait) says when it has.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until it has stopped.
    ///
    /// # Errors
    /// Why it has, if nobody asked for it.
    pub fn wait(mut self) -> Result<(), ManagerError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(ManagerError::Group("its thread has panicked".to_owned())))
    }
}

impl Drop for Running {
    /// Stops, and waits for it: the directory is free afterwards.
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread says once it runs.
type Ready = Result<(Option<SocketAddr>, ManagerId), ManagerError>;

/// Starts a manager in a thread of its own; it takes calls when this returns.
///
/// # Errors
/// [`ManagerError`].
pub fn start(options: Options) -> Result<Running, ManagerError> {
    options.settings.check()?;
    let (local, locals) = mpsc::unbounded_channel();
    let (stop, stopped) = watch::channel(false);
    let (ready, said) = threads::channel::<Ready>();
    let body = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| ManagerError::System { what: "no runtime", error })?;
        let ended = runtime.block_on(run(options, locals, stopped, &ready));
        // What is being written is; what waits for others is not waited for.
        runtime.shutdown_timeout(std::time::Duration::from_secs(5));
        ended
    };
    let thread = std::thread::Builder::new().name("fawn-manager".to_owned()).spawn(body);
    let thread = thread.map_err(|error| ManagerError::System { what: "no thread", error })?;
    match said.recv() {
        Ok(Ok((address, id))) => Ok(Running { address, id, local, stop, thread: Some(thread) }),
        Ok(Err(error)) => Err(error),
        Err(_) => match thread.join() {
            Ok(Err(error)) => Err(error),
            _ => Err(ManagerError::Group("its thread has ended".to_owned())),
        },
    }
}

/// The consensus library's settings: a leader that is gone is replaced in about a second, well within a lease.
fn config(snapshot_entries: u64) -> Config {
    Config {
        cluster_name: "fawn".to_owned(),
        heartbeat_interval: 100,
        election_timeout_min: 300,
        election_timeout_max: 600,
        install_snapshot_timeout: 5000,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(snapshot_entries),
        max_in_snapshot_log_to_keep: snapshot_entries,
        replication_lag_threshold: 3 * snapshot_entries,
        ..Config::default()
    }
}

/// Binds the address, if there is one, and says where it is.
async fn bind(options: &Options) -> Result<Option<(TcpListener, SocketAddr)>, ManagerError> {
    let Some(listen) = &options.listen else { return Ok(None) };
    let failed = |error| ManagerError::Listen { address: listen.clone(), error };
    let addresses: Vec<SocketAddr> = listen.to_socket_addrs().map_err(failed)?.collect();
    let is_open = addresses.iter().any(|address| !address.ip().is_loopback());
    if is_open && options.tls.is_none() && !options.insecure {
        return Err(ManagerError::Unprotected(listen.clone()));
    }
    let listener = TcpListener::bind(&addresses[..]).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Some((listener, address)))
}

/// Where others reach this member.
fn reached_at(options: &Options, bound: Option<SocketAddr>) -> Result<String, ManagerError> {
    let address = match (&options.advertise, bound) {
        (Some(advertised), _) => advertised.clone(),
        // Nobody can dial it: nodes know where it is by their --manager.
        (None, Some(bound)) if bound.ip().is_unspecified() => String::new(),
        (None, Some(bound)) => match &options.listen {
            // A name stays a name.
            Some(listen) if !listen.ends_with(":0") => listen.clone(),
            _ => bound.to_string(),
        },
        (None, None) => String::new(),
    };
    if address.is_empty() && (!options.peers.is_empty() || !options.join.is_empty()) {
        return Err(ManagerError::Address);
    }
    if !options.peers.is_empty() && !options.peers.contains(&address) {
        return Err(ManagerError::NotAmongPeers(address));
    }
    Ok(address)
}

/// Who this member is. Where it was reached before, its group [learns](join::move_in) that it has moved.
fn identify(options: &Options, store: &LogStore, address: &str) -> Result<StoredMember, ManagerError> {
    let mut member = directory::member(&options.dir, store, address)?;
    if member.address != address {
        let group = crate::recover::members(store).map_err(|error| ManagerError::kept(&options.dir, error))?;
        if address.is_empty() && group.keys().any(|id| *id != member.id) {
            return Err(ManagerError::Address);
        }
        address.clone_into(&mut member.address);
        store.keep_member(&member).map_err(|error| ManagerError::kept(&options.dir, error))?;
    }
    Ok(member)
}

async fn run(
    options: Options,
    mut locals: mpsc::UnboundedReceiver<UnixStream>,
    stopped: watch::Receiver<bool>,
    ready: &threads::Sender<Ready>,
) -> Result<(), ManagerError> {
    let tls = options.tls.as_ref().map(Tls::of).transpose()?;
    let bound = bind(&options).await?;
    let address = reached_at(&options, bound.as_ref().map(|(_, address)| *address))?;
    let limits = connections_that_fit()?;
    let store = directory::open(&options.dir)?;
    let member = identify(&options, &store, &address)?;
    let id = ManagerId(member.id);
    let (news, hears) = mpsc::unbounded_channel();
    let machine = StateMachine::open(store.clone(), news).map_err(|error| ManagerError::kept(&options.dir, error))?;
    let (cluster, known) = watch::channel(None);
    let dialler = Arc::new(Dialler { from: Party::Manager(id), cluster: known, tls: tls.clone() });
    let network = Network::new(dialler.clone());
    let heard = network.heard();
    let config = config(options.snapshot_entries).validate().map_err(|error| ManagerError::Group(error.to_string()))?;
    let group = Group::new(member.id, Arc::new(config), network, store.clone(), machine).await;
    let group = group.map_err(|error| ManagerError::Group(error.to_string()))?;
    tokio::spawn(elections::spread(group.clone()));
    let (events, links) = mpsc::channel(MOST_EVENTS);
    let listener = Listener::new(events, tls.clone(), limits, (group.clone(), dialler.clone()));
    let bound_to = bound.as_ref().map(|(_, address)| *address);
    if let Some((socket, _)) = bound {
        tokio::spawn(listener.clone().listen(socket));
    }
    tokio::spawn(async move {
        while let Some(stream) = locals.recv().await {
            if let Err(error) = listener.take_local(stream) {
                tracing::warn!("a connection within the process failed: {error}");
            }
        }
    });
    let identity = MemberIdentity { id, address, settings: options.settings, wedges: options.wedges };
    let (reports, told) = watch::channel(None);
    if let Some(board) = &options.board {
        board.add(Arc::new(ManagerMetrics { report: told, tls: tls.clone() }));
    }
    let driver = Driver::new(identity, (group.clone(), store.clone()), dialler.clone(), cluster, heard, reports);
    let _ = ready.send(Ok((bound_to, id)));
    tokio::spawn(begin(group.clone(), options, member, dialler));
    driver.run(hears, links, stopped).await;
    store.stall().stop();
    group.shutdown().await.map_err(|error| ManagerError::Group(error.to_string()))
}

/// A member that is in no group yet begins one, or joins one.
async fn begin(group: Group, options: Options, member: StoredMember, dialler: Arc<Dialler>) {
    let has_begun = {
        let metrics = group.metrics();
        let metrics = metrics.borrow();
        metrics.last_log_index.is_some() || metrics.membership_config.log_id().as_ref().is_some_and(|_: &LogId| true)
    };
    if has_begun || group.is_initialized().await.unwrap_or(true) {
        tokio::join!(join::look_whether_in(&group, member.id), join::move_in(&group, &options, &member, &dialler));
        return;
    }
    if join::is_to_begin(&group, &options, &member.address, &dialler).await {
        let alone = BTreeMap::from([(member.id, BasicNode::new(member.address.clone()))]);
        if let Err(error) = group.initialize(alone).await {
            tracing::debug!("the group has already begun: {error}");
        }
        return;
    }
    join::join(&group, &options, &member, &dialler).await;
}
