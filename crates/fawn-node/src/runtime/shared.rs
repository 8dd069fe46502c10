//! What the loops of a node share. Nothing here is touched for an ordinary request.

use crate::error::ServeError;
use crate::net::auth::Users;
use crate::net::listen::Family;
use crate::observe::counters::{Counters, Totals};
use crate::observe::latency::Latencies;
use crate::observe::samples::{SampleRound, Samples};
use crate::options::{ServeLimits, ServeOptions, TlsFiles};
use crate::protocol::Protocol;
use crate::runtime::wake::Wake;
use fawn_tls::certificate::Expiry;
use fawn_tls::{Reloading, TlsError};
use rustix::fd::OwnedFd;
use rustls::ServerConfig;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// A connection on its way from the accepting loop to the one that will serve it.
#[derive(Debug)]
pub struct IncomingConnection {
    /// The socket.
    pub socket: OwnedFd,
    /// How it came.
    pub family: Family,
    /// What its client speaks.
    pub protocol: &'static dyn Protocol,
}

/// Who may use a node, and with which certificate it shows itself.
#[derive(Debug)]
pub struct Access {
    users: Option<Users>,
    tls: Option<Reloading<Arc<ServerConfig>>>,
}

impl Access {
    /// Reads the files that `options` name.
    ///
    /// # Errors
    /// [`ServeError::AuthFile`], [`ServeError::Tls`].
    pub fn read(options: &ServeOptions) -> Result<Self, ServeError> {
        let users = options.auth_file.as_deref().map(Users::read).transpose()?;
        let read = |files: &TlsFiles| Reloading::for_clients(&files.cert, &files.key);
        let tls = options.tls.as_ref().map(read).transpose()?;
        Ok(Self { users, tls })
    }
}

/// Why a node stops that nobody has told to: a sentence for its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Something of its own failed.
    Stopped(String),
    /// Its cluster has no place for it; it is sound itself.
    Ousted(String),
    /// It cannot listen where it is told to; it is sound itself.
    Unheard(String),
}

impl StopReason {
    /// The sentence.
    pub fn why(self) -> String {
        match self {
            Self::Stopped(why) | Self::Ousted(why) | Self::Unheard(why) => why,
        }
    }
}

/// What the loops of a node share.
#[derive(Debug)]
pub struct SharedState {
    /// What the node was started with.
    pub options: ServeOptions,
    /// The limits among them.
    pub limits: ServeLimits,
    /// Whether clients may `flush_all`.
    pub flush_enabled: bool,
    /// Who may use the node; `None`: everyone.
    pub users: Option<Users>,
    /// For new TLS connections.
    tls: Option<Reloading<Arc<ServerConfig>>>,
    /// By loop.
    pub counters: Vec<Arc<Counters>>,
    /// By loop.
    pub latencies: Vec<Arc<Latencies>>,
    /// Figures for the admin port.
    pub samples: Samples,
    /// By loop.
    pub wakes: Vec<Arc<Wake>>,
    /// By loop: accepted, not yet taken.
    inboxes: Vec<Mutex<Vec<IncomingConnection>>>,
    /// Connections of all loops, those in inboxes included.
    pub connections: AtomicUsize,
    /// Loops that cannot serve clients yet.
    unready: AtomicUsize,
    /// Whether clients are served.
    serving: Mutex<bool>,
    /// That has changed, or the node is to stop.
    served: Condvar,
    stopping: AtomicBool,
    /// Loops that have closed all their connections.
    drained: AtomicUsize,
    failure: Mutex<Option<StopReason>>,
    /// When the node started.
    pub started: Instant,
    /// The text of `stats`: addresses, read path and the like.
    pub facts: Vec<(&'static str, String)>,
}

impl SharedState {
    /// What the loops of a node with `options` share.
    pub fn new(
        options: ServeOptions,
        Access { users, tls }: Access,
        wakes: Vec<Arc<Wake>>,
        facts: Vec<(&'static str, String)>,
    ) -> Self {
        Self {
            limits: options.limits,
            flush_enabled: options.flush_enabled,
            users,
            tls,
            counters: wakes.iter().map(|_| Arc::default()).collect(),
            latencies: wakes.iter().map(|_| Arc::default()).collect(),
            samples: Samples::new(wakes.len()),
            unready: AtomicUsize::new(wakes.len()),
            serving: Mutex::new(false),
            served: Condvar::new(),
            inboxes: wakes.iter().map(|_| Mutex::default()).collect(),
            wakes,
            options,
            connections: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            drained: AtomicUsize::new(0),
            failure: Mutex::new(None),
            started: Instant::now(),
            facts,
        }
    }

    /// The TLS configuration for a connection that came over `family`.
    pub fn tls_for(&self, family: Family) -> Option<Arc<ServerConfig>> {
        self.tls.as_ref().filter(|_| family == Family::Tcp).map(Reloading::current)
    }

    /// Whether a connection may be there that has not said who it is yet, by a handshake or a password.
    pub fn has_unauthenticated(&self) -> bool {
        self.users.is_some() || self.tls.is_some()
    }

    /// Reads certificate and key again, for connections to come. They are looked at now and then without that, too.
    ///
    /// # Errors
    /// What is wrong with them; the old ones stay.
    pub fn refresh_certificates(&self) -> Result<(), TlsError> {
        self.tls.as_ref().map_or(Ok(()), Reloading::reload)
    }

    /// When the certificate ends that clients are shown, if they are shown one.
    pub fn certificate_expiry(&self) -> Option<Expiry> {
        self.tls.as_ref().and_then(Reloading::expiry)
    }

    /// Asks all loops for their figures, and waits for them.
    pub fn ask_samples(&self) -> SampleRound {
        self.samples.ask(|| self.is_stopping(), || self.wake_all())
    }

    /// All counters together.
    pub fn totals(&self) -> Totals {
        Totals::of(self.counters.iter().map(|counters| &**counters))
    }

    /// Sets all counters to 0. A count made meanwhile may be lost.
    pub fn reset_counters(&self) {
        self.counters.iter().for_each(|counters| counters.reset());
        self.latencies.iter().for_each(|latencies| latencies.reset());
    }

    /// Hands a connection to loop `number`.
    pub fn hand_over(&self, number: usize, accepted: IncomingConnection) {
        self.inboxes[number].lock().unwrap_or_else(PoisonError::into_inner).push(accepted);
        self.wakes[number].notify();
    }

    /// Takes the connections handed to loop `number`.
    pub fn take_accepted(&self, number: usize) -> Vec<IncomingConnection> {
        std::mem::take(&mut *self.inboxes[number].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether loop `number` has been handed connections.
    pub fn has_accepted(&self, number: usize) -> bool {
        !self.inboxes[number].lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// A loop can serve clients from here on. The first loop takes them in once all can.
    pub fn note_ready(&self) {
        if self.unready.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.wakes[0].notify();
        }
    }

    /// Whether all loops can serve clients.
    pub fn is_ready(&self) -> bool {
        self.unready.load(Ordering::SeqCst) == 0
    }

    /// Clients are served from here on.
    pub fn note_serving(&self) {
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.served.notify_all();
    }

    /// Waits until clients are served, or the node is to stop; whether they are.
    pub fn await_serving(&self) -> bool {
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |serving: &mut bool| !*serving && !self.is_stopping();
        *self.served.wait_while(serving, waits).unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks all loops to stop.
    pub fn stop(&self) {
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        self.stopping.store(true, Ordering::SeqCst);
        drop(serving);
        self.served.notify_all();
        self.wake_all();
    }

    /// Asks all loops to stop because of a failure; the first one's text counts.
    pub fn fail(&self, why: String) {
        self.end(StopReason::Stopped(why));
    }

    /// Asks all loops to stop because the cluster has no place for the process any more, which is sound.
    pub fn oust(&self, why: String) {
        self.end(StopReason::Ousted(why));
    }

    /// Asks all loops to stop.
    pub fn end(&self, failure: StopReason) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        self.stop();
    }

    /// The failure, if there was one.
    pub fn failure(&self) -> Option<StopReason> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the node is to stop.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// A loop has closed its last connection; when all have, no request will come any more.
    pub fn note_drained(&self) {
        self.drained.fetch_add(1, Ordering::SeqCst);
        self.wake_all();
    }

    /// Whether all loops have closed all connections.
    pub fn is_drained(&self) -> bool {
        self.drained.load(Ordering::SeqCst) == self.wakes.len()
    }

    /// Wakes the loops that sleep.
    pub fn wake_all(&self) {
        self.wakes.iter().for_each(|wake| {
            wake.notify();
        });
    }
}
