//! Starting and stopping a node: listeners, threads, signals.

use crate::error::ServeError;
use crate::net::listen::{self, ReservedAddress};
use crate::observe::metrics::Serving;
use crate::observe::started::StartReport;
use crate::options::{ClientAddress, ServeOptions};
use crate::protocol::Protocol;
use crate::protocol::memcached::MEMCACHED;
use crate::runtime::event_loop::{EventLoop, LoopParts};
use crate::runtime::mesh;
use crate::runtime::shared::{Access, SharedState, StopReason};
use crate::runtime::signals;
use crate::shard::backend::Backend;
use crate::shard::engines::{Engines, Readers};
use crate::shard::executor::ShardExecutor;
use crate::shard::route::Route;
use fawn_flash::{Caching, Directory, Engine, Reader, ReaderOptions, descriptors};
use fawn_ring::Secret;
use fawn_store::Options;
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Descriptors of a process that are neither files of stores nor connections: its log, listeners, admin port.
const OWN: usize = 64;

/// Descriptors of an event loop that are neither: epoll sets, events, rings.
const OWN_OF_LOOP: usize = 16;

/// With fewer connections than this nobody is served.
const LEAST_CONNECTIONS: usize = 16;

/// How long after the first signal to stop others are taken for the same wish: `timeout` signals a process and then its
/// group, an impatient terminal sends several. Stopping at once would lose what `--ack memory` has answered.
const SAME_WISH: Duration = Duration::from_secs(5);

/// How long the last line of the log has to be written.
const LAST_LINE: Duration = Duration::from_millis(20);

/// Requests that one loop may have on their way to another: the rings of all pairs together stay within a few MiB.
fn in_flight(loops: usize) -> usize {
    (16_384 / loops).clamp(64, 2048)
}

/// The stores of all loops, as the node opens them.
pub struct OpenedParts<B: Backend> {
    /// The key space's secret.
    pub secret: Secret,
    /// Stores in the directory; loop L serves those whose number modulo the loops is L. `None`: each loop takes all keys.
    pub stores: Option<usize>,
    /// By loop.
    pub loops: Vec<B::Seed>,
    /// For `stats`.
    pub facts: Vec<(&'static str, String)>,
}

/// A node that serves.
#[derive(Debug)]
pub struct RunningNode {
    shared: Arc<SharedState>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<ClientAddress>,
}

impl RunningNode {
    /// Starts a node on `open`'s stores whose clients speak `protocol`, but for those of Redis and of HTTP. Addresses are reserved and files read before `open` is
    /// called, so that a port in use or a bad certificate is found before a store is touched. Clients are served once the node can:
    /// see [`await_serving`](Self::await_serving).
    ///
    /// # Errors
    /// [`ServeError`]; nothing runs then.
    pub fn start<B: Backend + Send + 'static>(
        protocol: &'static dyn Protocol,
        options: &ServeOptions,
        open: impl FnOnce() -> Result<OpenedParts<B>, ServeError>,
    ) -> Result<Self, ServeError> {
        let mut reserved = listen::reserve_all(options, protocol)?;
        let address = |at: &ReservedAddress| ClientAddress { protocol: at.protocol.name(), address: at.name.clone() };
        let addresses = reserved.iter().map(address).collect();
        let access = Access::read(options)?;
        let opened = open()?;
        let mut listeners = Vec::new();
        if !B::WAITS {
            for reserved in std::mem::take(&mut reserved) {
                listeners.push(reserved.listen()?);
            }
        }
        let wakes = mesh::wakes(opened.loops.len()).map_err(ServeError::system("make an eventfd"))?;
        let links = mesh::mesh(&wakes, in_flight(wakes.len()));
        let (secret, count) = (opened.secret, opened.loops.len());
        let shared = Arc::new(SharedState::new(options.clone(), access, wakes, opened.facts));
        let mut loops = Vec::new();
        for (number, (seed, mesh)) in opened.loops.into_iter().zip(links).enumerate() {
            let shared = Arc::clone(&shared);
            let (listeners, reserved) = (std::mem::take(&mut listeners), std::mem::take(&mut reserved));
            let route = match opened.stores {
                Some(stores) => Route::new(secret, stores, count),
                None => Route::local(secret, number, count),
            };
            let parts: LoopParts<B> = LoopParts { number, seed, mesh, route, shared, listeners, reserved };
            loops.push(EventLoop::new(parts).map_err(ServeError::system("make an epoll set"))?);
        }
        let mut running = Self { shared, threads: Vec::new(), addresses };
        for (number, event_loop) in loops.into_iter().enumerate() {
            let thread = std::thread::Builder::new()
                .name(format!("fawn-loop-{number}"))
                .spawn(move || event_loop.run())
                .map_err(ServeError::system("start a thread"))?;
            running.threads.push(thread);
        }
        if let Some(board) = &options.board {
            board.add(Arc::new(Serving(Arc::downgrade(&running.shared))));
        }
        if !B::WAITS {
            running.shared.note_serving();
        }
        Ok(running)
    }

    /// Waits until clients are served; `false`: the node stops before that.
    pub fn await_serving(&self) -> bool {
        let serves = self.shared.await_serving();
        if let Some(board) = self.shared.options.board.as_ref().filter(|_| serves) {
            board.serves();
        }
        serves
    }

    /// Where the node listens: addresses with their real ports, and paths.
    pub fn addresses(&self) -> &[ClientAddress] {
        &self.addresses
    }

    /// What the loops share.
    #[cfg(test)]
    pub fn shared(&self) -> &SharedState {
        &self.shared
    }

    /// Event loops.
    pub fn loops(&self) -> usize {
        self.threads.len()
    }

    /// One of the facts for `stats`.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.shared.facts.iter().find(|(known, _)| *known == name).map(|(_, fact)| fact.as_str())
    }

    /// Something that stops the node from any thread.
    pub fn stopper(&self) -> impl Fn() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.stop()
    }

    /// Waits until the node has stopped.
    ///
    /// # Errors
    /// [`ServeError::Stopped`] when it stopped because something failed, [`ServeError::Ousted`] when its cluster has no place
    /// for it any more, [`ServeError::Unheard`] when it could not listen.
    pub fn wait(self) -> Result<(), ServeError> {
        for thread in self.threads {
            if thread.join().is_err() {
                self.shared.fail("an event loop panicked".into());
            }
        }
        match self.shared.failure() {
            Some(StopReason::Ousted(why)) => Err(ServeError::Ousted(why)),
            Some(StopReason::Unheard(why)) => Err(ServeError::Unheard(why)),
            Some(StopReason::Stopped(why)) => Err(ServeError::Stopped(why)),
            None => Ok(()),
        }
    }
}

/// Serves `options.dir` until a signal asks to stop ([`signals`]); then finishes what was received, puts everything acknowledged on
/// flash and returns. Another signal, five seconds or more after the first, ends the process at once. `ready` is told
/// the addresses once connections are accepted.
///
/// # Errors
/// [`ServeError`]: why the node did not start, or why it stopped by itself.
pub fn serve(options: &ServeOptions, ready: impl FnOnce(&[ClientAddress])) -> Result<(), ServeError> {
    let mut options = options.clone();
    options.limits.connections = connections_that_fit(options.limits.connections, options.threads.get(), 0)?;
    until_signal(|_| start(&options), ready)
}

/// Stops what runs, once something does.
type Stopper = Arc<Mutex<Option<Box<dyn Fn() + Send>>>>;

/// Runs what `start` starts until a signal asks to stop, as [`serve`] does. What `start` gives beside it is held until that has
/// stopped; it may look whether a signal has come already.
///
/// # Errors
/// [`ServeError`].
pub fn until_signal<T>(
    start: impl FnOnce(&AtomicBool) -> Result<(RunningNode, T), ServeError>,
    ready: impl FnOnce(&[ClientAddress]),
) -> Result<(), ServeError> {
    // Before anything else, so that a signal while stores are opened is not fatal to them.
    let asked = signals::asked_to_stop().map_err(ServeError::system("watch for signals"))?;
    let meaningless = signals::meaningless();
    let mut signals = Signals::new(signals::that_stop()).map_err(ServeError::system("watch for signals"))?;
    let handle = signals.handle();
    for signal in &meaningless {
        // A debugger or an emulator keeps some real-time signals for itself: they cannot come.
        let _ = handle.add_signal(*signal);
    }
    let stop: Stopper = Arc::default();
    let its_stop = Arc::clone(&stop);
    let watcher = std::thread::Builder::new()
        .name("fawn-signals".into())
        .spawn(move || {
            let mut stopping: Option<Instant> = None;
            for signal in signals.forever() {
                let name = signals::name(signal);
                if meaningless.contains(&signal) {
                    tracing::info!("signal {signal} ({name}) is ignored, because it has no meaning here");
                    continue;
                }
                match stopping {
                    None => {
                        tracing::info!("signal {signal} ({name}): stopping");
                        stopping = Some(Instant::now());
                        if let Some(stop) = &*its_stop.lock().unwrap_or_else(PoisonError::into_inner) {
                            stop();
                        }
                    }
                    Some(since) if since.elapsed() < SAME_WISH => {}
                    Some(_) => {
                        tracing::warn!("second signal: stopping at once; the next start replays the log");
                        // Who writes the log may be another thread.
                        std::thread::sleep(LAST_LINE);
                        std::process::exit(128 + signal);
                    }
                }
            }
        })
        .map_err(ServeError::system("start a thread"))?;
    let result = start(&asked).and_then(|(running, held)| {
        let stopper = running.stopper();
        *stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(running.stopper()));
        if asked.load(Ordering::SeqCst) {
            stopper();
        }
        if running.await_serving() {
            ready(running.addresses());
        }
        let result = running.wait();
        // A directory's lock is held until its stores have stopped.
        drop(held);
        result
    });
    handle.close();
    let _ = watcher.join();
    result
}

/// Raises the process's limit on descriptors as far as it may, and says how many connections of clients it has room for beside
/// its `loops` event loops with their stores and up to `links` connections of other kinds: `wanted`, or fewer.
///
/// # Errors
/// [`ServeError::Descriptors`]: so few that nobody could be served.
pub fn connections_that_fit(wanted: usize, loops: usize, links: usize) -> Result<usize, ServeError> {
    let limit = descriptors::raise_limit();
    let fit = fit(limit, loops, links);
    if fit < LEAST_CONNECTIONS.min(wanted) {
        return Err(ServeError::Descriptors { limit });
    }
    if fit < wanted {
        tracing::warn!(
            "at most {fit} connections at a time, not {wanted}: the system allows this process {limit} open files, \
            and its stores come first; raise the hard limit (ulimit -Hn, LimitNOFILE=) or lower --max-connections"
        );
    }
    Ok(fit.min(wanted))
}

/// Connections of clients for which `limit` descriptors have room. Links have a quarter at most of what is for sockets.
fn fit(limit: usize, loops: usize, links: usize) -> usize {
    let sockets = descriptors::for_sockets(limit);
    sockets.saturating_sub(OWN + OWN_OF_LOOP * loops).saturating_sub(links.min(sockets / 4))
}

/// Starts a node on the stores of `options.dir`. The directory is to be held until the node has stopped.
///
/// # Errors
/// [`ServeError`]; nothing runs then.
pub fn start(options: &ServeOptions) -> Result<(RunningNode, Directory), ServeError> {
    if options.listen.is_empty() && options.redis.is_empty() && options.http.is_empty() && options.unix.is_none() {
        return Err(ServeError::NoListener);
    }
    let mut held = None;
    let running = RunningNode::start(&MEMCACHED, options, || {
        let (directory, opened) = open(options)?;
        held = Some(directory);
        Ok(opened)
    })?;
    let ack = crate::observe::stats::ack_word(options.ack);
    let started = StartReport {
        what: "server".to_owned(),
        members: vec![options],
        has_stores: true,
        ack,
        read_path: running.fact("fawn_read_path").unwrap_or("none"),
        loops: running.loops(),
        addresses: running.addresses(),
        cluster_addresses: &[],
    };
    started.log();
    Ok((running, held.expect("a node that runs has opened its directory")))
}

/// Opens the directory and its stores, all at once.
fn open(options: &ServeOptions) -> Result<(Directory, OpenedParts<ShardExecutor<Engines>>), ServeError> {
    let directory = Directory::open(&options.dir, options.threads.get()).map_err(refused)?;
    let stores = directory.stores();
    directory.make_room(&store_options(&directory, 0, options)).map_err(refused)?;
    let loops = options.threads.get().min(stores);
    if loops < options.threads.get() {
        tracing::warn!("{} has {stores} stores: {loops} threads serve them", options.dir.display());
    }
    let opened: Vec<_> = std::thread::scope(|scope| {
        let open_one = |index| {
            scope.spawn({
                let directory = &directory;
                move || open_store(directory, index, options)
            })
        };
        let threads: Vec<_> = (0..stores).map(open_one).collect();
        threads.into_iter().map(|thread| thread.join().expect("opening a store does not panic")).collect()
    });
    let mut by_loop: Vec<(Vec<Engine>, Vec<Reader>)> = (0..loops).map(|_| Default::default()).collect();
    let mut read_path = "";
    for (index, opened) in opened.into_iter().enumerate() {
        let (engine, reader) = opened?;
        read_path = reader.name();
        by_loop[index % loops].0.push(engine);
        by_loop[index % loops].1.push(reader);
    }
    let mut parts = Vec::new();
    for (number, (engines, readers)) in by_loop.into_iter().enumerate() {
        parts.push((Engines::new(number, engines).map_err(refused)?, Readers::new(readers)));
    }
    let facts = vec![
        ("fawn_read_path", read_path.to_owned()),
        ("fawn_ack", crate::observe::stats::ack_word(options.ack)),
        ("fawn_dir", options.dir.display().to_string()),
    ];
    let opened = OpenedParts { secret: directory.secret(), stores: Some(stores), loops: parts, facts };
    Ok((directory, opened))
}

fn store_options(directory: &Directory, index: usize, options: &ServeOptions) -> Options {
    let stores = directory.stores();
    Options {
        index: index as u32,
        count: stores as u32,
        interval: directory.interval(index),
        ack: options.ack,
        miss_filter: options.miss_filter,
        ..Options::new(directory.secret(), options.memory_bytes / stores as u64)
    }
}

fn open_store(directory: &Directory, index: usize, options: &ServeOptions) -> Result<(Engine, Reader), ServeError> {
    let files = Arc::new(directory.files(index, Caching::Auto).map_err(refused)?);
    let store = store_options(directory, index, options);
    let (engine, opening) = Engine::open(Arc::clone(&files), store, fawn_flash::clock::unix())
        .map_err(|error| ServeError::Open(error.at(directory.store_path(index).display())))?;
    if opening.created {
        tracing::info!("store {index} was created");
    } else if opening.clean {
        tracing::info!("store {index} opened after a clean stop");
    } else {
        let (replayed, torn) = (opening.replayed, opening.torn_bytes);
        tracing::warn!("store {index} was not stopped cleanly: replayed {replayed} writes, cut off {torn} torn bytes");
    }
    let reader = Reader::new(files, ReaderOptions::default()).map_err(refused)?;
    Ok((engine, reader))
}

fn refused(error: impl std::fmt::Display) -> ServeError {
    ServeError::Open(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_and_links_have_their_descriptors_before_clients_do() {
        // The usual limit, the one of systemd, and what many containers have.
        assert_eq!(fit(1024, 2, 0), 1024 - 512 - 64 - 32);
        assert_eq!(fit(1024, 2, 10_000), 512 - 64 - 32 - 128);
        assert_eq!(fit(4096, 4, 0), 4096 - 2048 - 64 - 64);
        assert_eq!(fit(524_288, 2, 10_304), 524_288 - 4096 - 64 - 32 - 10_304);
        assert_eq!(fit(64, 2, 0), 0);
        // Nothing underflows.
        assert_eq!((fit(0, 1, 1), fit(1, 1000, usize::MAX)), (0, 0));
    }
}
