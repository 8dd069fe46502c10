//! How many operations a second the linearizability checker takes, by the number of clients that work on one key.
//!
//! `cargo run --release -p fawn-check --example speed [OPERATIONS]`

use std::time::Instant;

use fawn_check::random::Random;
use fawn_check::{CheckFailure, Checker, KvModel, KvOperation, KvOutcome};

/// What is to happen next to a client's operation.
#[derive(Clone, Copy)]
enum Next {
    Invoke,
    TakeEffect(KvOperation),
    /// `None`: the client gives up.
    Complete(Option<KvOutcome>),
}

enum Event {
    Invoke(u64, KvOperation),
    Complete(u64, KvOutcome),
    Unknown(u64),
}

/// A key's events: `clients` that ask one thing after the other, and lose one answer in `loss` (0 for none).
fn record(operations: usize, clients: usize, loss: u64) -> Vec<Event> {
    let mut random = Random::new(1);
    // A client compares with what some answer has shown.
    let (mut value, mut version, mut shown) = (None, 0, 0);
    let mut next = vec![Next::Invoke; clients];
    // Names are for once, as a lost operation goes on under its own.
    let mut names = vec![0; clients];
    let (mut invoked, mut events) = (0, Vec::new());
    while invoked < operations as u64 {
        let client = random.below(clients as u64) as usize;
        next[client] = match next[client] {
            Next::Invoke => {
                let operation = match random.below(8) {
                    0..5 => KvOperation::Get,
                    5..7 => KvOperation::Put { value: random.word() },
                    _ => KvOperation::CompareAndSwap { expected: shown, value: random.word() },
                };
                invoked += 1;
                names[client] = invoked;
                events.push(Event::Invoke(invoked, operation));
                Next::TakeEffect(operation)
            }
            Next::TakeEffect(operation) => {
                let outcome = match (operation, value) {
                    (KvOperation::CompareAndSwap { .. }, None) => KvOutcome::NotFound,
                    (KvOperation::CompareAndSwap { expected, .. }, _) if expected != version => KvOutcome::Exists,
                    (KvOperation::Put { value: new } | KvOperation::CompareAndSwap { value: new, .. }, _) => {
                        version += 1;
                        value = Some(new);
                        KvOutcome::Stored { version: Some(version) }
                    }
                    (_, Some(value)) => KvOutcome::Hit { value, version: Some(version) },
                    (_, None) => KvOutcome::Miss,
                };
                Next::Complete((loss == 0 || !random.chance(1, loss)).then_some(outcome))
            }
            Next::Complete(outcome) => {
                if let Some(KvOutcome::Hit { version, .. } | KvOutcome::Stored { version }) = outcome {
                    shown = version.map_or(shown, |version| shown.max(version));
                }
                events.push(match outcome {
                    Some(outcome) => Event::Complete(names[client], outcome),
                    None => Event::Unknown(names[client]),
                });
                Next::Invoke
            }
        };
    }
    events
}

fn check(events: &[Event]) -> Result<(), CheckFailure> {
    let mut checker = Checker::<KvModel>::new();
    for (time, event) in events.iter().enumerate() {
        match *event {
            Event::Invoke(id, operation) => checker.invoke(time as u64, id, operation)?,
            Event::Complete(id, outcome) => checker.complete(time as u64, id, outcome)?,
            Event::Unknown(id) => checker.unknown(id)?,
        }
    }
    checker.finish()
}

fn main() {
    let operations = std::env::args().nth(1).map_or(1_000_000, |count| count.parse().expect("a number of operations"));
    println!("{:>8} {:>12} {:>14}", "clients", "lost, 1 in", "operations/s");
    for loss in [0, 10_000, 1000] {
        for clients in [1, 2, 3, 5, 10, 20] {
            let events = record(operations, clients, loss);
            let start = Instant::now();
            let result = check(&events);
            let rate = operations as f64 / start.elapsed().as_secs_f64();
            match result {
                Ok(()) => println!("{clients:>8} {loss:>12} {rate:>14.0}"),
                Err(CheckFailure::TooHard) => println!("{clients:>8} {loss:>12} {:>14}", "too hard"),
                Err(failure) => panic!("the register is linearizable: {failure}"),
            }
        }
    }
}
