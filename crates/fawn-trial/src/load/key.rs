//! A key with everything that was asked of it, checked as it happens.
//!
//! A key is used for some hundred operations and then left alone, but for a get now and then: so the checker's work
//! stays small however long the trial, while what was stored at its beginning must still be there at its end.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use fawn_check::random::Random;
use fawn_check::{CheckFailure, Checker, KvModel, KvOperation, KvOutcome, Violation};

use super::words::KeyKind;

/// Operations on a key until another takes its place.
const MOST_OPERATIONS: u32 = 400;

/// Operations of unknown outcome until then: each may come at any later time, which makes work for the checker.
const MOST_UNKNOWN: u32 = 10;

/// Whether an operation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A get.
    Get,
    /// Anything else.
    Put,
}

/// What clients are promised, and a key's history is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promise {
    /// Every operation, in an order that all clients see.
    #[default]
    Strong,
    /// The same of what a weak cluster takes, while nothing fails.
    WeakOrder,
    /// Of a weak cluster in which something fails: no value is shown that nobody wrote to the key; and what is put once
    /// nothing fails any more, everybody is shown.
    Weak,
}

/// By what a key's answers are judged.
#[derive(Debug)]
enum Judge {
    /// The order in which operations can have been carried out.
    Order(Box<Checker<KvModel>>),
    /// The values that somebody asked to be written.
    Written(BTreeSet<u64>),
    /// This value alone may be shown: it was put last.
    Last(u64),
}

impl Judge {
    fn begin(&mut self, now: u64, id: u64, operation: KvOperation) -> Result<(), CheckFailure> {
        match (self, operation) {
            (Self::Order(checker), operation) => checker.invoke(now, id, operation),
            (Self::Written(values), KvOperation::Put { value }) => {
                values.insert(value);
                Ok(())
            }
            (Self::Written(_) | Self::Last(_), _) => Ok(()),
        }
    }

    fn complete(&mut self, now: u64, ticket: &OperationTicket, outcome: KvOutcome) -> Result<(), CheckFailure> {
        let is_get = ticket.operation == KvOperation::Get;
        let allowed = match (self, outcome) {
            (Self::Order(checker), outcome) => return checker.complete(now, ticket.id, outcome),
            (Self::Written(values), KvOutcome::Hit { value, .. }) => values.contains(&value),
            (Self::Last(last), KvOutcome::Hit { value, .. }) => value == *last,
            (Self::Last(_), _) => !is_get,
            (Self::Written(_), _) => true,
        };
        let what = || format!("{} at {}: {outcome}, which nobody put there", ticket.operation, ticket.begun);
        if allowed {
            Ok(())
        } else {
            Err(CheckFailure::Violation(Violation { time: now, id: ticket.id, explanation: what() }))
        }
    }
}

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
pub struct OperationTicket {
    /// Its number among the key's, from 1.
    pub id: u64,
    /// What was asked.
    pub operation: KvOperation,
    /// When, in microseconds of the trial.
    pub begun: u64,
}

/// A time during which a key did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// What was asked.
    pub side: Side,
    /// When it was first asked in vain, in microseconds of the trial.
    pub from: u64,
    /// When something like it was answered.
    pub to: u64,
}

/// A key.
#[derive(Debug)]
pub struct TrialKey {
    /// Its name.
    pub name: String,
    /// What it is used for.
    pub kind: KeyKind,
    judge: Option<Judge>,
    /// Only what a weak cluster takes is asked.
    is_weak: bool,
    operations: u32,
    unknown: u32,
    begun: u64,
    /// The last version that was seen.
    version: u64,
    /// Since when gets, and other operations, have not succeeded.
    wanting: [Option<u64>; 2],
}

impl TrialKey {
    /// A key that was never written.
    pub fn new(name: String, kind: KeyKind, promise: Promise) -> Self {
        let judge = match promise {
            Promise::Strong | Promise::WeakOrder => Judge::Order(Box::new(Checker::new())),
            Promise::Weak => Judge::Written(BTreeSet::new()),
        };
        let (judge, is_weak) = (Some(judge), promise != Promise::Strong);
        Self { name, kind, judge, is_weak, operations: 0, unknown: 0, begun: 0, version: 0, wanting: [None; 2] }
    }

    /// What to ask next; `unique` is a number that no other operation has.
    pub fn draw(&self, random: &mut Random, unique: u64) -> KvOperation {
        let digit = random.below(10);
        if self.is_weak {
            return match random.weighted(&[50, 40, 8, 2]) {
                0 => KvOperation::Get,
                1 => KvOperation::Put { value: unique },
                2 => KvOperation::Delete,
                _ => KvOperation::Touch,
            };
        }
        match self.kind {
            KeyKind::Register => match random.weighted(&[44, 30, 10, 5, 4, 5, 2]) {
                0 => KvOperation::Get,
                1 => KvOperation::Put { value: unique },
                2 => KvOperation::CompareAndSwap { expected: self.version, value: unique },
                3 => KvOperation::Add { value: unique },
                4 => KvOperation::Replace { value: unique },
                5 => KvOperation::Delete,
                _ => KvOperation::Touch,
            },
            KeyKind::Counter => match random.weighted(&[30, 40, 7, 5, 8, 5, 5]) {
                0 => KvOperation::Get,
                1 => KvOperation::Increment { by: unique },
                2 => KvOperation::Decrement { by: unique, initial: None },
                3 => KvOperation::Decrement { by: unique, initial: Some(unique) },
                4 => KvOperation::Put { value: unique },
                5 => KvOperation::Add { value: unique },
                _ => KvOperation::Delete,
            },
            KeyKind::Text => match random.weighted(&[35, 25, 15, 5, 15, 5]) {
                0 => KvOperation::Get,
                1 => KvOperation::Extend { digit, before: false, vivify: false },
                2 => KvOperation::Extend { digit, before: true, vivify: false },
                3 => KvOperation::Extend { digit, before: false, vivify: true },
                4 => KvOperation::Put { value: unique },
                _ => KvOperation::Delete,
            },
        }
    }

    /// An operation begins.
    ///
    /// # Errors
    /// What was seen of the key cannot be explained, or nobody can tell; said once.
    pub fn begin(&mut self, now: u64, operation: KvOperation) -> Result<OperationTicket, CheckFailure> {
        self.operations += 1;
        self.begun += 1;
        self.wanting[side(&operation) as usize].get_or_insert(now);
        let ticket = OperationTicket { id: self.begun, operation, begun: now };
        self.check(|judge| judge.begin(now, ticket.id, operation)).map(|()| ticket)
    }

    /// It has an outcome. Returns for how long there was none, if that was long.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn complete(
        &mut self,
        now: u64,
        ticket: &OperationTicket,
        outcome: KvOutcome,
    ) -> Result<Option<Stall>, CheckFailure> {
        if let Some(version) = version(&outcome) {
            self.version = version;
        }
        let stall = if outcome == KvOutcome::Refused { None } else { self.recovered(ticket, now) };
        self.check(|judge| judge.complete(now, ticket, outcome)).map(|()| stall)
    }

    /// Nobody knows its outcome.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn lose(&mut self, ticket: &OperationTicket) -> Result<(), CheckFailure> {
        self.unknown += u32::from(ticket.operation != KvOperation::Get);
        self.check(|judge| match judge {
            Judge::Order(checker) => checker.unknown(ticket.id),
            Judge::Written(_) | Judge::Last(_) => Ok(()),
        })
    }

    /// From here on nobody writes it but for this value, which was just acknowledged.
    pub fn was_put_last(&mut self, value: u64) {
        if let Some(judge @ Judge::Written(_)) = &mut self.judge {
            *judge = Judge::Last(value);
        }
    }

    /// Nothing more will be asked.
    ///
    /// # Errors
    /// See [`begin`](Self::begin).
    pub fn finish(&mut self) -> Result<(), CheckFailure> {
        match self.judge.take() {
            Some(Judge::Order(checker)) => checker.finish(),
            Some(Judge::Written(_) | Judge::Last(_)) | None => Ok(()),
        }
    }

    /// Whether another key should take its place. Not while it waits for something: that would hide for how long.
    pub fn is_worn(&self) -> bool {
        let is_used_up = self.operations >= MOST_OPERATIONS || self.unknown >= MOST_UNKNOWN;
        self.judge.is_none() || is_used_up && self.wanting == [None; 2]
    }

    /// Whether something was wrong with it, or nobody could tell.
    pub fn is_given_up(&self) -> bool {
        self.judge.is_none()
    }

    /// Since when a side has wanted in vain, at the end.
    pub fn wanting(&self) -> impl Iterator<Item = (Side, u64)> {
        let sides = [Side::Get, Side::Put].into_iter().zip(self.wanting);
        sides.filter_map(|(side, since)| Some((side, since?)))
    }

    fn recovered(&mut self, ticket: &OperationTicket, now: u64) -> Option<Stall> {
        let side = side(&ticket.operation);
        let from = self.wanting[side as usize].take().unwrap_or(ticket.begun).min(ticket.begun);
        (now - from >= Stall::SHORTEST.as_micros() as u64).then_some(Stall { side, from, to: now })
    }

    fn check(&mut self, step: impl FnOnce(&mut Judge) -> Result<(), CheckFailure>) -> Result<(), CheckFailure> {
        let Some(judge) = &mut self.judge else { return Ok(()) };
        step(judge).inspect_err(|_| self.judge = None)
    }
}

impl Stall {
    /// Shorter ones are not worth telling.
    pub const SHORTEST: Duration = Duration::from_millis(100);
}

fn side(operation: &KvOperation) -> Side {
    if *operation == KvOperation::Get { Side::Get } else { Side::Put }
}

fn version(outcome: &KvOutcome) -> Option<u64> {
    match outcome {
        KvOutcome::Hit { version, .. } | KvOutcome::Stored { version } | KvOutcome::Number { version, .. } => *version,
        _ => None,
    }
}

/// Writes a line of the record of all operations: key, number, begin, end, what was asked and answered.
///
/// # Errors
/// It cannot be written.
pub fn write_line(
    out: &mut impl Write,
    name: &str,
    ticket: &OperationTicket,
    end: Option<u64>,
    answer: &str,
) -> std::io::Result<()> {
    let OperationTicket { id, operation, begun } = ticket;
    match end {
        Some(end) => writeln!(out, "{name} {begun:>12} {end:>12} #{id:<4} {operation}: {answer}"),
        None => writeln!(out, "{name} {begun:>12} {:>12} #{id:<4} {operation}: {answer}", "-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> TrialKey {
        TrialKey::new("k".to_owned(), KeyKind::Register, Promise::Strong)
    }

    #[test]
    fn a_stale_get_is_told_once_and_the_key_is_worn() {
        let mut key = key();
        for (at, value) in [(0, 1), (10, 2)] {
            let put = key.begin(at, KvOperation::Put { value }).unwrap();
            key.complete(at + 1, &put, KvOutcome::Stored { version: None }).unwrap();
        }
        let get = key.begin(20, KvOperation::Get).unwrap();
        let stale = KvOutcome::Hit { value: 1, version: None };
        // The checker tells when the time of the completion is over.
        let told = key.complete(21, &get, stale).and_then(|_| key.begin(30, KvOperation::Get));
        assert!(matches!(told, Err(CheckFailure::Violation(_))));
        assert!(key.is_worn() && key.is_given_up());
        assert_eq!(key.finish(), Ok(()));
    }

    #[test]
    fn a_weak_key_may_show_what_was_written_before_but_nothing_else_and_at_last_the_last() {
        let mut key = TrialKey::new("k".to_owned(), KeyKind::Register, Promise::Weak);
        let put = |key: &mut TrialKey, value| {
            let put = key.begin(0, KvOperation::Put { value }).unwrap();
            key.complete(1, &put, KvOutcome::Stored { version: None }).unwrap();
        };
        let got = |key: &mut TrialKey, value| {
            let get = key.begin(2, KvOperation::Get).unwrap();
            key.complete(3, &get, KvOutcome::Hit { value, version: None }).map(|_| ())
        };
        put(&mut key, 1);
        put(&mut key, 2);
        assert_eq!((got(&mut key, 1), got(&mut key, 2)), (Ok(()), Ok(())), "an owner without the newer put");
        put(&mut key, 4);
        key.was_put_last(4);
        assert_eq!(got(&mut key, 4), Ok(()));
        assert!(matches!(got(&mut key, 2), Err(CheckFailure::Violation(_))), "nothing fails any more");
        let mut key = TrialKey::new("k".to_owned(), KeyKind::Register, Promise::Weak);
        assert!(matches!(got(&mut key, 3), Err(CheckFailure::Violation(_))), "nobody wrote it");
    }

    #[test]
    fn a_lost_put_that_may_have_come_explains_both() {
        let mut key = key();
        let put = key.begin(0, KvOperation::Put { value: 1 }).unwrap();
        key.lose(&put).unwrap();
        let miss = key.begin(10, KvOperation::Get).unwrap();
        key.complete(11, &miss, KvOutcome::Miss).unwrap();
        let hit = key.begin(20, KvOperation::Get).unwrap();
        key.complete(21, &hit, KvOutcome::Hit { value: 1, version: Some(4) }).unwrap();
        assert_eq!(key.finish(), Ok(()));
    }

    #[test]
    fn a_stall_lasts_from_the_first_question_to_the_first_answer() {
        let mut key = key();
        let first = key.begin(0, KvOperation::Put { value: 1 }).unwrap();
        key.lose(&first).unwrap();
        let get = key.begin(1_000, KvOperation::Get).unwrap();
        assert_eq!(key.complete(2_000, &get, KvOutcome::Miss), Ok(None));
        let second = key.begin(3_000_000, KvOperation::Put { value: 2 }).unwrap();
        let stall = key.complete(3_500_000, &second, KvOutcome::Stored { version: None }).unwrap();
        assert_eq!(stall, Some(Stall { side: Side::Put, from: 0, to: 3_500_000 }));
        assert_eq!(key.wanting().count(), 0);
    }
}
