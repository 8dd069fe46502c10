//! The history of each key, which a checker judges to be linearizable or not.

use fawn_check::{CheckFailure, Checker, KvModel, KvOutcome};
use fawn_ring::Key;

use crate::cluster::clients::operation::About;
use crate::cluster::keys::position;

/// The checkers of all keys, and the operations that they know.
pub struct Histories {
    /// By key; `None`: it is judged no more.
    checkers: Vec<Option<Checker<KvModel>>>,
    /// Where the keys lie.
    positions: Vec<Key>,
    /// By client: the operation that it waits for.
    open: Vec<Option<u64>>,
    /// By key: the latest second at which it was told to be gone, by all clocks.
    gone: Vec<u32>,
    next_operation: u64,
    /// Keys whose history is too hard to judge.
    undecided: u64,
}

impl Histories {
    /// Empty histories of so many keys, of which so many clients ask.
    pub fn new(keys: u64, clients: u32) -> Self {
        Self {
            checkers: (0..keys).map(|_| Some(Checker::new())).collect(),
            positions: (0..keys).map(position).collect(),
            open: vec![None; clients as usize],
            gone: vec![0; keys as usize],
            next_operation: 0,
            undecided: 0,
        }
    }

    /// Where the keys lie, by their numbers.
    pub fn positions(&self) -> &[Key] {
        &self.positions
    }

    /// Keys whose history was too hard to judge.
    pub fn undecided(&self) -> u64 {
        self.undecided
    }

    /// The keys that an operation is about, by their numbers.
    pub fn keys_of(&self, about: About) -> Vec<u64> {
        let all = 0..self.positions.len() as u64;
        match about {
            About::Key(key) => vec![key],
            About::Keys(first, count) => (first..first + count).collect(),
            About::Range(_, keys) => all.filter(|key| keys.contains(&self.positions[*key as usize])).collect(),
            About::All => all.collect(),
        }
    }

    /// The number of another operation.
    pub fn new_operation(&mut self) -> u64 {
        self.next_operation += 1;
        self.next_operation - 1
    }

    /// The number of an operation that a client waits for from here on.
    pub fn open(&mut self, client: usize) -> u64 {
        let operation = self.new_operation();
        self.open[client] = Some(operation);
        operation
    }

    /// The number of the operation that a client waits for no more.
    pub fn close(&mut self, client: usize) -> u64 {
        self.open[client].take().expect("what ends was begun")
    }

    /// Tells a key's checker something.
    ///
    /// # Errors
    /// The history is not linearizable.
    pub fn tell(
        &mut self,
        key: u64,
        step: impl FnOnce(&mut Checker<KvModel>) -> Result<(), CheckFailure>,
    ) -> Result<(), String> {
        let Some(checker) = &mut self.checkers[key as usize] else { return Ok(()) };
        match step(checker) {
            Err(CheckFailure::TooHard) => {
                self.checkers[key as usize] = None;
                self.undecided += 1;
                Ok(())
            }
            verdict => verdict.map_err(|failure| failure.to_string()),
        }
    }

    /// By all clocks a key is gone since a second.
    ///
    /// # Errors
    /// The history is not linearizable.
    pub fn tell_gone(&mut self, now_us: u64, key: u64, (operation, second): (u64, u32)) -> Result<(), String> {
        self.gone[key as usize] = self.gone[key as usize].max(second);
        self.tell(key, |checker| checker.complete(now_us, operation, KvOutcome::Gone))
    }

    /// Keys that were told to be gone since a second which `reached` does not know to have come where they lie: nobody has
    /// seen that they are, and by a clock that goes back they are not.
    pub fn gone_unseen(&self, reached: impl Fn(&Key) -> u32) -> Vec<u64> {
        let is_unseen = |key: &u64| {
            let gone = self.gone[*key as usize];
            gone > 0 && reached(&self.positions[*key as usize]) < gone
        };
        (0..self.positions.len() as u64).filter(is_unseen).collect()
    }

    /// Tells all keys' checkers that nothing follows.
    ///
    /// # Errors
    /// A history is not linearizable.
    pub fn end(&mut self) -> Result<(), String> {
        for checker in std::mem::take(&mut self.checkers).into_iter().flatten() {
            match checker.finish() {
                Err(CheckFailure::TooHard) => self.undecided += 1,
                verdict => verdict.map_err(|failure| failure.to_string())?,
            }
        }
        Ok(())
    }

    /// A key is judged no more; whether it was.
    pub fn give_up(&mut self, key: u64) -> bool {
        self.checkers[key as usize].take().is_some()
    }

    /// No key is judged any more.
    pub fn give_up_all(&mut self) {
        self.checkers.fill_with(|| None);
    }
}

#[cfg(test)]
mod tests {
    use fawn_check::KvOperation;

    use super::*;

    #[test]
    fn a_read_of_what_nobody_wrote_is_found_unless_the_key_is_judged_no_more() {
        for is_judged in [true, false] {
            let mut histories = Histories::new(2, 1);
            assert_eq!(histories.keys_of(About::All), [0, 1]);
            assert!(is_judged || histories.give_up(1));
            let operation = histories.open(0);
            histories.tell(1, |checker| checker.invoke(5, operation, KvOperation::Get)).unwrap();
            let (operation, outcome) = (histories.close(0), KvOutcome::Hit { value: 7, version: None });
            let told = histories.tell(1, |checker| checker.complete(9, operation, outcome));
            assert_eq!(told.and_then(|()| histories.end()).is_err(), is_judged);
        }
    }

    #[test]
    fn keys_whose_range_has_not_reached_the_second_at_which_they_were_gone_are_unseen() {
        let mut histories = Histories::new(3, 1);
        for (at_us, (key, second)) in (5..).zip([(0, 10), (1, 20), (1, 15)]) {
            let operation = histories.new_operation();
            histories.tell(key, |checker| checker.invoke(at_us, operation, KvOperation::Delete)).unwrap();
            histories.tell_gone(at_us, key, (operation, second)).unwrap();
        }
        let unseen = |second| histories.gone_unseen(|_| second);
        assert_eq!((unseen(0), unseen(10), unseen(19), unseen(20)), (vec![0, 1], vec![1], vec![1], vec![]));
    }
}
