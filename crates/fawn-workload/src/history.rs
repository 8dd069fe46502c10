//! What was written, without a table of it: a few phases, each of which went through the entries in an order that can
//! be computed both ways. So the version that an entry must have follows from its index.

use serde::{Deserialize, Serialize};

use crate::permutation::Permutation;

/// In which order a phase writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each entry once, in an order that looks like chance and is the phase's own.
    Shuffled,
    /// Entries are drawn: any may have been written, or not.
    Drawn,
}

/// One phase of writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePhase {
    /// The version that it writes.
    pub version: u32,
    /// Its order.
    pub order: Order,
    /// So many writes are there for certain; of a drawn phase, none is.
    pub certain: u64,
    /// So many may be.
    pub possible: u64,
}

/// All that was written to a store.
#[derive(Clone, Debug)]
pub struct WriteHistory {
    entries: u64,
    phases: Vec<(WritePhase, Permutation)>,
}

impl WriteHistory {
    /// A history of `entries` entries, at least 1.
    pub fn new(entries: u64, phases: Vec<WritePhase>) -> Self {
        let with_order = |phase: WritePhase| {
            let order = Permutation::new(entries, u64::from(phase.version));
            (phase, order)
        };
        let mut history = Self { entries, phases: phases.into_iter().map(with_order).collect() };
        history.forget();
        history
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The phases, oldest first, those that were overwritten as a whole left out.
    pub fn phases(&self) -> Vec<WritePhase> {
        self.phases.iter().map(|(phase, _)| phase.clone()).collect()
    }

    /// The newest phase.
    pub fn last(&self) -> Option<&WritePhase> {
        self.phases.last().map(|(phase, _)| phase)
    }

    /// Begins a phase; its version.
    pub fn begin(&mut self, order: Order) -> u32 {
        self.forget();
        let version = self.last().map_or(1, |phase| phase.version + 1);
        let phase = WritePhase { version, order, certain: 0, possible: 0 };
        self.phases.push((phase, Permutation::new(self.entries, u64::from(version))));
        version
    }

    /// The entry that a shuffled phase writes next, with its version; `None` when it is over.
    pub fn next(&self) -> Option<(u64, u32)> {
        let (phase, order) = self.phases.last()?;
        let is_over = phase.order == Order::Drawn || phase.certain == self.entries;
        (!is_over).then(|| (order.at(phase.certain), phase.version))
    }

    /// [`next`](Self::next) was written.
    pub fn wrote(&mut self) {
        let (phase, _) = self.phases.last_mut().expect("a phase is under way");
        phase.certain += 1;
        phase.possible = phase.possible.max(phase.certain);
    }

    /// The entries of the next writes, at most `most`, are added to `entries`, and may be found from now on in the version
    /// that is returned; where no shuffled phase is under way, one begins. [`wrote`](Self::wrote) follows for each.
    pub fn announce(&mut self, most: u64, entries: &mut Vec<u64>) -> u32 {
        if self.next().is_none() {
            self.begin(Order::Shuffled);
        }
        let (phase, order) = self.phases.last_mut().expect("a phase is under way");
        let end = self.entries.min(phase.certain + most);
        entries.extend((phase.certain..end).map(|position| order.at(position)));
        phase.possible = phase.possible.max(end);
        phase.version
    }

    /// An entry that was drawn was written.
    pub fn drew(&mut self) {
        let (phase, _) = self.phases.last_mut().expect("a phase is under way");
        phase.possible = self.entries;
    }

    /// The phases as they must be taken for after a crash, of which the last `unsure` writes may be lost.
    pub fn if_it_crashed(&self, unsure: u64) -> Vec<WritePhase> {
        let mut phases = self.phases();
        let (mut unsure, last) = (unsure, phases.len().saturating_sub(1));
        for (number, phase) in phases.iter_mut().enumerate().rev() {
            let lost = phase.certain.min(unsure);
            if lost > 0 || number == last {
                // The last one goes on until the next look.
                phase.possible = self.entries;
            }
            phase.certain -= lost;
            unsure -= lost;
        }
        phases
    }

    /// The oldest version that entry `index` may have now; `None`: it may be absent.
    #[inline]
    pub fn least(&self, index: u64) -> Option<u32> {
        if index >= self.entries {
            return None;
        }
        for (phase, order) in self.phases.iter().rev() {
            let has_it = phase.order == Order::Shuffled
                && phase.certain > 0
                && (phase.certain == self.entries || order.position(index) < phase.certain);
            if has_it {
                return Some(phase.version);
            }
        }
        None
    }

    /// Whether entry `index` may be found in this version, where [`least`](Self::least) was `least` when it was looked
    /// up.
    #[inline]
    pub fn admits(&self, index: u64, least: Option<u32>, version: Option<u32>) -> bool {
        if version == least {
            return true;
        }
        let Some(version) = version.filter(|version| least.is_none_or(|least| *version > least)) else {
            return false;
        };
        let may_have = |(phase, order): &(WritePhase, Permutation)| {
            phase.version == version
                && index < self.entries
                && phase.possible > 0
                && (phase.order == Order::Drawn || order.position(index) < phase.possible)
        };
        self.phases.iter().rev().any(may_have)
    }

    /// Drops what was overwritten as a whole, twice: the end of the second time may not be durable yet.
    fn forget(&mut self) {
        let is_whole = |(phase, _): &(WritePhase, Permutation)| phase.certain == self.entries;
        let newest = self.phases.iter().rposition(is_whole);
        let before = newest.and_then(|newest| self.phases[..newest].iter().rposition(is_whole));
        if let Some(before) = before {
            self.phases.drain(..before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history beside a table of versions: what the table has must be what the history says.
    #[test]
    fn the_version_of_every_entry_follows() {
        let entries = 500;
        let mut history = WriteHistory::new(entries, Vec::new());
        let mut table = vec![None; entries as usize];
        for writes in [entries, 120, 300, entries, entries, 77] {
            history.begin(Order::Shuffled);
            for _ in 0..writes {
                let (index, version) = history.next().unwrap();
                table[index as usize] = Some(version);
                history.wrote();
            }
            assert_eq!(history.next().is_none(), writes == entries);
            for index in 0..entries {
                let held = table[index as usize];
                assert_eq!(history.least(index), held);
                assert!(history.admits(index, held, held));
                assert!(!history.admits(index, held, None));
                assert!(!history.admits(index, held, Some(99)));
                let older = held.map(|version| version - 1).filter(|version| *version > 0);
                assert!(older.is_none() || !history.admits(index, held, older));
            }
        }
        assert_eq!(history.phases().len(), 3, "what was overwritten as a whole, twice, is forgotten");
        assert_eq!(history.least(entries), None);
        assert!(!history.admits(entries, None, Some(4)), "what was never written is not there");
    }

    #[test]
    fn after_a_crash_what_was_written_last_may_be_there_or_not() {
        let mut history = WriteHistory::new(100, Vec::new());
        history.begin(Order::Shuffled);
        (0..60).for_each(|_| history.wrote());
        let order = Permutation::new(100, 1);
        let after = WriteHistory::new(100, history.if_it_crashed(20));
        let (sure, unsure) = (order.at(39), order.at(40));
        assert_eq!((after.least(sure), after.least(unsure)), (Some(1), None));
        assert!(after.admits(unsure, None, Some(1)) && after.admits(unsure, None, None));
        assert!(!after.admits(sure, Some(1), None));
    }

    #[test]
    fn a_crash_early_in_a_phase_may_undo_the_end_of_the_one_before() {
        let mut history = WriteHistory::new(100, Vec::new());
        for writes in [100, 100, 5] {
            history.begin(Order::Shuffled);
            (0..writes).for_each(|_| history.wrote());
        }
        let after = WriteHistory::new(100, history.if_it_crashed(15));
        let (first, last) = (Permutation::new(100, 2).at(0), Permutation::new(100, 2).at(99));
        assert_eq!((after.least(first), after.least(last)), (Some(2), Some(1)));
        assert!((1..=3).all(|version| after.admits(last, Some(1), Some(version))));
    }

    #[test]
    fn drawn_entries_may_have_either_version() {
        let mut history = WriteHistory::new(100, Vec::new());
        history.begin(Order::Shuffled);
        (0..100).for_each(|_| history.wrote());
        assert_eq!(history.begin(Order::Drawn), 2);
        assert!(!history.admits(5, history.least(5), Some(2)), "none was written yet");
        history.drew();
        assert_eq!(history.least(5), Some(1));
        assert!(history.admits(5, Some(1), Some(1)) && history.admits(5, Some(1), Some(2)));
    }

    #[test]
    fn a_version_that_came_meanwhile_is_taken() {
        let mut history = WriteHistory::new(10, Vec::new());
        history.begin(Order::Shuffled);
        let (index, _) = history.next().unwrap();
        let before = history.least(index);
        history.wrote();
        assert!(before.is_none() && history.admits(index, before, Some(1)) && history.admits(index, before, None));
    }

    #[test]
    fn what_is_announced_may_be_found_and_need_not_until_it_is_written() {
        let mut history = WriteHistory::new(10, Vec::new());
        let mut entries = Vec::new();
        assert_eq!(history.announce(4, &mut entries), 1);
        let first = entries[0];
        assert_eq!((entries.len(), history.least(first)), (4, None));
        assert!(history.admits(first, None, Some(1)) && history.admits(first, None, None));
        (0..4).for_each(|_| history.wrote());
        assert_eq!(history.least(first), Some(1));
        entries.clear();
        history.announce(100, &mut entries);
        assert_eq!(entries.len(), 6, "a phase ends where all are written");
        (0..6).for_each(|_| history.wrote());
        entries.clear();
        assert_eq!((history.announce(1, &mut entries), entries.len()), (2, 1));
    }
}
