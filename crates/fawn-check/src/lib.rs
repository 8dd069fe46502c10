//! Whether what clients saw of one key is linearizable: whether some order of the operations, in which each takes effect
//! between its invocation and its completion, explains every outcome.
//!
//! The search is Wing and Gong's (1993), made just-in-time and memoised as Lowe's (*Testing for linearizability*, 2017):
//! it walks through the events in time order and keeps every *configuration* that explains them so far, which is a state
//! of the key and the set of operations in flight that have already taken effect. Only a completion moves it, as only
//! then must an operation have taken effect. When no configuration is left, nothing explains the history. Linearizability
//! is local (Herlihy and Wing, 1990), so keys are checked one by one.
//!
//! * An operation whose client never heard back may take effect at any later time or never: it stays open for ever.
//! * Two operations are concurrent when their intervals share as much as an instant: one that completes at the time at
//!   which another is invoked may come second. A simulation that knows the order of the events of one instant passes
//!   the events' numbers as times.
//!
//! Nothing here knows a server: whoever has called one records when each operation began and ended, and what came of it.
//!
//! [`Checker`] takes events as they happen, in memory bounded by what is in flight; [`check()`] takes a recorded
//! [`History`] and cuts a wrong one to its shortest wrong prefix. What the operations mean is a [`Model`]; [`KvModel`]
//! is that of a key whose writes are numbered, as in memcached.
//!
//! ```
//! use fawn_check::{Checker, KvModel, KvOperation::{Get, Put}, KvOutcome::{Miss, Stored}};
//!
//! let mut checker = Checker::<KvModel>::new();
//! checker.invoke(0, 1, Put { value: 7 })?;
//! checker.complete(5, 1, Stored { version: Some(1) })?;
//! checker.invoke(6, 2, Get)?;
//! checker.complete(9, 2, Miss)?;
//! assert!(checker.finish().is_err(), "the put was lost");
//! # Ok::<(), fawn_check::CheckFailure>(())
//! ```
//!
//! A model of one's own is two functions:
//!
//! ```
//! use fawn_check::{Checker, Model};
//!
//! /// A counter: each operation adds one and returns the sum.
//! struct Counter;
//!
//! impl Model for Counter {
//!     type State = u64;
//!     type Operation = &'static str;
//!     type Outcome = u64;
//!
//!     fn start() -> u64 {
//!         0
//!     }
//!
//!     fn step(state: &u64, _: &&'static str, outcome: Option<&u64>) -> Option<u64> {
//!         let sum = state + 1;
//!         outcome.is_none_or(|outcome| *outcome == sum).then_some(sum)
//!     }
//! }
//!
//! // Two clients at once: the second to ask is the first to be carried out.
//! let mut checker = Checker::<Counter>::new();
//! checker.invoke(0, 1, "add")?;
//! checker.invoke(1, 2, "add")?;
//! checker.complete(2, 2, 1)?;
//! checker.complete(3, 1, 2)?;
//! assert!(checker.finish().is_ok());
//! # Ok::<(), fawn_check::CheckFailure>(())
//! ```
//!
//! # Layout
//!
//! * [`kv`]: the model of a key with versions.
//! * `record`: a recorded history, its text, and its check. `checker`: events in, failures out.
//! * [`generate`]: random histories, right and wrong; [`random`]: the generator of every choice.
//! * `frontier`: the search. `configurations`: its sets.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod checker;
mod configurations;
mod frontier;
pub mod generate;
pub mod kv;
pub mod random;
mod record;
#[cfg(test)]
mod tests;

use std::fmt::{Debug, Display};
use std::hash::Hash;

pub use checker::{CheckFailure, Checker, Violation};
pub use kv::{KvModel, KvOperation, KvOutcome};
pub use record::{End, History, RecordedOperation, Verdict, check, check_within};

/// What the operations on one key do when they run one after the other.
///
/// Only [`start`](Self::start) and [`step`](Self::step) say what is right; the other methods let the search leave out
/// what cannot matter, and may all be left as they are.
///
/// A state may stand for several (say, that of a version that nobody has seen yet). One state *allows more* than another
/// when every sequence of operations that can follow the other can follow it.
pub trait Model {
    /// The key's state.
    type State: Clone + Eq + Hash + Debug + Display;
    /// What a client asks.
    type Operation: Clone + PartialEq + Debug + Display;
    /// What a client is told.
    type Outcome: Clone + Debug + Display;

    /// The state of a key that was never written.
    fn start() -> Self::State;

    /// The state after `operation` takes effect in `state`; `None` where it cannot do so with this outcome. Without an
    /// outcome (nobody knows it) this is the operation's effect, and `None` or the same state where it has none.
    fn step(state: &Self::State, operation: &Self::Operation, outcome: Option<&Self::Outcome>) -> Option<Self::State>;

    /// Whether the operation, with this outcome, never changes what is there: a read, or a condition that failed. (It
    /// may still change the state by telling which of several it is.)
    fn observes(operation: &Self::Operation, outcome: Option<&Self::Outcome>) -> bool {
        let _ = (operation, outcome);
        false
    }

    /// Whether the state after the operation tells nothing of the state before: from wherever it can take effect with
    /// this outcome it leads to the same state, or to one that allows more where fewer operations came before it.
    fn overwrites(operation: &Self::Operation, outcome: Option<&Self::Outcome>) -> bool {
        let _ = (operation, outcome);
        false
    }

    /// Whether `first`, whose outcome is unknown, may be of use right before `then`. It is not where whatever can follow
    /// it, with this outcome, can as well come without it, and leads to the same state or to one that allows more.
    fn helps(first: &Self::Operation, then: &Self::Operation, outcome: Option<&Self::Outcome>) -> bool {
        let _ = (first, then, outcome);
        true
    }

    /// Whether the operation can take effect with this outcome neither in `state` nor in any state that follows it;
    /// without an outcome, whether it can have an effect.
    fn is_spent(state: &Self::State, operation: &Self::Operation, outcome: Option<&Self::Outcome>) -> bool {
        let _ = (state, operation, outcome);
        false
    }
}
