//! Starting a process of a cluster.

use super::endpoint::{Endpoint, EndpointParts};
use super::enrol::enrol;
use super::links::DESCRIPTORS;
use super::local_peers::{LocalPeers, Mailbox};
use super::names::Names;
use super::ranges::Ranges;
use crate::error::ServeError;
use crate::net::listen;
use crate::observe::started::StartReport;
use crate::options::{ClientAddress, ServeOptions};
use crate::protocol::memcached::MEMCACHED;
use crate::runtime::server::{OpenedParts, RunningNode, connections_that_fit, until_signal};
use fawn_flash::{Caching, MemberDirectory};
use fawn_kv::frontend::{Front, Limits};
use fawn_kv::ids::{ClusterId, FrontId, NodeId, SeatId};
use fawn_kv::link::control::Enrolled;
use fawn_kv::link::was_removed;
use fawn_kv::manager::roster::{Enrolment, NodeClass};
use fawn_kv::node::{Identity, Node};
use fawn_kv::store::{RangeStore as _, may_adopt};
use fawn_kv::timing::Timing;
use fawn_ring::Secret;
use fawn_store::{Ack, Options};
use fawn_tls::{Material, Reloading};
use rustix::fd::OwnedFd;
use rustix::rand::{GetRandomFlags, getrandom};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What a process of a cluster is started with.
#[derive(Clone)]
pub struct ClusterOptions {
    /// Directory, memcached listeners, threads, memory, limits. `listen` and `unix` may both be empty.
    pub serve: ServeOptions,
    /// Its name, which it keeps for life.
    pub name: String,
    /// Addresses of managers, `HOST:PORT` each: one that answers is enough.
    pub managers: Vec<String>,
    /// Where other processes of the cluster call.
    pub cluster_listen: String,
    /// What they are told to call, if it is not `cluster_listen`.
    pub advertise: Option<String>,
    /// The machine that it runs on, if others run there: its replicas are on others.
    pub machine: Option<String>,
    /// What fails together with the machine: a rack, a power supply.
    pub domain: Option<String>,
    /// Places on the ring of each of its nodes.
    pub virtual_ids: u32,
    /// What it keeps.
    pub node: NodeClass,
    /// An archive syncs this much later than it acknowledges, while nodes that are no archives have synced.
    pub rest: Duration,
    /// It serves memcached clients.
    pub is_front: bool,
    /// Bytes of values that its front-end caches.
    pub cache_bytes: u64,
    /// Bytes a second that its nodes copy from others, all together.
    pub copy_bytes_per_s: u64,
    /// Certificate, key and authority with which it talks to others; `None`: nothing is protected.
    pub certificates: Option<Material>,
}

/// Runs a process of a cluster, with one member or several, until a signal asks to stop. Clients are served as the first one's
/// options say, once the cluster carries out what they ask. `ready` is told then where memcached clients reach it, and where
/// other processes reach each member.
///
/// # Errors
/// [`ServeError`].
pub fn serve_members(
    members: &[ClusterOptions],
    ready: impl FnOnce(&[ClientAddress], &[String]),
) -> Result<(), ServeError> {
    let mut members = members.to_vec();
    let (seats, links) = descriptors(&members);
    if let Some(first) = members.first_mut() {
        let limits = &mut first.serve.limits;
        limits.connections = connections_that_fit(limits.connections, seats, links)?;
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    until_signal(
        |stop| {
            let process = start(&members, stop)?;
            let _ = sender.send(process.addresses.clone());
            Ok((process.running, process.directories))
        },
        |clients| ready(clients, &receiver.recv().unwrap_or_default()),
    )
    .or_else(|error| if matches!(error, ServeError::Interrupted) { Ok(()) } else { Err(error) })
}

/// Seats of a process, and descriptors for connections that are no memcached clients': of other processes of the cluster, and of
/// programs that ask a seat themselves.
pub(super) fn descriptors(members: &[ClusterOptions]) -> (usize, usize) {
    let seats: usize = members.iter().map(|member| member.serve.threads.get()).sum();
    (seats, seats * DESCRIPTORS)
}

/// A process of a cluster that runs.
pub struct Process {
    /// Its loops.
    pub(crate) running: RunningNode,
    /// To be held until they have stopped.
    directories: Vec<HeldDirectory>,
    /// Where other processes reach each member.
    pub addresses: Vec<String>,
}

impl Process {
    /// Stops it, and waits until it has.
    ///
    /// # Errors
    /// What has stopped it before.
    pub fn stop(self) -> Result<(), ServeError> {
        let Self { running, directories, .. } = self;
        running.stopper()();
        let stopped = running.wait();
        drop(directories);
        stopped
    }
}

/// A member's directory while its stores are open. When they have all stopped cleanly and lack nothing that they acknowledged,
/// what the directory says of a rest is over.
#[derive(Debug)]
pub struct HeldDirectory {
    directory: MemberDirectory,
    /// Stores that have yet to stop so.
    open_stores: Arc<AtomicUsize>,
}

impl Drop for HeldDirectory {
    fn drop(&mut self) {
        if self.open_stores.load(Ordering::Acquire) == 0
            && let Err(error) = self.directory.set_rested(false)
        {
            tracing::warn!("the directory goes on saying that its node has rested: {error}");
        }
    }
}

/// A member that was let in.
struct EnrolledMember<'a> {
    options: &'a ClusterOptions,
    listener: Option<OwnedFd>,
    address: String,
    directory: Option<MemberDirectory>,
    /// What its stores have may lack what they acknowledged: they rested before, and have not stopped cleanly since.
    rested: bool,
    /// Of its stores those that have yet to stop cleanly with all that they acknowledged.
    open_stores: Arc<AtomicUsize>,
    enrolled: Enrolled,
    seats: usize,
    secure: Option<Arc<Reloading<fawn_tls::Links>>>,
}

/// Starts a process of a cluster: it asks the managers to be let in, and goes on asking until `stop`.
///
/// # Errors
/// [`ServeError`]; nothing runs then.
pub fn start(members: &[ClusterOptions], stop: &AtomicBool) -> Result<Process, ServeError> {
    let first = members.first().expect("a process has a member");
    let (mut directories, mut addresses) = (Vec::new(), Vec::new());
    let running = RunningNode::start::<Endpoint>(&MEMCACHED, &first.serve, || {
        let mut admitted = admit_all(members, stop)?;
        let mut mailboxes = Vec::new();
        for member in &admitted {
            for number in 0..member.seats as u32 {
                let mailbox = Mailbox::new().map_err(ServeError::system("make an eventfd"))?;
                mailboxes.push((SeatId(member.enrolled.first.0 + number), Arc::new(mailbox)));
            }
        }
        let (mut loops, names) = (Vec::new(), Arc::new(Names::default()));
        for member in &mut admitted {
            seeds(member, &mailboxes, &names, &mut loops)?;
        }
        let names: Vec<&str> = admitted.iter().map(|member| member.options.name.as_str()).collect();
        let names = names.join(",");
        let Enrolled { secret, cluster, .. } = admitted[0].enrolled;
        addresses.extend(admitted.iter().map(|member| member.address.clone()));
        let held = |member: EnrolledMember<'_>| {
            Some(HeldDirectory { directory: member.directory?, open_stores: member.open_stores })
        };
        directories.extend(admitted.into_iter().filter_map(held));
        let read_path = loops.iter().find_map(|seed| Some(seed.node.as_ref()?.store().read_path()));
        let facts = vec![
            ("fawn_read_path", read_path.unwrap_or("none").to_owned()),
            ("fawn_member", names),
            ("fawn_cluster", cluster.to_string()),
            ("fawn_cluster_address", addresses.join(",")),
            ("fawn_dir", first.serve.dir.display().to_string()),
        ];
        Ok(OpenedParts { secret, stores: None, loops, facts })
    })?;
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let started = StartReport {
        what: format!("{} {}", kind_of(first.node), names.join(", ")),
        members: members.iter().map(|member| &member.serve).collect(),
        has_stores: first.node.is_node(),
        ack: "as the cluster's settings say".to_owned(),
        read_path: running.fact("fawn_read_path").unwrap_or("none"),
        loops: running.loops(),
        addresses: running.addresses(),
        cluster_addresses: &addresses,
    };
    started.log();
    Ok(Process { running, directories, addresses })
}

/// What the log calls a process of this class.
fn kind_of(class: NodeClass) -> &'static str {
    if class == NodeClass::Serving { "node" } else { class.name() }
}

/// Has all members let in. One that was removed from the cluster is left out, unless it is the last.
fn admit_all<'a>(members: &'a [ClusterOptions], stop: &AtomicBool) -> Result<Vec<EnrolledMember<'a>>, ServeError> {
    let (mut admitted, mut refused) = (Vec::new(), None);
    for options in members {
        match admit(options, stop) {
            Ok(member) => admitted.push(member),
            Err(ServeError::Refused(why)) if why == was_removed(&options.name) => {
                tracing::warn!("{} was removed from the cluster: this process continues without it", options.name);
                refused = Some(why);
            }
            Err(error) => return Err(error),
        }
    }
    match refused {
        Some(why) if admitted.is_empty() => Err(ServeError::Refused(why)),
        _ => Ok(admitted),
    }
}

/// Has a member let in.
fn admit<'a>(options: &'a ClusterOptions, stop: &AtomicBool) -> Result<EnrolledMember<'a>, ServeError> {
    let (listener, address) = listen_for_others(options)?;
    if let Some(board) = &options.serve.board {
        board.waits_for("it waits until the managers admit it");
    }
    let secure = options.certificates.as_ref().map(Reloading::links).transpose().map_err(refused)?.map(Arc::new);
    let mut directory = options.node.is_node().then(|| open_directory(options)).transpose()?;
    let seats = directory.as_ref().map_or(options.serve.threads.get(), MemberDirectory::stores);
    let enrolled = ask(options, directory.as_ref(), (seats, &address), secure.as_deref(), stop)?;
    let rested = directory.as_ref().is_some_and(MemberDirectory::rested);
    if let Some(directory) = &mut directory {
        if !options.rest.is_zero() {
            directory.set_rested(true).map_err(refused)?;
        }
        let (cluster, secret) = (enrolled.cluster.0, enrolled.secret);
        directory.set_enrolled(cluster, secret, &options.name, enrolled.first.0).map_err(refused)?;
    }
    tracing::info!("{} is in cluster {} as seat {}", options.name, enrolled.cluster, enrolled.first.number());
    if let Some(board) = &options.serve.board {
        board.waits_for("its clients are not served yet");
    }
    let (listener, open_stores) = (Some(listener), Arc::new(AtomicUsize::new(seats)));
    Ok(EnrolledMember { options, listener, address, directory, rested, open_stores, enrolled, seats, secure })
}

/// Opens the port for other processes; and what they are told to call.
fn listen_for_others(options: &ClusterOptions) -> Result<(OwnedFd, String), ServeError> {
    let (listener, name) =
        listen::open_cluster(&options.cluster_listen, options.serve.insecure || options.certificates.is_some())?;
    let advertised = match &options.advertise {
        Some(advertised) => advertised.clone(),
        None if name.parse().is_ok_and(|at: SocketAddr| at.ip().is_unspecified()) => {
            return Err(ServeError::Advertise { address: name });
        }
        None => name,
    };
    Ok((listener, advertised))
}

fn open_directory(options: &ClusterOptions) -> Result<MemberDirectory, ServeError> {
    let mut directory = MemberDirectory::open(&options.serve.dir, options.serve.threads.get()).map_err(refused)?;
    directory.choose_stores(options.serve.threads.get()).map_err(refused)?;
    if directory.stores() != options.serve.threads.get() {
        let (dir, stores) = (options.serve.dir.display(), directory.stores());
        tracing::warn!("{dir} has {stores} stores: {stores} threads serve them");
    }
    // Where keys lie is known later; how much room a store takes does not depend on it.
    let of_store = Options::new(Secret([0; 32]), options.serve.memory_bytes / directory.stores() as u64);
    directory.make_room(&of_store).map_err(refused)?;
    if directory.is_plain() && directory.cluster().is_none() {
        // Before the cluster hears of it, and anything is changed.
        for number in 0..directory.stores() {
            may_adopt(&directory.files(number, Caching::Auto).map_err(refused)?).map_err(refused)?;
        }
    }
    Ok(directory)
}

fn ask(
    options: &ClusterOptions,
    directory: Option<&MemberDirectory>,
    (seats, address): (usize, &str),
    secure: Option<&Reloading<fawn_tls::Links>>,
    stop: &AtomicBool,
) -> Result<Enrolled, ServeError> {
    let mut drawn = [0; 16];
    random(&mut drawn)?;
    let who = Enrolment {
        name: options.name.clone(),
        directory: directory.map_or(drawn, MemberDirectory::directory_id),
        address: address.to_owned(),
        clients: options.serve.listen.first().cloned(),
        node: options.node,
        is_front: options.is_front,
        seats: seats as u32,
        machine: options.machine.clone().unwrap_or_else(|| options.name.clone()),
        domain: options.domain.clone(),
        virtual_ids: options.virtual_ids,
        release: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let cluster = directory.and_then(MemberDirectory::cluster).map(|(cluster, _)| ClusterId(cluster));
    enrol((&options.managers, secure), &who, (cluster, directory.and_then(MemberDirectory::secret)), stop)
}

/// What each seat of a member is made of.
fn seeds(
    member: &mut EnrolledMember<'_>,
    mailboxes: &[(SeatId, Arc<Mailbox>)],
    names: &Arc<Names>,
    seeds: &mut Vec<EndpointParts>,
) -> Result<(), ServeError> {
    let mut listener = member.listener.take();
    let (options, enrolled, directory) = (member.options, &member.enrolled, member.directory.as_ref());
    let managers = options.managers.clone();
    let first = enrolled.first.0;
    let own = mailboxes.iter().filter(|(seat, _)| (first..first + member.seats as u32).contains(&seat.0));
    for (number, (seat, mailbox)) in own.enumerate() {
        let open = |directory| open_node(options, (directory, member.rested), enrolled, number, *seat);
        let node = directory.map(open).transpose()?;
        let front = options.is_front.then(|| open_front(options, enrolled, *seat)).transpose()?;
        seeds.push(EndpointParts {
            seat: *seat,
            cluster: enrolled.cluster,
            roster: enrolled.roster.clone(),
            managers: managers.clone(),
            names: Arc::clone(names),
            secure: member.secure.clone(),
            node,
            front,
            listener: listener.take(),
            lists: mailboxes.first().is_some_and(|(first, _)| first == seat),
            mailbox: Arc::clone(mailbox),
            local_peers: LocalPeers::new(*seat, mailboxes),
            open_stores: Arc::clone(&member.open_stores),
        });
    }
    Ok(())
}

fn open_node(
    options: &ClusterOptions,
    (directory, rested): (&MemberDirectory, bool),
    enrolled: &Enrolled,
    number: usize,
    seat: SeatId,
) -> Result<Node<Ranges>, ServeError> {
    let files = Arc::new(directory.files(number, Caching::Auto).map_err(refused)?);
    let store = Options {
        index: number as u32,
        count: directory.stores() as u32,
        ack: Ack::Durable,
        rest_ms: u32::try_from(options.rest.as_millis()).unwrap_or(u32::MAX),
        miss_filter: options.serve.miss_filter,
        ..Options::new(enrolled.secret, options.serve.memory_bytes / directory.stores() as u64)
    };
    let plain = directory.is_plain().then(|| directory.interval(number));
    let (ranges, opening, recovered) = Ranges::open(files, store, plain)
        .map_err(|error| ServeError::Open(error.at(directory.store_path(number).display())))?;
    if ranges.plain().is_some() {
        tracing::info!("the data of store {number} join the cluster once all stores of the directory are open");
    }
    if !opening.created && !opening.clean {
        let (replayed, torn) = (opening.replayed, opening.torn_bytes);
        tracing::warn!("store {number} was not stopped cleanly: replayed {replayed} writes, cut off {torn} torn bytes");
    }
    let identity = Identity {
        id: NodeId(u64::from(seat.0)),
        machine: enrolled.machine,
        domain: enrolled.domain,
        virtual_ids: options.virtual_ids,
        secret: enrolled.secret,
    };
    let copy_bytes_per_s = options.copy_bytes_per_s / options.serve.threads.get() as u64;
    let timing = Timing { copy_bytes_per_s, rests: !options.rest.is_zero(), rested, ..Timing::default() };
    Ok(Node::new(identity, nonce()?, timing, ranges, recovered))
}

fn open_front(options: &ClusterOptions, enrolled: &Enrolled, seat: SeatId) -> Result<Front, ServeError> {
    let limits = Limits {
        cache_bytes: options.cache_bytes,
        cache_factor: if options.cache_bytes == 0 { 0 } else { Limits::default().cache_factor },
        ..Limits::default()
    };
    Ok(Front::new(FrontId(seat.0), nonce()?, Timing::default(), limits, enrolled.secret))
}

/// A number that no start had before, nor the billions after it.
fn nonce() -> Result<u64, ServeError> {
    let mut bytes = [0; 8];
    random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes) >> 1)
}

fn random(bytes: &mut [u8]) -> Result<(), ServeError> {
    getrandom(bytes, GetRandomFlags::empty()).map_err(ServeError::system("draw random numbers"))?;
    Ok(())
}

fn refused(error: impl std::fmt::Display) -> ServeError {
    ServeError::Open(error.to_string())
}
