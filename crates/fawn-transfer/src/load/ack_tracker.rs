//! Which records the server has acknowledged, and how far into the input all of them are.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

/// A place between two lines of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputPosition {
    /// Bytes before it.
    pub offset: u64,
    /// Lines before it.
    pub line: u64,
    /// Records before it that were acknowledged (skipped lines are not counted).
    pub records: u64,
    /// CRC-32C of the bytes before it.
    pub crc32c: u32,
}

/// The end of a line of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Bytes up to it, with the line end.
    pub offset: u64,
    /// The line's number, from 1.
    pub line: u64,
    /// CRC-32C of these bytes.
    pub crc32c: u32,
}

/// What has happened to the records sent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferCounts {
    /// Records acknowledged.
    pub loaded: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Records that the server found too large.
    pub too_large: u64,
}

/// What an answer said of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Stored.
    Loaded {
        /// Bytes of key and value.
        bytes: u64,
    },
    /// Too large, and that is to be skipped.
    TooLarge,
}

/// Shared by the reader of the input and the connections.
#[derive(Debug)]
pub struct AckTracker {
    state: Mutex<AckState>,
}

#[derive(Debug)]
struct AckState {
    /// Everything before this place was acknowledged or skipped.
    done: InputPosition,
    /// Number of the record after `done`.
    first: u64,
    /// The records after `done`, in the order of the input.
    open: VecDeque<PendingRecord>,
    transferred: TransferCounts,
}

#[derive(Debug)]
struct PendingRecord {
    /// Where the record ends.
    end: End,
    verdict: Option<Verdict>,
}

impl AckTracker {
    /// A acks of an input that is done up to `start`.
    pub fn new(start: InputPosition) -> Self {
        let state = AckState { done: start, first: 0, open: VecDeque::new(), transferred: TransferCounts::default() };
        Self { state: Mutex::new(state) }
    }

    /// Enters the next record, which ends there. Gives its number.
    pub fn enter(&self, end: End) -> u64 {
        let mut state = self.lock();
        state.open.push_back(PendingRecord { end, verdict: None });
        state.first + state.open.len() as u64 - 1
    }

    /// Enters what the server said about some records, each named by its number.
    pub fn settle(&self, verdicts: &[(u64, Verdict)]) {
        let mut state = self.lock();
        for &(number, verdict) in verdicts {
            let index = number.checked_sub(state.first).expect("a record is settled once") as usize;
            let entry = &mut state.open[index];
            assert!(entry.verdict.is_none(), "a record is settled once");
            entry.verdict = Some(verdict);
            match verdict {
                Verdict::Loaded { bytes } => {
                    state.transferred.loaded += 1;
                    state.transferred.bytes += bytes;
                }
                Verdict::TooLarge => state.transferred.too_large += 1,
            }
        }
        while let Some(PendingRecord { end: End { offset, line, crc32c }, verdict: Some(verdict) }) = state.open.front()
        {
            let loaded = matches!(verdict, Verdict::Loaded { .. }) as u64;
            let records = state.done.records + loaded;
            state.done = InputPosition { offset: *offset, line: *line, records, crc32c: *crc32c };
            state.open.pop_front();
            state.first += 1;
        }
    }

    /// Everything before this place is acknowledged or skipped.
    pub fn done(&self) -> InputPosition {
        self.lock().done
    }

    /// The counts so far.
    pub fn transferred(&self) -> TransferCounts {
        self.lock().transferred
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, AckState> {
        self.state.lock().expect("no thread panics while it holds the acks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADED: Verdict = Verdict::Loaded { bytes: 10 };

    #[test]
    fn nothing_counts_as_done_behind_a_record_that_is_not_acknowledged() {
        let acks = AckTracker::new(InputPosition { offset: 100, line: 7, records: 7, crc32c: 70 });
        let end = |line: u32| End { offset: u64::from(100 + 20 * line), line: u64::from(7 + line), crc32c: 70 + line };
        let numbers: Vec<u64> = (1..=4).map(|line| acks.enter(end(line))).collect();
        acks.settle(&[(numbers[1], LOADED), (numbers[3], LOADED)]);
        assert_eq!(acks.done(), InputPosition { offset: 100, line: 7, records: 7, crc32c: 70 });
        acks.settle(&[(numbers[0], LOADED)]);
        assert_eq!(acks.done(), InputPosition { offset: 140, line: 9, records: 9, crc32c: 72 });
        acks.settle(&[(numbers[2], Verdict::TooLarge)]);
        assert_eq!(acks.done(), InputPosition { offset: 180, line: 11, records: 10, crc32c: 74 });
        assert_eq!(acks.transferred(), TransferCounts { loaded: 3, bytes: 30, too_large: 1 });
    }

    #[test]
    #[should_panic(expected = "settled once")]
    fn a_record_cannot_be_settled_twice() {
        let acks = AckTracker::new(InputPosition::default());
        let number = acks.enter(End::default());
        acks.settle(&[(number, LOADED)]);
        acks.settle(&[(number, LOADED)]);
    }
}
