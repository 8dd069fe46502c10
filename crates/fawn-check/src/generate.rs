//! Random histories: those of a real register, and the same with something wrong.

use crate::KvOperation::{
    Add, CompareAndSwap, Decrement, Delete, Expire, Extend, Get, Increment, Invalidate, Measure, Put, Replace, Sum,
    Swap, Take, Touch, Win,
};
use crate::KvOutcome::{
    Deleted, Exists, Gone, Hit, Item, Made, Miss, NonNumeric, NotFound, NotStored, Number, Refused, Stored, Touched,
};
use crate::random::Random;
use crate::{History, KvOperation, KvOutcome};

/// A history of 2 to `most_operations` operations (at least 2), wholly determined by `seed`, and whether something in it
/// is other than the register's of [`KvModel`](super::KvModel); such a history may be linearizable all the same.
pub fn history(seed: u64, most_operations: u64) -> (History, bool) {
    let mut random = Random::new(seed);
    let operations = random.within(2, most_operations);
    let span = random.within(2, 4 * operations);
    let mut shape = HistoryShape::draw(&mut random, operations, span);
    // Operations of unknown outcome stay open for ever, and the ways in which they can go multiply.
    shape.unknown = shape.unknown.min(40 / operations);
    let mut drawn = run(&mut random, &shape);
    let corrupted = random.chance(5, 6);
    if corrupted {
        corrupt(&mut random, &shape, &mut drawn);
    }
    (record(&drawn), corrupted)
}

/// An operation, its times, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct DrawnOperation {
    pub invoked: u64,
    /// When it takes effect.
    pub effective: u64,
    pub completed: u64,
    pub operation: KvOperation,
    pub outcome: Option<KvOutcome>,
}

/// Kinds of operations.
pub(super) const KINDS: usize = 17;

/// How likely is each kind of operation that shows or changes a part of a value, beside all others.
#[cfg(test)]
pub(super) const PARTS: [u64; KINDS] = [3, 2, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 3, 3, 4, 2];

/// How a history looks.
pub(super) struct HistoryShape {
    pub operations: u64,
    /// An operation is invoked before this time …
    pub span: u64,
    /// … and takes less than twice this.
    pub slowness: u64,
    /// Of 16 operations, those of unknown outcome.
    pub unknown: u64,
    /// Of 16 outcomes that have a version, those that do not tell it.
    pub untold: u64,
    /// How likely is each kind of operation.
    pub kinds: [u64; KINDS],
    pub values: u64,
}

impl HistoryShape {
    pub fn draw(random: &mut Random, operations: u64, span: u64) -> Self {
        Self {
            operations,
            span,
            slowness: random.within(1, 8),
            unknown: random.below(8),
            untold: *random.pick(&[0, 0, 4, 12]),
            kinds: *random.pick(&[
                kinds([4, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]),
                kinds([3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                kinds([3, 2, 2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0]),
                kinds([2, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                kinds([2, 1, 1, 0, 0, 0, 4, 0, 2, 0, 0, 0, 0]),
                kinds([3, 2, 1, 1, 0, 1, 1, 3, 0, 0, 0, 0, 0]),
                kinds([3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
                kinds([2, 1, 1, 0, 0, 0, 0, 0, 0, 5, 0, 1, 1]),
                kinds([2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 4, 4]),
                kinds([1, 1, 1, 0, 0, 0, 1, 0, 3, 2, 0, 2, 3]),
            ]),
            // With 11 a counter's length changes often.
            values: *random.pick(&[2, 4, 11, 1000]),
        }
    }
}

/// A real register, and the operations in the order in which they took effect.
pub(super) fn run(random: &mut Random, shape: &HistoryShape) -> Vec<DrawnOperation> {
    let mut drawn: Vec<DrawnOperation> = (0..shape.operations)
        .map(|_| {
            let invoked = random.below(shape.span);
            let effective = invoked + random.below(shape.slowness);
            let completed = effective + random.below(shape.slowness);
            DrawnOperation { invoked, effective, completed, operation: Get, outcome: None }
        })
        .collect();
    let lost: Vec<bool> = drawn.iter().map(|_| random.chance(shape.unknown, 16)).collect();
    for (drawn, _) in drawn.iter_mut().zip(&lost).filter(|(_, lost)| **lost) {
        drawn.effective = drawn.invoked + random.below(shape.span);
    }
    let mut order: Vec<usize> = (0..drawn.len()).collect();
    order.sort_by_key(|&at| drawn[at].effective);
    let (mut there, mut version) = (None, 0);
    for at in order {
        let operation = operation(random, shape, there, version);
        drawn[at].operation = operation;
        if lost[at] && random.chance(1, 3) {
            continue; // it never took effect
        }
        let told = !random.chance(shape.untold, 16);
        let outcome = perform(random, operation, &mut there, &mut version, told);
        drawn[at].outcome = (!lost[at]).then_some(outcome);
    }
    drawn
}

/// Those of the first kinds, and none of the others.
fn kinds(first: [u64; 13]) -> [u64; KINDS] {
    std::array::from_fn(|at| first.get(at).copied().unwrap_or(0))
}

fn operation(random: &mut Random, shape: &HistoryShape, there: Option<There>, version: u64) -> KvOperation {
    let value = random.below(shape.values);
    match random.weighted(&shape.kinds) {
        0 => Get,
        1 => Put { value },
        2 => Delete,
        3 => {
            let guess = random.within(1, version + 3);
            CompareAndSwap { expected: there.filter(|_| random.chance(3, 4)).map_or(guess, |now| now.version), value }
        }
        4 => Add { value },
        5 => Replace { value },
        6 => Increment { by: random.within(1, 2) },
        7 => Expire { value },
        8 => Decrement { by: random.within(1, 12), initial: random.chance(1, 2).then_some(value) },
        9 => Extend { digit: random.below(10), before: random.chance(1, 2), vivify: random.chance(1, 3) },
        10 => Touch,
        11 => Invalidate,
        13 => Take,
        14 => Swap { value },
        15 => Sum { by: random.within(1, 12) },
        16 => Measure,
        _ => Win { recache: random.chance(1, 3), vivify: random.chance(1, 3) },
    }
}

/// What a real register has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct There {
    pub value: u64,
    pub version: u64,
    pub text: ValueText,
}

/// What goes with a value: the length of its text, whether it is stale, and whether it is won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueText {
    pub length: u32,
    pub stale: bool,
    pub won: bool,
}

impl ValueText {
    /// That of a value which is as it was stored.
    pub fn of(value: u64) -> Self {
        Self { length: value.to_string().len() as u32, stale: false, won: false }
    }

    /// After a counter's step to `value`, which is written over it.
    pub fn counted(self, value: u64) -> Self {
        let new = Self::of(value);
        if new.length <= self.length { self } else { new }
    }

    /// Itself and its value after a digit more.
    pub fn extended(self, value: u64, digit: u64, before: bool) -> (u64, Self) {
        let longer = Self { length: self.length + 1, stale: false, won: false };
        let text = match (before, self.length) {
            (_, 0) => digit.to_string(),
            (true, length) => format!("{digit}{value:0>width$}", width = length as usize),
            (false, _) => format!("{value}{digit}"),
        };
        (text.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'))), longer)
    }
}

/// What a register whose `there` is a value and its version does, and says.
fn perform(
    random: &mut Random,
    operation: KvOperation,
    there: &mut Option<There>,
    last_version: &mut u64,
    told: bool,
) -> KvOutcome {
    if random.chance(1, 40) {
        return Refused;
    }
    let gap = random.within(1, 2);
    let now = *there;
    let mut write_text = |value, text| {
        *last_version += gap;
        *there = Some(There { value, version: *last_version, text });
        told.then_some(*last_version)
    };
    let mut write = |value| write_text(value, ValueText::of(value));
    match (operation, now) {
        (Get, Some(now)) => Hit { value: now.value, version: told.then_some(now.version) },
        (Get | Win { vivify: false, .. }, None) => Miss,
        (Delete, _) if !told => {
            *there = None;
            Gone
        }
        (Delete, Some(_)) => {
            *there = None;
            Deleted
        }
        (Expire { value }, now) => {
            *there = now.filter(|now| now.value != value);
            Gone
        }
        (CompareAndSwap { expected, .. }, Some(now)) if now.version != expected => Exists,
        (Put { value }, _) | (Add { value }, None) | (Replace { value } | CompareAndSwap { value, .. }, Some(_)) => {
            Stored { version: write(value) }
        }
        (Add { .. }, Some(_)) | (Replace { .. } | Extend { vivify: false, .. }, None) => NotStored,
        (
            Delete | CompareAndSwap { .. } | Increment { .. } | Decrement { initial: None, .. } | Touch | Invalidate,
            None,
        ) => NotFound,
        (Increment { .. } | Decrement { .. }, Some(now)) if now.text.length == 0 => NonNumeric,
        (Increment { by }, Some(now)) => {
            let value = now.value.wrapping_add(by);
            Number { value, version: write_text(value, now.text.counted(value)) }
        }
        (Decrement { by, .. }, Some(now)) => {
            let value = now.value.saturating_sub(by);
            Number { value, version: write_text(value, now.text.counted(value)) }
        }
        (Decrement { initial: Some(value), .. }, None) => Number { value, version: write(value) },
        (Extend { digit, before, .. }, Some(now)) => {
            let (value, text) = now.text.extended(now.value, digit, before);
            Stored { version: write_text(value, text) }
        }
        (Extend { digit, .. }, None) => Stored { version: write(digit) },
        (Touch, Some(_)) => Touched,
        (Invalidate, Some(now)) => {
            write_text(now.value, ValueText { stale: true, won: false, ..now.text });
            Deleted
        }
        (Win { recache, .. }, Some(now)) => {
            let ValueText { stale, won: taken, .. } = now.text;
            let won = !taken && (stale || recache);
            let (value, version) = (now.value, told.then_some(now.version));
            *there = Some(There { text: ValueText { won: won || taken, ..now.text }, ..now });
            Item { value, version, stale, won, taken }
        }
        (Take | Swap { .. }, now) => {
            if let Swap { value } = operation {
                write(value);
            } else {
                *there = None;
            }
            now.map_or(Miss, |now| Hit { value: now.value, version: told.then_some(now.version) })
        }
        (Sum { .. }, Some(now)) if now.text.length != ValueText::of(now.value).length => NonNumeric,
        (Sum { by }, now) => {
            let value = now.map_or(0, |now| now.value).wrapping_add(by);
            Number { value, version: write(value) }
        }
        (Measure, now) => Number { value: now.map_or(0, |now| now.text.length.into()), version: None },
        (Win { .. }, None) => Made { version: write_text(0, ValueText { length: 0, stale: false, won: true }) },
    }
}

/// Makes one outcome, or one operation's time, other than it was.
pub(super) fn corrupt(random: &mut Random, shape: &HistoryShape, drawn: &mut [DrawnOperation]) {
    let known: Vec<usize> = (0..drawn.len()).filter(|&at| drawn[at].outcome.is_some()).collect();
    if known.is_empty() {
        return;
    }
    let at = *random.pick(&known);
    if random.chance(1, 5) {
        // Later or earlier as a whole.
        let by = random.within(1, shape.span / 2 + 1);
        let length = drawn[at].completed - drawn[at].invoked;
        drawn[at].invoked = if random.chance(1, 2) { drawn[at].invoked + by } else { drawn[at].invoked / 2 };
        drawn[at].completed = drawn[at].invoked + length;
        return;
    }
    let value = random.below(shape.values.min(6));
    let version = Some(random.within(1, 2 * shape.operations));
    let near =
        |random: &mut Random, version: Option<u64>| version.map(|version| version + 1 - random.below(3).min(version));
    let other = match drawn[at].outcome.expect("it was chosen among those") {
        Hit { value: same, version } => match random.below(4) {
            0 => Miss,
            1 => Hit { value: same, version: near(random, version) },
            _ => Hit { value, version },
        },
        Miss => Hit { value, version },
        Stored { version } => match drawn[at].operation {
            CompareAndSwap { .. } if random.chance(1, 2) => Exists,
            Add { .. } | Replace { .. } | Extend { .. } if random.chance(1, 2) => NotStored,
            _ => Stored { version: near(random, version) },
        },
        NotStored | Refused => Stored { version },
        Exists => *random.pick(&[Stored { version }, NotFound]),
        NotFound => match drawn[at].operation {
            Delete | Invalidate => Deleted,
            Touch => Touched,
            Increment { .. } | Decrement { .. } => Number { value, version },
            _ => *random.pick(&[Exists, Stored { version }]),
        },
        Deleted | Touched => NotFound,
        Gone => Refused,
        Number { value, version } => Number { value: value.wrapping_add(1), version },
        NonNumeric => Number { value, version },
        Item { value: same, version, stale, won, taken } => match random.below(6) {
            0 => Miss,
            1 => Item { value: same, version: near(random, version), stale, won, taken },
            2 => Item { value: same, version, stale: !stale, won, taken },
            3 => Item { value: same, version, stale, won: !won, taken: won },
            4 => Item { value: same, version, stale, won, taken: !taken },
            _ => Item { value, version, stale, won, taken },
        },
        Made { version } => Made { version: near(random, version) },
    };
    drawn[at].outcome = Some(other);
}

pub(super) fn record(drawn: &[DrawnOperation]) -> History {
    let mut sorted = drawn.to_vec();
    sorted.sort_by_key(|drawn| drawn.invoked);
    let mut history = History::new();
    for (id, drawn) in sorted.iter().enumerate() {
        history.invoke(drawn.invoked, id as u64, drawn.operation);
        match drawn.outcome {
            Some(outcome) => history.complete(drawn.completed, id as u64, outcome),
            None => history.unknown(id as u64),
        }
    }
    history
}
