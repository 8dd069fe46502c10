//! Clients under way: what they ask, and what is wrong with what they are told.
//!
//! # Layout
//!
//! * [`connection`]: one operation at a time, with a time-out. [`words`]: operations and answers on the wire.
//! * [`key`]: a key, with the checker of what was seen of it.
//! * `manner`: how clients behave.
//! * [`ledger`]: all keys, the record of all operations, and what was found.
//! * `worker`: a client.

pub mod connection;
pub mod key;
pub mod ledger;
mod manner;
pub mod words;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use fawn_check::random::Random;
use ledger::Ledger;
pub use manner::{KeyChoice, Manner};

/// Clients under way.
#[derive(Debug)]
pub struct TrialLoad {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl TrialLoad {
    /// Sets clients on the front-ends.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(ledger: &Arc<Ledger>, fronts: &[SocketAddr], manner: &Manner) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut random = Random::new(manner.seed);
        let client = |number: u16| {
            let (ledger, stop, manner) = (Arc::clone(ledger), Arc::clone(&stop), manner.clone());
            let (fronts, random) = (fronts.to_vec(), random.fork());
            let own = (manner.choice == KeyChoice::Own).then_some(number);
            let name = format!("client {number}");
            std::thread::Builder::new()
                .name(name)
                .spawn(move || worker::TrialClient::new(&ledger, fronts, &manner, own, random).run(&stop))
        };
        let clients: std::io::Result<Vec<JoinHandle<()>>> = (0..manner.clients).map(client).collect();
        Ok(Self { stop, clients: clients? })
    }

    /// Lets every client end what it is at.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().expect("a client does not panic");
        }
    }
}
