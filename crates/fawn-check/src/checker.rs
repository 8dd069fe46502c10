//! Events in, failures out.
//!
//! The search wants to know the outcome of an operation when it meets its invocation: a put whose version is known fits in
//! one place, one that may get any fits in many. So events wait until everything invoked before them has its outcome, or
//! is known to have none. With clients that give up after some time this is a short wait, and what is held is bounded by
//! the events of that time.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};

use crate::Model;
use crate::frontier::{Frontier, OperationCall, Stop};

/// Configurations to look at for one completion, unless told otherwise: some megabytes, some tens of milliseconds.
pub(super) const LIMIT: usize = 1 << 16;

/// Most events that wait for the outcome of an operation.
const MOST_WAITING: usize = 1 << 18;

/// Completed operations that a violation tells.
const TOLD: usize = 24;

/// Why a check ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckFailure {
    /// Nothing explains what the clients saw.
    Violation(Violation),
    /// Too many operations at once, or too many ways to explain them: nobody knows.
    TooHard,
}

/// The end of a history that nothing explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When the operation completed at which the last explanation failed.
    pub time: u64,
    /// That operation. The culprit may be another one that was in flight with it: outcomes still to come count.
    pub id: u64,
    /// What could have been before, and what came: some lines of text.
    pub explanation: String,
}

impl fmt::Display for CheckFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => f.write_str(&violation.explanation),
            Self::TooHard => f.write_str("too many operations at once to tell whether they are linearizable"),
        }
    }
}

impl std::error::Error for CheckFailure {}

#[derive(Debug)]
enum HistoryEvent<M: Model> {
    /// Waits until it is `settled`: until its outcome is there or will never be.
    Invoke {
        call: OperationCall<M>,
        settled: bool,
    },
    Complete {
        time: u64,
        number: u64,
    },
}

/// Checks one key's operations as they happen.
///
/// Events come in time order, operations go by any `id` that no other one in flight has. Every method but
/// [`finish`](Self::finish) fails as soon as the events whose time is over are beyond explanation, and from then on.
#[derive(Debug)]
pub struct Checker<M: Model> {
    frontier: Frontier<M>,
    waiting: VecDeque<HistoryEvent<M>>,
    /// Events that wait no more.
    past: u64,
    /// The operations in flight: `id`, and the place of the invocation among all events.
    open: Vec<(u64, u64)>,
    invoked: u64,
    now: u64,
    failed: Option<CheckFailure>,
    /// The last completed operations, oldest first.
    recent: VecDeque<OperationCall<M>>,
}

impl<M: Model> Default for Checker<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Model> Checker<M> {
    /// Of a key that was never written.
    pub fn new() -> Self {
        Self::within(LIMIT)
    }

    /// The same, looking at no more than `limit` configurations for one completion (65,536 unless told otherwise), and
    /// in the long run at no more than 256.
    pub fn within(limit: usize) -> Self {
        Self {
            frontier: Frontier::new(limit),
            waiting: VecDeque::new(),
            past: 0,
            open: Vec::new(),
            invoked: 0,
            now: 0,
            failed: None,
            recent: VecDeque::new(),
        }
    }

    /// `id` asks for `operation`.
    ///
    /// # Errors
    /// See [`Checker`].
    pub fn invoke(&mut self, time: u64, id: u64, operation: M::Operation) -> Result<(), CheckFailure> {
        self.reach(time);
        assert!(self.open.iter().all(|&(other, _)| other != id), "operation {id} is in flight already");
        // Before the completions of the same instant: who shares an instant is concurrent.
        let completions = self.waiting.iter().rev();
        let completions = completions
            .take_while(|event| matches!(event, HistoryEvent::Complete { time: completed, .. } if *completed == time))
            .count();
        let at = self.waiting.len() - completions;
        self.open.push((id, self.past + at as u64));
        let call = OperationCall { number: self.invoked, id, operation, outcome: None, invoked: time, completed: None };
        self.invoked += 1;
        let event = HistoryEvent::Invoke { call, settled: false };
        if completions == 0 {
            self.waiting.push_back(event);
        } else {
            self.waiting.insert(at, event);
        }
        self.advance()
    }

    /// `id` gets its answer.
    ///
    /// # Errors
    /// See [`Checker`].
    pub fn complete(&mut self, time: u64, id: u64, outcome: M::Outcome) -> Result<(), CheckFailure> {
        self.reach(time);
        let call = self.settle(id);
        call.outcome = Some(outcome);
        call.completed = Some(time);
        let number = call.number;
        self.waiting.push_back(HistoryEvent::Complete { time, number });
        self.advance()
    }

    /// `id` will never get its answer: it may take effect at any time from its invocation on, or never. The caller
    /// drops an answer that comes all the same.
    ///
    /// # Errors
    /// See [`Checker`].
    pub fn unknown(&mut self, id: u64) -> Result<(), CheckFailure> {
        self.settle(id);
        self.advance()
    }

    /// No event will follow: what is in flight stays unknown.
    ///
    /// # Errors
    /// The failure, if there was any.
    pub fn finish(mut self) -> Result<(), CheckFailure> {
        while let Some(&(id, _)) = self.open.first() {
            self.settle(id);
        }
        // The time is over for all that waits.
        self.advance_past(None)
    }

    fn reach(&mut self, time: u64) {
        assert!(time >= self.now, "events come in time order: {time} after {}", self.now);
        self.now = time;
    }

    /// The operation in flight, which is so no more.
    fn settle(&mut self, id: u64) -> &mut OperationCall<M> {
        let open = self.open.iter().position(|&(other, _)| other == id).expect("an operation ends once, in flight");
        let (_, at) = self.open.swap_remove(open);
        match &mut self.waiting[(at - self.past) as usize] {
            HistoryEvent::Invoke { call, settled } => {
                *settled = true;
                call
            }
            HistoryEvent::Complete { .. } => unreachable!("no event comes before an invocation that waits"),
        }
    }

    fn advance(&mut self) -> Result<(), CheckFailure> {
        self.advance_past(Some(self.now))
    }

    /// Gives the search all events that need not wait: completions only from before `now`, as an invocation of the same
    /// instant could still come.
    fn advance_past(&mut self, now: Option<u64>) -> Result<(), CheckFailure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        loop {
            match self.waiting.front() {
                Some(HistoryEvent::Invoke { settled: true, .. }) => {}
                Some(HistoryEvent::Complete { time, .. }) if now.is_none_or(|now| *time < now) => {}
                _ if self.waiting.len() > MOST_WAITING => return self.fail(CheckFailure::TooHard),
                _ => return Ok(()),
            }
            let Some(event) = self.waiting.pop_front() else { return Ok(()) };
            self.past += 1;
            let ended = match event {
                HistoryEvent::Invoke { call, .. } => self.frontier.begin(call),
                HistoryEvent::Complete { number, .. } => match self.frontier.end(number) {
                    Ok(call) => {
                        self.remember(call);
                        Ok(())
                    }
                    Err(Stop::Impossible) => {
                        let violation = self.explain(number);
                        return self.fail(CheckFailure::Violation(violation));
                    }
                    Err(Stop::TooHard) => Err(Stop::TooHard),
                },
            };
            if ended.is_err() {
                return self.fail(CheckFailure::TooHard);
            }
        }
    }

    fn fail(&mut self, failure: CheckFailure) -> Result<(), CheckFailure> {
        self.failed = Some(failure.clone());
        Err(failure)
    }

    fn remember(&mut self, call: OperationCall<M>) {
        if self.recent.len() == TOLD {
            self.recent.pop_front();
        }
        self.recent.push_back(call);
    }

    /// What nothing explains: the completion of `number`.
    fn explain(&self, number: u64) -> Violation {
        let call = self.frontier.in_flight().find(|call| call.number == number);
        let call = call.expect("an operation that cannot have taken effect is still in flight");
        let mut text = format!("nothing explains {call}\n");
        let mut tell = |what: &str, lines: &mut dyn Iterator<Item = String>| {
            let lines: Vec<String> = lines.collect();
            if !lines.is_empty() {
                writeln!(text, "{what}:\n  {}", lines.join("\n  ")).expect("text takes text");
            }
        };
        let mut states: Vec<String> = self.frontier.states().map(ToString::to_string).collect();
        states.sort_unstable();
        states.dedup();
        tell("the key could be, but for what was in flight", &mut states.into_iter());
        let others = self.frontier.in_flight().filter(|call| call.number != number);
        tell("in flight with it", &mut others.map(ToString::to_string));
        tell(
            "never answered, and not known to have had their effect",
            &mut self.frontier.lost().map(ToString::to_string),
        );
        tell("completed before", &mut self.recent.iter().map(ToString::to_string));
        Violation { time: call.completed.expect("it completes"), id: call.id, explanation: text }
    }
}

impl<M: Model> fmt::Display for OperationCall<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, operation, invoked, .. } = self;
        write!(f, "{id}: {operation} at {invoked}")?;
        match (&self.outcome, self.completed) {
            (Some(outcome), Some(completed)) => write!(f, ": {outcome} at {completed}"),
            _ => f.write_str(", outcome unknown"),
        }
    }
}
