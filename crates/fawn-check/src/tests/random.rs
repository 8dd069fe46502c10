//! Random histories: both checkers, with and without the model's hints, say the same.

use crate::generate::{HistoryShape, KINDS, PARTS, corrupt, record, run};
use crate::kv::KvState;
use crate::random::Random;
use crate::tests::brute;
use crate::{End, History, KvModel, KvOperation, KvOutcome, Model, Verdict, check, check_within};

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
        let mut shape = HistoryShape::draw(&mut random, operations, span);
        if seed % 4 == 0 {
            shape.kinds = PARTS;
        }
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
        let mut shape = HistoryShape::draw(&mut random, operations, 4 * operations);
        if seed % 4 == 0 {
            shape.kinds = PARTS;
        }
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
    let of = |first: &[u64]| -> [u64; KINDS] { std::array::from_fn(|at| first.get(at).copied().unwrap_or(0)) };
    let gets_and_puts = of(&[4, 3]);
    let everything = of(&[4, 3, 1, 1, 1, 1, 1]);
    let marks_too = of(&[4, 3, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1]);
    let parts_too = of(&[4, 3, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    // About as many operations at once as an operation takes instants; of how many one is never answered.
    for (operations, kinds, slowness, lost, limit) in [
        (5000, gets_and_puts, 3, 100, 16),
        (5000, gets_and_puts, 10, 20, 32),
        (5000, everything, 3, 5000, 32),
        (5000, everything, 10, 5000, 256),
        (300, everything, 3, 20, 256),
        (300, everything, 10, 50, 1024),
        (5000, marks_too, 3, 5000, 128),
        (5000, marks_too, 10, 5000, 2048),
        (300, marks_too, 3, 20, 1024),
        (5000, parts_too, 3, 5000, 128),
        (300, parts_too, 3, 20, 1024),
    ] {
        for seed in 0..5 {
            let mut random = Random::new(seed);
            let shape =
                HistoryShape { operations, span: operations, slowness, unknown: 0, untold: 0, kinds, values: 1 << 40 };
            let mut drawn = run(&mut random, &shape);
            for at in (0..drawn.len()).step_by(lost) {
                drawn[at].outcome = None;
            }
            let verdict = check_within(&record(&drawn), limit);
            assert_eq!(verdict, Verdict::Linearizable, "{kinds:?}, {slowness} at once, 1 in {lost} lost, seed {seed}");
        }
    }
}
