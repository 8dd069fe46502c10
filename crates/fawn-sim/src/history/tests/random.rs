//! Random histories: both checkers, with and without the model's hints, say the same.

use crate::history::KvOperation::{Add, CompareAndSwap, Delete, Get, Increment, Put, Replace};
use crate::history::KvOutcome::{Deleted, Exists, Hit, Miss, NotFound, NotStored, Number, Refused, Stored};
use crate::history::kv::KvState;
use crate::history::tests::brute;
use crate::history::{End, History, KvModel, KvOperation, KvOutcome, Model, Verdict, check, check_within};
use crate::random::Random;

/// The model without its hints.
#[derive(Debug)]
struct Bare;

impl Model for Bare {
    type State = KvState;
    type Operation = KvOperation;
    type Outcome = KvOutcome;

    fn start() -> KvState {
        KvModel::start()
    }

    fn step(state: &KvState, operation: &KvOperation, outcome: Option<&KvOutcome>) -> Option<KvState> {
        KvModel::step(state, operation, outcome)
    }
}

/// An operation, its times, and what came of it.
#[derive(Clone, Debug)]
struct Drawn {
    invoked: u64,
    /// When it takes effect.
    effective: u64,
    completed: u64,
    operation: KvOperation,
    outcome: Option<KvOutcome>,
}

/// How a history looks.
struct Shape {
    operations: u64,
    /// An operation is invoked before this time …
    span: u64,
    /// … and takes less than twice this.
    slowness: u64,
    /// Of 16 operations, those of unknown outcome.
    unknown: u64,
    /// Of 16 outcomes that have a version, those that do not tell it.
    untold: u64,
    /// How likely is each kind of operation.
    kinds: [u64; 7],
    values: u64,
}

impl Shape {
    fn draw(random: &mut Random, operations: u64, span: u64) -> Self {
        Self {
            operations,
            span,
            slowness: random.within(1, 8),
            unknown: random.below(8),
            untold: *random.pick(&[0, 0, 4, 12]),
            kinds: *random.pick(&[
                [4, 2, 1, 1, 1, 1, 1],
                [3, 3, 0, 0, 0, 0, 0],
                [3, 2, 2, 0, 1, 1, 0],
                [2, 1, 0, 3, 0, 0, 0],
                [2, 1, 1, 0, 0, 0, 4],
            ]),
            values: *random.pick(&[2, 4, 1000]),
        }
    }
}

/// A real register, and the operations in the order in which they took effect.
fn run(random: &mut Random, shape: &Shape) -> Vec<Drawn> {
    let mut drawn: Vec<Drawn> = (0..shape.operations)
        .map(|_| {
            let invoked = random.below(shape.span);
            let effective = invoked + random.below(shape.slowness);
            let completed = effective + random.below(shape.slowness);
            Drawn { invoked, effective, completed, operation: Get, outcome: None }
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

fn operation(random: &mut Random, shape: &Shape, there: Option<(u64, u64)>, version: u64) -> KvOperation {
    let value = random.below(shape.values);
    match random.weighted(&shape.kinds) {
        0 => Get,
        1 => Put { value },
        2 => Delete,
        3 => {
            let guess = random.within(1, version + 3);
            CompareAndSwap { expected: there.filter(|_| random.chance(3, 4)).map_or(guess, |(_, now)| now), value }
        }
        4 => Add { value },
        5 => Replace { value },
        _ => Increment { by: random.within(1, 2) },
    }
}

/// What a register whose `there` is a value and its version does, and says.
fn perform(
    random: &mut Random,
    operation: KvOperation,
    there: &mut Option<(u64, u64)>,
    last_version: &mut u64,
    told: bool,
) -> KvOutcome {
    if random.chance(1, 40) {
        return Refused;
    }
    let gap = random.within(1, 2);
    let now = *there;
    let mut write = |value| {
        *last_version += gap;
        *there = Some((value, *last_version));
        told.then_some(*last_version)
    };
    match (operation, now) {
        (Get, Some((value, version))) => Hit { value, version: told.then_some(version) },
        (Get, None) => Miss,
        (Delete, Some(_)) => {
            *there = None;
            Deleted
        }
        (CompareAndSwap { expected, .. }, Some((_, version))) if version != expected => Exists,
        (Put { value }, _) | (Add { value }, None) | (Replace { value } | CompareAndSwap { value, .. }, Some(_)) => {
            Stored { version: write(value) }
        }
        (Add { .. }, Some(_)) | (Replace { .. }, None) => NotStored,
        (Delete | CompareAndSwap { .. } | Increment { .. }, None) => NotFound,
        (Increment { by }, Some((value, _))) => {
            let value = value.wrapping_add(by);
            Number { value, version: write(value) }
        }
    }
}

/// Makes one outcome, or one operation's time, other than it was.
fn corrupt(random: &mut Random, shape: &Shape, drawn: &mut [Drawn]) {
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
            Add { .. } | Replace { .. } if random.chance(1, 2) => NotStored,
            _ => Stored { version: near(random, version) },
        },
        NotStored | Refused => Stored { version },
        Exists => *random.pick(&[Stored { version }, NotFound]),
        NotFound => match drawn[at].operation {
            Delete => Deleted,
            Increment { .. } => Number { value, version },
            _ => *random.pick(&[Exists, Stored { version }]),
        },
        Deleted => NotFound,
        Number { value, version } => Number { value: value + 1, version },
    };
    drawn[at].outcome = Some(other);
}

fn record(drawn: &[Drawn]) -> History {
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

/// The first lines of a history, for the model with or without hints.
fn prefix<M>(history: &History, end: usize) -> History<M>
where
    M: Model<Operation = KvOperation, Outcome = KvOutcome>,
{
    let mut copy = History::new();
    for line in &history.lines()[..end] {
        let recorded = &history.operations()[line.number];
        match recorded.end {
            End::Completed { outcome, .. } if line.completes => copy.complete(line.time, line.number as u64, outcome),
            _ => copy.invoke(line.time, line.number as u64, recorded.operation),
        }
    }
    copy
}

#[test]
fn both_checkers_agree_on_every_small_history() {
    let (mut wrong, mut right) = (0, 0);
    for seed in 0..40_000 {
        let mut random = Random::new(seed);
        let operations = random.within(2, brute::MOST as u64);
        let span = random.within(2, 24);
        let shape = Shape::draw(&mut random, operations, span);
        let mut drawn = run(&mut random, &shape);
        let corrupted = random.chance(5, 6);
        if corrupted {
            corrupt(&mut random, &shape, &mut drawn);
        }
        let history = record(&drawn);
        let holds = brute::is_linearizable(&history);
        let text = || format!("seed {seed}:\n{}", history.to_text());
        assert!(holds || corrupted, "a real register is linearizable, {}", text());
        let plain = check(&prefix::<Bare>(&history, history.lines().len()));
        assert_eq!(plain == Verdict::Linearizable, holds, "without hints, {}", text());
        match check(&history) {
            Verdict::Linearizable => assert!(holds, "{}", text()),
            Verdict::TooHard => panic!("eight operations are too hard, {}", text()),
            Verdict::NotLinearizable { prefix: end, explanation } => {
                assert!(!holds, "{}{explanation}", text());
                assert!(!brute::is_linearizable(&prefix::<KvModel>(&history, end)), "wrong by line {end}, {}", text());
                assert!(
                    brute::is_linearizable(&prefix::<KvModel>(&history, end - 1)),
                    "right before line {end}, {}",
                    text()
                );
            }
        }
        *(if holds { &mut right } else { &mut wrong }) += 1;
    }
    assert!(right >= 16_000 && wrong >= 16_000, "{right} right, {wrong} wrong");
}

#[test]
fn hints_change_no_verdict_of_longer_histories() {
    let (mut wrong, mut right, mut too_hard) = (0, 0, 0);
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let operations = random.within(20, 40);
        let shape = Shape::draw(&mut random, operations, 4 * operations);
        let mut drawn = run(&mut random, &shape);
        if random.chance(5, 6) {
            corrupt(&mut random, &shape, &mut drawn);
        }
        let history = record(&drawn);
        let plain = check_within(&prefix::<Bare>(&history, history.lines().len()), 3000);
        let hinted = check_within(&history, 3000);
        match (&hinted, &plain) {
            (_, Verdict::TooHard) => too_hard += 1,
            (Verdict::Linearizable, Verdict::Linearizable) => right += 1,
            (Verdict::NotLinearizable { prefix: hinted, .. }, Verdict::NotLinearizable { prefix: plain, .. })
                if hinted == plain =>
            {
                wrong += 1;
            }
            _ => panic!("{hinted:?}, without hints {plain:?}, seed {seed}:\n{}", history.to_text()),
        }
    }
    assert!(right >= 400 && wrong >= 400, "{right} right, {wrong} wrong, {too_hard} too hard");
}

/// Few configurations are few steps, whatever the machine.
#[test]
fn many_clients_and_many_lost_writes_take_few_configurations() {
    let gets_and_puts = [4, 3, 0, 0, 0, 0, 0];
    let everything = [4, 3, 1, 1, 1, 1, 1];
    // About as many operations at once as an operation takes instants; of how many one is never answered.
    for (operations, kinds, slowness, lost, limit) in [
        (5000, gets_and_puts, 3, 100, 16),
        (5000, gets_and_puts, 10, 20, 32),
        (5000, everything, 3, 5000, 32),
        (5000, everything, 10, 5000, 256),
        (300, everything, 3, 20, 256),
        (300, everything, 10, 50, 1024),
    ] {
        for seed in 0..5 {
            let mut random = Random::new(seed);
            let shape = Shape { operations, span: operations, slowness, unknown: 0, untold: 0, kinds, values: 1 << 40 };
            let mut drawn = run(&mut random, &shape);
            for at in (0..drawn.len()).step_by(lost) {
                drawn[at].outcome = None;
            }
            let verdict = check_within(&record(&drawn), limit);
            assert_eq!(verdict, Verdict::Linearizable, "{kinds:?}, {slowness} at once, 1 in {lost} lost, seed {seed}");
        }
    }
}
