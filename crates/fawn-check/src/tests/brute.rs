//! The second checker: every order that respects time, each explained with no state of the first one's. It numbers the
//! versions of an order one by one and leaves blank those that nobody was told, where the model keeps bounds.

use crate::KvOperation::{
    Add, CompareAndSwap, Decrement, Delete, Expire, Extend, Get, Increment, Invalidate, Measure, Put, Replace, Sum,
    Swap, Take, Touch, Win,
};
use crate::KvOutcome::{
    Deleted, Exists, Gone, Hit, Item, Made, Miss, NonNumeric, NotFound, NotStored, Number, Refused, Stored, Touched,
};
use crate::generate::ValueText;
use crate::{End, History, KvModel, KvOutcome, RecordedOperation};

/// Most operations that this is meant for.
pub const MOST: usize = 8;

pub fn is_linearizable(history: &History) -> bool {
    assert!(history.operations().len() <= MOST);
    extend(history.operations(), &mut Vec::new())
}

fn completed(operation: &RecordedOperation<KvModel>) -> Option<(u64, KvOutcome)> {
    match operation.end {
        End::Completed { time, outcome } => Some((time, outcome)),
        End::Unknown => None,
    }
}

/// Whether some order that begins with `order` has all completed operations and explains them.
fn extend(operations: &[RecordedOperation<KvModel>], order: &mut Vec<usize>) -> bool {
    if !explains(operations, order) {
        return false; // nor does anything that begins so
    }
    let left: Vec<usize> = (0..operations.len()).filter(|number| !order.contains(number)).collect();
    if left.iter().all(|&number| completed(&operations[number]).is_none()) {
        return true;
    }
    left.iter().any(|&next| {
        let is_due =
            |&other: &usize| completed(&operations[other]).is_some_and(|(time, _)| time < operations[next].invoked);
        if left.iter().any(is_due) {
            return false; // another one has completed before this was invoked, and must come first
        }
        order.push(next);
        let found = extend(operations, order);
        order.pop();
        found
    })
}

/// What is there while an order runs.
struct Run {
    /// The numbers of all versions ever written, in order; `None` for those that nobody was told.
    versions: Vec<Option<u64>>,
    /// Value and index of the version that is there, and what goes with it.
    there: Option<(u64, usize, ValueText)>,
}

impl Run {
    fn write(&mut self, value: u64, version: Option<u64>) -> bool {
        self.write_text(value, ValueText::of(value), version)
    }

    fn write_text(&mut self, value: u64, text: ValueText, version: Option<u64>) -> bool {
        self.there = Some((value, self.versions.len(), text));
        self.versions.push(version);
        true
    }

    /// Whether the version at `index` can be `version`; if so, it is from now on.
    fn shows(&mut self, index: usize, version: u64) -> bool {
        *self.versions[index].get_or_insert(version) == version
    }

    fn does(&mut self, operation: &RecordedOperation<KvModel>) -> bool {
        let outcome = completed(operation).map(|(_, outcome)| outcome);
        if outcome == Some(Refused) {
            return true;
        }
        // What a write was told, if the outcome is that of one.
        let told = match outcome {
            None => Some(None),
            Some(Stored { version } | Number { version, .. } | Made { version }) => Some(version),
            Some(_) => None,
        };
        match (operation.operation, self.there) {
            (Get, there) => match (outcome, there) {
                (None, _) | (Some(Miss), None) => true,
                (Some(Hit { value, version }), Some((current, index, _))) => {
                    value == current && version.is_none_or(|version| self.shows(index, version))
                }
                _ => false,
            },
            (Put { value }, _) | (Add { value }, None) | (Replace { value }, Some(_)) => {
                told.is_some_and(|version| self.write(value, version))
            }
            (Add { .. }, Some(_)) | (Replace { .. } | Extend { vivify: false, .. }, None) => outcome == Some(NotStored),
            (Delete, _) if outcome == Some(Gone) => {
                self.there = None;
                true
            }
            (Delete, Some(_)) => {
                self.there = None;
                matches!(outcome, None | Some(Deleted))
            }
            (Expire { value }, there) => {
                self.there = there.filter(|(current, ..)| *current != value);
                matches!(outcome, None | Some(Gone))
            }
            (Touch, None) => matches!(outcome, None | Some(NotFound)),
            (Touch, Some(_)) => matches!(outcome, None | Some(Touched)),
            (
                Delete | CompareAndSwap { .. } | Increment { .. } | Decrement { initial: None, .. } | Invalidate,
                None,
            ) => outcome == Some(NotFound),
            (CompareAndSwap { expected, value }, Some((_, index, _))) => match told {
                Some(version) => self.shows(index, expected) && self.write(value, version),
                None => outcome == Some(Exists) && self.versions[index] != Some(expected),
            },
            (Increment { .. } | Decrement { .. }, Some((_, _, ValueText { length: 0, .. }))) => {
                outcome == Some(NonNumeric)
            }
            (Increment { by }, Some((value, _, text))) => {
                told.is_some_and(|version| self.counts(value.wrapping_add(by), text, outcome, version))
            }
            (Decrement { by, .. }, Some((value, _, text))) => {
                told.is_some_and(|version| self.counts(value.saturating_sub(by), text, outcome, version))
            }
            (Decrement { initial: Some(initial), .. }, None) => {
                told.is_some_and(|version| self.counts(initial, ValueText::of(initial), outcome, version))
            }
            (Extend { digit, before, .. }, Some((value, _, text))) => {
                let (value, text) = text.extended(value, digit, before);
                told.is_some_and(|version| self.write_text(value, text, version))
            }
            (Extend { digit, .. }, None) => told.is_some_and(|version| self.write(digit, version)),
            (Invalidate, Some((value, _, text))) => {
                self.write_text(value, ValueText { stale: true, won: false, ..text }, None);
                matches!(outcome, None | Some(Deleted))
            }
            (Take | Swap { .. }, there) => {
                let is_shown = match (outcome, there) {
                    (None, _) | (Some(Miss), None) => true,
                    (Some(Hit { value, version }), Some((current, index, _))) => {
                        value == current && version.is_none_or(|version| self.shows(index, version))
                    }
                    _ => false,
                };
                self.there = None;
                let Swap { value } = operation.operation else { return is_shown };
                is_shown && self.write(value, None)
            }
            (Sum { .. }, Some((value, _, text))) if text.length != ValueText::of(value).length => {
                outcome == Some(NonNumeric)
            }
            (Sum { by }, there) => {
                let sum = there.map_or(0, |(value, ..)| value).wrapping_add(by);
                told.is_some_and(|version| self.counts(sum, ValueText::of(sum), outcome, version))
            }
            (Measure, there) => match outcome {
                None => true,
                Some(Number { value, version: None }) => {
                    value == there.map_or(0, |(_, _, text)| u64::from(text.length))
                }
                Some(_) => false,
            },
            (Win { recache, vivify }, there) => self.wins(recache, vivify, there, outcome),
        }
    }

    fn counts(&mut self, sum: u64, text: ValueText, outcome: Option<KvOutcome>, version: Option<u64>) -> bool {
        let is_sum = match outcome {
            None => true,
            Some(Number { value, .. }) => value == sum,
            Some(_) => false,
        };
        is_sum && self.write_text(sum, text.counted(sum), version)
    }

    fn wins(
        &mut self,
        recache: bool,
        vivify: bool,
        there: Option<(u64, usize, ValueText)>,
        outcome: Option<KvOutcome>,
    ) -> bool {
        let Some((current, index, text)) = there else {
            return match outcome {
                Some(Miss) => !vivify,
                Some(Made { version }) if vivify => {
                    self.write_text(0, ValueText { length: 0, stale: false, won: true }, version)
                }
                None if vivify => self.write_text(0, ValueText { length: 0, stale: false, won: true }, None),
                outcome => outcome.is_none(),
            };
        };
        let wins = !text.won && (text.stale || recache);
        self.there = Some((current, index, ValueText { won: text.won || wins, ..text }));
        match outcome {
            None => true,
            Some(Item { value, version, stale, won, taken }) => {
                (value, stale, won, taken) == (current, text.stale, wins, text.won)
                    && version.is_none_or(|version| self.shows(index, version))
            }
            Some(_) => false,
        }
    }
}

fn explains(operations: &[RecordedOperation<KvModel>], order: &[usize]) -> bool {
    let mut run = Run { versions: Vec::new(), there: None };
    let explained = order.iter().all(|&number| run.does(&operations[number]));
    let known: Vec<u64> = run.versions.iter().copied().flatten().collect();
    explained && known.first() != Some(&0) && known.windows(2).all(|pair| pair[0] < pair[1])
}
