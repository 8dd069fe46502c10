//! All keys, the record of all operations on them, and what was found wrong.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fawn_check::random::Random;
use fawn_check::{CheckFailure, KvOperation};

use super::connection::Reply;
use super::key::{OperationTicket, Promise, Side, Stall, TrialKey, write_line};
use super::words::{KeyKind, Meaning, meaning};

/// A key that several clients use.
pub type SharedKey = Arc<Mutex<TrialKey>>;

/// A key's stall.
#[derive(Clone, Copy, Debug)]
pub struct KeyStall {
    /// The key's place among those in use.
    pub place: usize,
    /// When.
    pub stall: Stall,
}

/// Something that must not be.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The key.
    pub key: String,
    /// When it was found, in microseconds of the trial.
    pub at: u64,
    /// What cannot be explained.
    pub what: String,
}

/// How operations ended.
#[derive(Debug, Default)]
pub struct OperationCounts {
    /// With an outcome.
    pub answered: AtomicU64,
    /// With the promise that nothing was done.
    pub refused: AtomicU64,
    /// Without anyone knowing: no answer in time, a broken connection, or an error that does not say.
    pub unknown: AtomicU64,
    /// Among these, gets.
    pub unread: AtomicU64,
    /// Not begun, as no front-end could be reached.
    pub unsent: AtomicU64,
    /// Keys that were too hard to check.
    pub too_hard: AtomicU64,
}

/// All keys, and what came of them.
#[derive(Debug)]
pub struct Ledger {
    begin: Instant,
    promise: Promise,
    keys: Vec<Mutex<SharedKey>>,
    retired: Mutex<Vec<SharedKey>>,
    numbers: AtomicU64,
    record: Mutex<BufWriter<File>>,
    path: PathBuf,
    findings: Mutex<Vec<Finding>>,
    stalls: Mutex<Vec<KeyStall>>,
    /// Errors that do not say what became of an operation, as servers word them.
    errors: Mutex<std::collections::BTreeMap<String, u64>>,
    /// See [`OperationCounts`].
    pub counts: OperationCounts,
}

/// Keys that are looked at for one that is out of reach.
const LOOKED_AT: usize = 8;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    /// So many keys at a time, judged by what is promised; the record of all operations goes into a new file.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn new(keys: u32, promise: Promise, path: &Path) -> io::Result<Self> {
        let ledger = Self {
            begin: Instant::now(),
            promise,
            keys: Vec::new(),
            retired: Mutex::default(),
            numbers: AtomicU64::new(1),
            record: Mutex::new(BufWriter::new(File::create_new(path)?)),
            path: path.to_owned(),
            findings: Mutex::default(),
            stalls: Mutex::default(),
            errors: Mutex::default(),
            counts: OperationCounts::default(),
        };
        let places = (0..keys as usize).map(|place| Mutex::new(ledger.new_key(place))).collect();
        Ok(Self { keys: places, ..ledger })
    }

    /// Microseconds since the trial began.
    pub fn now(&self) -> u64 {
        self.begin.elapsed().as_micros() as u64
    }

    /// A number that nobody else is given.
    pub fn unique(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn new_key(&self, place: usize) -> SharedKey {
        let kind = match place % 8 {
            _ if self.promise != Promise::Strong => KeyKind::Register,
            6 => KeyKind::Counter,
            7 => KeyKind::Text,
            _ => KeyKind::Register,
        };
        Arc::new(Mutex::new(TrialKey::new(format!("trial-{place}-{}", self.unique()), kind, self.promise)))
    }

    /// A key in use, and its place. Half of the time one that is out of reach, if there is one among some: so that it is
    /// soon seen when it is back.
    pub fn pick(&self, random: &mut Random) -> (usize, SharedKey) {
        let mut place = random.below(self.keys.len() as u64) as usize;
        if random.chance(1, 2) {
            let is_wanting = |place: &usize| lock(&lock(&self.keys[*place])).wanting().next().is_some();
            let mut others = (0..LOOKED_AT).map(|_| random.below(self.keys.len() as u64) as usize);
            place = others.find(is_wanting).unwrap_or(place);
        }
        (place, self.at(place))
    }

    /// The key in use at a place; another one if the last is worn.
    pub fn at(&self, place: usize) -> SharedKey {
        let mut key = lock(&self.keys[place]);
        if lock(&key).is_worn() {
            let worn = std::mem::replace(&mut *key, self.new_key(place));
            if !lock(&worn).is_given_up() {
                lock(&self.retired).push(worn);
            }
        }
        Arc::clone(&key)
    }

    /// A key that was left alone, if there is one.
    pub fn pick_retired(&self, random: &mut Random) -> Option<SharedKey> {
        let retired = lock(&self.retired);
        (!retired.is_empty()).then(|| Arc::clone(random.pick(&retired)))
    }

    /// All keys, those in use and those left alone.
    pub fn all(&self) -> Vec<SharedKey> {
        let mut all: Vec<SharedKey> = self.keys.iter().map(|key| Arc::clone(&lock(key))).collect();
        all.extend(lock(&self.retired).iter().map(Arc::clone));
        all
    }

    /// Notes that an operation begins: a ticket, the key's name and kind.
    pub fn begin(
        &self,
        key: &SharedKey,
        draw: impl FnOnce(&TrialKey) -> KvOperation,
    ) -> (OperationTicket, String, KeyKind) {
        let mut held = lock(key);
        let operation = draw(&held);
        let now = self.now();
        let name = held.name.clone();
        let kind = held.kind;
        let ticket = match held.begin(now, operation) {
            Ok(ticket) => ticket,
            Err(failure) => {
                self.fail(&name, now, &failure);
                // The checker has gone; the operation is asked all the same.
                OperationTicket { id: u64::MAX, operation, begun: now }
            }
        };
        (ticket, name, kind)
    }

    /// Notes how an operation on the key at a place ended. False: the connection is of no further use.
    pub fn end(
        &self,
        key: &SharedKey,
        place: Option<usize>,
        ticket: &OperationTicket,
        reply: &io::Result<Reply>,
    ) -> bool {
        let mut held = lock(key);
        let now = self.now();
        let (kind, name) = (held.kind, held.name.clone());
        let meant = match reply {
            Ok(reply) => meaning(kind, &ticket.operation, ticket.id, reply),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Meaning::Nonsense(error.to_string()),
            Err(_) => Meaning::Unknown,
        };
        let checked = match meant {
            Meaning::Outcome(outcome) => {
                self.count(&self.counts.answered);
                if outcome == fawn_check::KvOutcome::Refused {
                    self.count(&self.counts.refused);
                }
                self.write(&name, ticket, Some(now), &outcome.to_string());
                held.complete(now, ticket, outcome).map(|stall| {
                    if let (Some(stall), Some(place)) = (stall, place) {
                        lock(&self.stalls).push(KeyStall { place, stall });
                    }
                })
            }
            Meaning::Unknown => {
                self.count(&self.counts.unknown);
                if ticket.operation == KvOperation::Get {
                    self.count(&self.counts.unread);
                }
                let said = reply.as_ref().map_or_else(ToString::to_string, |reply| reply.line.clone());
                self.write(&name, ticket, None, &said);
                *lock(&self.errors).entry(said).or_default() += 1;
                held.lose(ticket)
            }
            Meaning::Nonsense(what) => {
                self.write(&name, ticket, None, &what);
                lock(&self.findings).push(Finding { key: name.clone(), at: now, what });
                held.lose(ticket)
            }
        };
        if let Err(failure) = checked {
            self.fail(&name, now, &failure);
        }
        reply.is_ok()
    }

    /// Notes that nothing more will be asked.
    pub fn finish(&self) {
        let now = self.now();
        for key in self.all() {
            let mut held = lock(&key);
            if let Err(failure) = held.finish() {
                let name = held.name.clone();
                self.fail(&name, now, &failure);
            }
        }
        // What cannot be written is missed only where something was found.
        let _ = lock(&self.record).flush();
    }

    /// The stalls of keys that were still in one when the load ended.
    pub fn end_stalls(&self) {
        let now = self.now();
        for (place, key) in self.keys.iter().enumerate() {
            let key = Arc::clone(&lock(key));
            let wanting: Vec<(Side, u64)> = lock(&key).wanting().collect();
            let stalls = wanting.into_iter().map(|(side, from)| Stall { side, from, to: now });
            let long = stalls.filter(|stall| stall.to - stall.from >= Stall::SHORTEST.as_micros() as u64);
            lock(&self.stalls).extend(long.map(|stall| KeyStall { place, stall }));
        }
    }

    fn count(&self, count: &AtomicU64) {
        let _ = self;
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn write(&self, name: &str, ticket: &OperationTicket, end: Option<u64>, answer: &str) {
        // A full disk must not end the trial: what is missed is told as missing.
        let _ = write_line(&mut *lock(&self.record), name, ticket, end, answer);
    }

    fn fail(&self, name: &str, at: u64, failure: &CheckFailure) {
        match failure {
            CheckFailure::TooHard => self.count(&self.counts.too_hard),
            CheckFailure::Violation(violation) => {
                let what = violation.explanation.clone();
                lock(&self.findings).push(Finding { key: name.to_owned(), at, what });
            }
        }
    }

    /// What was found so far.
    pub fn findings(&self) -> Vec<Finding> {
        lock(&self.findings).clone()
    }

    /// Every stall so far.
    pub fn stalls(&self) -> Vec<KeyStall> {
        lock(&self.stalls).clone()
    }

    /// Errors that left an outcome unknown, and how often each came.
    pub fn errors(&self) -> Vec<(String, u64)> {
        lock(&self.errors).iter().map(|(error, &count)| (error.clone(), count)).collect()
    }

    /// Keys that were used.
    pub fn keys(&self) -> usize {
        self.keys.len() + lock(&self.retired).len()
    }

    /// Every operation on a key, in the order in which they began.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn history(&self, name: &str) -> io::Result<Vec<String>> {
        lock(&self.record).flush()?;
        let mut lines = Vec::new();
        for line in BufReader::new(File::open(&self.path)?).lines() {
            let line = line?;
            if line.split(' ').next() == Some(name) {
                lines.push(line);
            }
        }
        let begun = |line: &String| line.split_whitespace().nth(1).and_then(|time| time.parse::<u64>().ok());
        lines.sort_by_key(begun);
        Ok(lines)
    }
}
