//! A client: one operation after the other, on a connection to some front-end.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fawn_check::KvOperation;
use fawn_check::random::Random;
use fawn_memcache::client::Dialect;

use super::connection::TrialConnection;
use super::key::{Side, TrialKey};
use super::ledger::{Ledger, SharedKey};
use super::manner::Manner;
use super::words::request;

/// Operations on a connection until another front-end is asked.
const OPERATIONS: u32 = 500;

/// Wait where no front-end can be reached.
const PAUSE: Duration = Duration::from_millis(50);

/// A client.
pub struct TrialClient<'a> {
    ledger: &'a Ledger,
    fronts: Vec<SocketAddr>,
    random: Random,
    patience: Duration,
    /// Time from one operation's begin to the next one's, at least.
    pace: Duration,
    connection: Option<TrialConnection>,
    /// The front-end that is asked.
    front: usize,
    left: u32,
    /// The place of the only key that it asks for, and what it asks.
    own: Option<(usize, Side)>,
}

impl<'a> TrialClient<'a> {
    /// A client of some front-ends; with a number, of one key.
    pub fn new(
        ledger: &'a Ledger,
        fronts: Vec<SocketAddr>,
        manner: &Manner,
        own: Option<u16>,
        mut random: Random,
    ) -> Self {
        let own = own.map(|number| (usize::from(number / 2), if number % 2 == 0 { Side::Get } else { Side::Put }));
        let pace = Duration::from_secs_f64(f64::from(manner.clients) / f64::from(manner.rate));
        let front = random.below(fronts.len() as u64) as usize;
        Self { ledger, fronts, random, patience: manner.patience, pace, connection: None, front, left: 0, own }
    }

    /// Asks until it is to stop.
    pub fn run(mut self, stop: &AtomicBool) {
        let mut next = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            next += self.pace;
            if let Some(connection) = self.connection() {
                self.connection = self.operate(connection);
            } else {
                self.ledger.counts.unsent.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(PAUSE);
            }
            let now = Instant::now();
            std::thread::sleep(next.saturating_duration_since(now));
            // What was missed is not caught up with.
            next = next.max(now);
        }
    }

    /// The connection to ask on; another front-end when that is due, or this one is not to be had.
    fn connection(&mut self) -> Option<TrialConnection> {
        self.left = self.left.saturating_sub(1);
        if let Some(connection) = self.connection.take().filter(|_| self.left > 0) {
            return Some(connection);
        }
        self.left = OPERATIONS / 2 + self.random.below(u64::from(OPERATIONS)) as u32;
        self.front = (self.front + 1) % self.fronts.len();
        TrialConnection::open(self.fronts[self.front], self.patience).ok()
    }

    /// What to ask for: a key that was left alone has no place.
    fn pick(&mut self) -> (Option<usize>, SharedKey) {
        if let Some((place, _)) = self.own {
            return (Some(place), self.ledger.at(place));
        }
        let retired = if self.random.chance(1, 20) { self.ledger.pick_retired(&mut self.random) } else { None };
        if let Some(key) = retired {
            return (None, key);
        }
        let (place, key) = self.ledger.pick(&mut self.random);
        (Some(place), key)
    }

    /// One operation; gives the connection back if it can still be used.
    fn operate(&mut self, mut connection: TrialConnection) -> Option<TrialConnection> {
        let (place, key) = self.pick();
        let unique = self.ledger.unique();
        let (own, random) = (self.own, &mut self.random);
        let draw = |key: &TrialKey| match (place, own) {
            (None, _) | (_, Some((_, Side::Get))) => KvOperation::Get,
            (_, Some((_, Side::Put))) => draw_put(key, random, unique),
            (_, None) => key.draw(random, unique),
        };
        let (ticket, name, kind) = self.ledger.begin(&key, draw);
        let dialect =
            if self.random.chance(1, 2) || needs_meta(&ticket.operation) { Dialect::Meta } else { Dialect::Text };
        let reply = connection.call(&request(kind, dialect, &name, &ticket.operation, ticket.id), self.patience);
        self.ledger.end(&key, place, &ticket, &reply).then_some(connection)
    }
}

/// Something that writes.
fn draw_put(key: &TrialKey, random: &mut Random, unique: u64) -> KvOperation {
    loop {
        let operation = key.draw(random, unique);
        if operation != KvOperation::Get {
            return operation;
        }
    }
}

/// Whether the text protocol has no words for it.
fn needs_meta(operation: &KvOperation) -> bool {
    matches!(operation, KvOperation::Decrement { initial: Some(_), .. } | KvOperation::Extend { vivify: true, .. })
}
