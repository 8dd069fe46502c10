//! A recorded history: its events in order, its text, its check.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::checker::{CheckFailure, Checker, LIMIT};
use crate::{KvModel, Model};

/// What clients asked of one key, and what they were told.
#[derive(Debug)]
pub struct History<M: Model = KvModel> {
    operations: Vec<RecordedOperation<M>>,
    /// Indices of the operations in flight by `id`.
    open: BTreeMap<u64, usize>,
}

/// An operation of a history. Its number is its place in the order of invocations as recorded.
#[derive(Debug)]
pub struct RecordedOperation<M: Model> {
    /// The caller's name for it.
    pub id: u64,
    /// When it was invoked.
    pub invoked: u64,
    /// What was asked.
    pub operation: M::Operation,
    /// What came of it.
    pub end: End<M::Outcome>,
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End<O> {
    /// Nothing, so far or for ever.
    Unknown,
    /// It completed.
    Completed {
        /// When, not before its invocation.
        time: u64,
        /// With what.
        outcome: O,
    },
}

/// Whether a history is linearizable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Linearizable,
    /// It is not.
    NotLinearizable {
        /// The least number of lines of [`History::to_text`], from its start, that are not linearizable by themselves
        /// (with whatever completes after them as unknown).
        prefix: usize,
        /// The last event of that prefix and what could have been before it: some lines of text.
        explanation: String,
    },
    /// Nobody knows: more configurations than were allowed, or more than 64 operations at once that complete.
    TooHard,
}

/// A line of the text: an operation's invocation or completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordLine {
    pub time: u64,
    /// Orders invocations before completions of the same instant.
    pub completes: bool,
    pub number: usize,
}

impl<M: Model> Default for History<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Model> History<M> {
    /// Without an operation.
    pub fn new() -> Self {
        Self { operations: Vec::new(), open: BTreeMap::new() }
    }

    /// `id`, which has no operation in flight, asks for `operation`.
    pub fn invoke(&mut self, time: u64, id: u64, operation: M::Operation) {
        let before = self.open.insert(id, self.operations.len());
        assert!(before.is_none(), "operation {id} is in flight already");
        self.operations.push(RecordedOperation { id, invoked: time, operation, end: End::Unknown });
    }

    /// `id` gets its answer.
    pub fn complete(&mut self, time: u64, id: u64, outcome: M::Outcome) {
        let number = self.open.remove(&id).expect("an operation ends once, in flight");
        let recorded = &mut self.operations[number];
        assert!(time >= recorded.invoked, "an answer follows its question");
        recorded.end = End::Completed { time, outcome };
    }

    /// `id` will never get its answer: it may take effect at any time from its invocation on, or never.
    pub fn unknown(&mut self, id: u64) {
        self.open.remove(&id).expect("an operation ends once, in flight");
    }

    /// The operations, in the order of their numbers.
    pub fn operations(&self) -> &[RecordedOperation<M>] {
        &self.operations
    }

    pub(super) fn lines(&self) -> Vec<RecordLine> {
        let mut lines = Vec::with_capacity(2 * self.operations.len());
        for (number, recorded) in self.operations.iter().enumerate() {
            lines.push(RecordLine { time: recorded.invoked, completes: false, number });
            if let End::Completed { time, .. } = recorded.end {
                lines.push(RecordLine { time, completes: true, number });
            }
        }
        lines.sort_unstable();
        lines
    }

    /// The history for other checkers and for people, one event a line: `TIME invoke NUMBER ID OPERATION` and
    /// `TIME complete NUMBER ID OUTCOME`, where NUMBER names the operation. Lines are in time order, invocations before
    /// completions of the same instant, so that two operations are concurrent just if their lines overlap. An operation
    /// without a line of completion may take effect at any time after its invocation, or never.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for line in self.lines() {
            self.write_line(&mut text, line);
        }
        text
    }

    fn write_line(&self, text: &mut String, line: RecordLine) {
        let RecordLine { time, number, .. } = line;
        let RecordedOperation { id, operation, end, .. } = &self.operations[number];
        let written = match end {
            End::Completed { outcome, .. } if line.completes => {
                writeln!(text, "{time} complete {number} {id} {outcome}")
            }
            _ => writeln!(text, "{time} invoke {number} {id} {operation}"),
        };
        written.expect("text takes text");
    }

    /// Checks the first `prefix` of `lines`.
    fn replay(&self, lines: &[RecordLine], prefix: usize, limit: usize) -> Result<(), CheckFailure> {
        let mut completes = vec![false; self.operations.len()];
        for line in &lines[..prefix] {
            completes[line.number] |= line.completes;
        }
        let mut checker = Checker::<M>::within(limit);
        for line in &lines[..prefix] {
            let id = line.number as u64;
            let recorded = &self.operations[line.number];
            match &recorded.end {
                End::Completed { time, outcome } if line.completes => checker.complete(*time, id, outcome.clone())?,
                _ => checker.invoke(line.time, id, recorded.operation.clone())?,
            }
            if !completes[line.number] {
                checker.unknown(id)?;
            }
        }
        checker.finish()
    }
}

/// Checks a whole history, looking at no more than 65,536 configurations for one completion.
pub fn check<M: Model>(history: &History<M>) -> Verdict {
    check_within(history, LIMIT)
}

/// Checks a whole history, looking at no more than `limit` configurations for one completion.
pub fn check_within<M: Model>(history: &History<M>, limit: usize) -> Verdict {
    let lines = history.lines();
    let mut violation = match history.replay(&lines, lines.len(), limit) {
        Ok(()) => return Verdict::Linearizable,
        Err(CheckFailure::TooHard) => return Verdict::TooHard,
        Err(CheckFailure::Violation(violation)) => violation,
    };
    // A prefix of a linearizable history is linearizable: the shortest that is not lies where right turns wrong. One that
    // is too hard to tell counts as right; what is found then is wrong, but perhaps not the shortest.
    let (mut right, mut wrong) = (0, lines.len());
    while wrong - right > 1 {
        let middle = right + (wrong - right) / 2;
        match history.replay(&lines, middle, limit) {
            Err(CheckFailure::Violation(found)) => (violation, wrong) = (found, middle),
            Ok(()) | Err(CheckFailure::TooHard) => right = middle,
        }
    }
    let mut explanation = format!("not linearizable from line {wrong} on:\n");
    history.write_line(&mut explanation, lines[wrong - 1]);
    explanation.push_str(&violation.explanation);
    Verdict::NotLinearizable { prefix: wrong, explanation }
}
