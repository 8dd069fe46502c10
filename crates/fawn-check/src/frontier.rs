//! The search: every configuration that explains the events so far, moved on by each completion.
//!
//! What is left out, and why nothing is lost by it:
//!
//! * A configuration that another one *covers*: it differs only in operations of unknown outcome that the other one still
//!   has to spend, and those need never take effect.
//! * Of operations of unknown outcome that ask the same, all but the oldest: they are interchangeable.
//! * Every step but the observation, where an operation in flight observes just what is there: it must take effect at some
//!   time, changes nothing now, and can only tell more than is known if it comes later.
//! * A configuration in which an operation in flight can no longer have the outcome that it had.
//! * An operation of unknown outcome that helps nothing that comes next. Each of them must help the next one, up to one
//!   that completes, which could not do as well at once.

use crate::Model;
use crate::configurations::{Configuration, Configurations};

/// An operation, from its invocation on.
#[derive(Debug)]
pub(super) struct OperationCall<M: Model> {
    /// Counts a checker's operations.
    pub number: u64,
    /// Who asked: the caller's name for the operation.
    pub id: u64,
    pub operation: M::Operation,
    /// `None` while it is in flight, and for ever when nobody knows it.
    pub outcome: Option<M::Outcome>,
    pub invoked: u64,
    /// Present with an outcome.
    pub completed: Option<u64>,
}

/// Why there is no going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// No configuration is left.
    Impossible,
    /// Too many are.
    TooHard,
}

/// An operation of unknown outcome that may still take effect.
#[derive(Debug)]
struct UnknownOperation<M: Model> {
    /// Counts the operations of unknown outcome.
    number: u32,
    call: OperationCall<M>,
    /// The one before this that asks the same.
    twin: Option<u32>,
}

/// The operations that the search knows.
#[derive(Debug)]
struct Calls<M: Model> {
    /// Those that have an outcome and whose completion is still to come.
    slots: Vec<Option<OperationCall<M>>>,
    /// The slots in use, a bit each.
    used: u64,
    /// Those among them that change nothing.
    observing: u64,
    lost: Vec<UnknownOperation<M>>,
    lost_before: u32,
}

/// Configurations that a completion may take on average, in the long run. (Sixty-four operations of unknown outcome that
/// are tried in vain count as one.)
const CREDIT: usize = 256;

/// Completions that may take as many as the limit allows, one after the other.
const BURSTS: usize = 16;

/// The search.
#[derive(Debug)]
pub(super) struct Frontier<M: Model> {
    calls: Calls<M>,
    configurations: Configurations<M::State>,
    /// During a completion: what was reached without its operation, and with it.
    without: Configurations<M::State>,
    with: Configurations<M::State>,
    /// Of one step: indices of operations of unknown outcome.
    helpers: Vec<usize>,
    /// Most configurations to look at for one completion.
    limit: usize,
    /// How many more to look at before the next completion grants some: bounds the work for a whole history.
    credit: usize,
}

/// The set bits' positions.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let bit = set.trailing_zeros() as usize;
            set &= set - 1;
            bit
        })
    })
}

impl<M: Model> Calls<M> {
    fn at(&self, slot: usize) -> &OperationCall<M> {
        self.slots[slot].as_ref().expect("a used slot has a call")
    }

    fn step(&self, slot: usize, state: &M::State) -> Option<M::State> {
        let call = self.at(slot);
        M::step(state, &call.operation, call.outcome.as_ref())
    }

    /// Lets everything in flight that observes just what is there do so.
    fn observe(&self, configuration: &mut Configuration<M::State>) {
        for slot in bits(self.observing & !configuration.done) {
            if self.step(slot, &configuration.state).is_some_and(|state| state == configuration.state) {
                configuration.done |= 1 << slot;
                configuration.after_lost = None;
            }
        }
    }

    /// Whether something in flight can no longer take effect.
    fn is_dead(&self, configuration: &Configuration<M::State>) -> bool {
        bits(self.used & !configuration.done).any(|slot| {
            let call = self.at(slot);
            M::is_spent(&configuration.state, &call.operation, call.outcome.as_ref())
        })
    }

    /// Whether the operation of unknown outcome that `from` ends with, if any, helps `then`.
    fn may_follow(&self, from: &Configuration<M::State>, then: &M::Operation, outcome: Option<&M::Outcome>) -> bool {
        from.after_lost.is_none_or(|last| {
            let last = self.lost.binary_search_by_key(&last, |lost| lost.number).expect("nothing retires meanwhile");
            M::helps(&self.lost[last].call.operation, then, outcome)
        })
    }

    /// Whether `from` leaves the operation of unknown outcome, and no twin before it.
    fn is_left(from: &Configuration<M::State>, lost: &UnknownOperation<M>) -> bool {
        from.taken.binary_search(&lost.number).is_err()
            && lost.twin.is_none_or(|twin| from.taken.binary_search(&twin).is_ok())
    }

    /// Finds the operations of unknown outcome that may help something in flight, one after the other: their indices.
    fn find_helpers(&self, from: &Configuration<M::State>, helpers: &mut Vec<usize>) {
        helpers.clear();
        if self.lost.is_empty() {
            return;
        }
        for slot in bits(self.used & !from.done) {
            let OperationCall { operation, outcome, .. } = self.at(slot);
            let outcome = outcome.as_ref();
            if M::overwrites(operation, outcome) && M::step(&from.state, operation, outcome).is_some() {
                continue; // whatever came before it would be lost
            }
            for (at, lost) in self.lost.iter().enumerate() {
                if M::helps(&lost.call.operation, operation, outcome) && !helpers.contains(&at) {
                    helpers.push(at);
                }
            }
        }
        let mut next = 0;
        while next < helpers.len() {
            let then = &self.lost[helpers[next]].call.operation;
            for (at, lost) in self.lost.iter().enumerate() {
                if M::helps(&lost.call.operation, then, None) && !helpers.contains(&at) {
                    helpers.push(at);
                }
            }
            next += 1;
        }
        helpers.sort_unstable();
    }
}

impl<M: Model> Frontier<M> {
    pub fn new(limit: usize) -> Self {
        let mut configurations = Configurations::new();
        configurations.insert(Configuration { state: M::start(), done: 0, taken: Vec::new(), after_lost: None });
        Self {
            calls: Calls { slots: Vec::new(), used: 0, observing: 0, lost: Vec::new(), lost_before: 0 },
            configurations,
            without: Configurations::new(),
            with: Configurations::new(),
            helpers: Vec::new(),
            limit,
            credit: BURSTS * limit,
        }
    }

    /// An operation is invoked, whose outcome is `call.outcome`, or unknown for ever.
    pub fn begin(&mut self, call: OperationCall<M>) -> Result<(), Stop> {
        let observes = M::observes(&call.operation, call.outcome.as_ref());
        let calls = &mut self.calls;
        if call.outcome.is_none() {
            if !observes {
                let twin = calls.lost.iter().rev().find(|lost| lost.call.operation == call.operation);
                let twin = twin.map(|lost| lost.number);
                calls.lost.push(UnknownOperation { number: calls.lost_before, call, twin });
                calls.lost_before += 1;
            }
            return Ok(());
        }
        let slot = (!calls.used).trailing_zeros() as usize;
        if slot >= 64 {
            return Err(Stop::TooHard);
        }
        if slot == calls.slots.len() {
            calls.slots.push(None);
        }
        calls.slots[slot] = Some(call);
        calls.used |= 1 << slot;
        calls.observing |= u64::from(observes) << slot;
        Ok(())
    }

    /// The operation `number` completes: it has taken effect. On failure everything stays as it was.
    pub fn end(&mut self, number: u64) -> Result<OperationCall<M>, Stop> {
        let slot = bits(self.calls.used)
            .find(|&slot| self.calls.at(slot).number == number)
            .expect("what completes was invoked and has an outcome");
        self.without.clear();
        self.with.clear();
        for configuration in self.configurations.items() {
            place(&self.calls, &mut self.without, &mut self.with, slot, configuration.clone());
        }
        let (mut next, mut tried) = (0, 0);
        while next < self.without.items().len() {
            self.expand(next, slot);
            next += 1;
            tried += self.calls.lost.len();
            let reached = self.without.items().len() + self.with.items().len();
            if reached > self.limit || reached + tried / 64 > self.credit {
                return Err(Stop::TooHard);
            }
        }
        let spent = self.without.items().len() + self.with.items().len() + tried / 64;
        self.credit = (self.credit.saturating_sub(spent) + CREDIT).min(BURSTS * self.limit);
        if self.with.items().is_empty() {
            return Err(Stop::Impossible);
        }
        let calls = &mut self.calls;
        calls.used &= !(1 << slot);
        calls.observing &= !(1 << slot);
        if calls.lost.is_empty() {
            std::mem::swap(&mut self.configurations, &mut self.with);
        } else {
            self.retire();
        }
        Ok(self.calls.slots[slot].take().expect("a used slot has a call"))
    }

    /// Every step from the configuration at `from`; one that makes `target` take effect ends the way.
    fn expand(&mut self, from: usize, target: usize) {
        let Self { calls, without, with, helpers, .. } = self;
        let from = without.items()[from].clone();
        let to = |state, done, taken, after_lost| Configuration { state, done, taken, after_lost };
        for slot in bits(calls.used & !from.done) {
            let OperationCall { operation, outcome, .. } = calls.at(slot);
            if calls.may_follow(&from, operation, outcome.as_ref())
                && let Some(state) = calls.step(slot, &from.state)
            {
                place(calls, without, with, target, to(state, from.done | 1 << slot, from.taken.clone(), None));
            }
        }
        calls.find_helpers(&from, helpers);
        for lost in helpers.iter().map(|&at| &calls.lost[at]) {
            if !Calls::is_left(&from, lost) || !calls.may_follow(&from, &lost.call.operation, None) {
                continue;
            }
            let state = M::step(&from.state, &lost.call.operation, None);
            if let Some(state) = state.filter(|state| *state != from.state) {
                let mut taken = from.taken.clone();
                let at = taken.binary_search(&lost.number).expect_err("it is left");
                taken.insert(at, lost.number);
                place(calls, without, with, target, to(state, from.done, taken, Some(lost.number)));
            }
        }
    }

    /// Forgets the operations of unknown outcome that can have no effect from now on, whatever happened.
    fn retire(&mut self) {
        let Self { calls, configurations, with, .. } = self;
        let mut gone = Vec::new();
        for lost in &calls.lost {
            let is_over = with.items().iter().all(|item| {
                item.taken.binary_search(&lost.number).is_ok() || M::is_spent(&item.state, &lost.call.operation, None)
            });
            if is_over {
                gone.push((lost.number, lost.twin));
            }
        }
        // Newest first, so that a twin of several that go ends at the first that stays.
        for &(number, twin) in gone.iter().rev() {
            for lost in calls.lost.iter_mut().filter(|lost| lost.twin == Some(number)) {
                lost.twin = twin;
            }
        }
        let is_gone = |number: u32| gone.iter().any(|&(other, _)| other == number);
        calls.lost.retain(|lost| !is_gone(lost.number));
        with.drain_minimal(configurations, |item| item.taken.retain(|&number| !is_gone(number)));
    }

    /// The states that the key may be in.
    pub fn states(&self) -> impl Iterator<Item = &M::State> {
        self.configurations.items().iter().map(|item| &item.state)
    }

    /// The operations in flight that will complete.
    pub fn in_flight(&self) -> impl Iterator<Item = &OperationCall<M>> {
        bits(self.calls.used).map(|slot| self.calls.at(slot))
    }

    /// The operations of unknown outcome that may still take effect.
    pub fn lost(&self) -> impl Iterator<Item = &OperationCall<M>> {
        self.calls.lost.iter().map(|lost| &lost.call)
    }
}

/// Puts a configuration where it belongs: among those `with` the effect of `target` or those `without`, or nowhere.
fn place<M: Model>(
    calls: &Calls<M>,
    without: &mut Configurations<M::State>,
    with: &mut Configurations<M::State>,
    target: usize,
    mut configuration: Configuration<M::State>,
) {
    calls.observe(&mut configuration);
    if calls.is_dead(&configuration) {
        return;
    }
    if configuration.done & (1 << target) == 0 {
        without.insert(configuration);
    } else {
        configuration.done &= !(1 << target);
        configuration.after_lost = None;
        with.insert(configuration);
    }
}
