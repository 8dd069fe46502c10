//! Starting and stopping a node: listeners, threads, signals.

use crate::error::ServeError;
use crate::event_loop::{EventLoop, Parts};
use crate::exchange;
use crate::listen;
use crate::options::ServeOptions;
use crate::route::Route;
use crate::shared::Shared;
use crate::stores::Stores;
use fawn_ring::Secret;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Requests that one loop may have on their way to another: the rings of all pairs together stay within a few MiB.
fn in_flight(loops: usize) -> usize {
    (16_384 / loops).clamp(64, 2048)
}

/// The stores of all loops, as the node opens them.
pub struct Opened<S: Stores> {
    /// The key space's secret.
    pub secret: Secret,
    /// Stores in the directory; loop L serves those whose number modulo the loops is L.
    pub stores: usize,
    /// By loop.
    pub loops: Vec<(S, S::Reads)>,
    /// For `stats`.
    pub facts: Vec<(&'static str, String)>,
}

/// A node that serves.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<String>,
}

impl Running {
    /// Starts a node on `open`'s stores. Listeners are opened before `open` is called, so that a port in use is found
    /// before a store is touched.
    ///
    /// # Errors
    /// [`ServeError`]; nothing runs then.
    pub fn start<S>(
        options: &ServeOptions,
        open: impl FnOnce() -> Result<Opened<S>, ServeError>,
    ) -> Result<Self, ServeError>
    where
        S: Stores + Send + 'static,
        S::Read: Send,
        S::Reads: Send,
    {
        let mut listeners = listen::open_all(options)?;
        let addresses = listeners.iter().map(|listener| listener.name.clone()).collect();
        let opened = open()?;
        let wakes = exchange::wakes(opened.loops.len()).map_err(ServeError::system("make an eventfd"))?;
        let links = exchange::mesh(&wakes, in_flight(wakes.len()));
        let route = Route::new(opened.secret, opened.stores, opened.loops.len());
        let shared = Arc::new(Shared::new(options.clone(), wakes, opened.facts)?);
        let mut running = Self { shared: Arc::clone(&shared), threads: Vec::new(), addresses };
        for (number, ((stores, reads), exchange)) in opened.loops.into_iter().zip(links).enumerate() {
            let shared = Arc::clone(&shared);
            let listeners = std::mem::take(&mut listeners);
            let parts = Parts { number, stores, reads, exchange, route, shared, listeners };
            let event_loop = EventLoop::new(parts).map_err(ServeError::system("make an epoll set"))?;
            let thread = std::thread::Builder::new()
                .name(format!("fawn-loop-{number}"))
                .spawn(move || event_loop.run())
                .map_err(ServeError::system("start a thread"))?;
            running.threads.push(thread);
        }
        Ok(running)
    }

    /// Where the node listens: addresses with their real ports, and paths.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Something that stops the node from any thread.
    pub fn stopper(&self) -> impl Fn() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.stop()
    }

    /// Waits until the node has stopped.
    ///
    /// # Errors
    /// [`ServeError::Stopped`] when it stopped because something failed.
    pub fn wait(self) -> Result<(), ServeError> {
        for thread in self.threads {
            if thread.join().is_err() {
                self.shared.fail("an event loop panicked".into());
            }
        }
        match self.shared.failure() {
            Some(why) => Err(ServeError::Stopped(why)),
            None => Ok(()),
        }
    }
}
