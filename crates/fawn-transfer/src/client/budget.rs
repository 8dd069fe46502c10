//! How many bytes may be on their way at once: however large each record is, few of them are in memory.

use std::sync::{Arc, Condvar, Mutex};

/// Bytes on their way at most, but for one batch that is larger.
const MOST_BYTES: usize = 64 << 20;

/// The bytes that are on their way. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Budget(Arc<BudgetUse>);

#[derive(Debug, Default)]
struct BudgetUse {
    bytes: Mutex<usize>,
    less: Condvar,
}

impl Budget {
    /// Waits until so many more bytes may be on their way; they are until the permit is dropped.
    pub fn take(&self, bytes: usize) -> Permit {
        let is_full = |used: &mut usize| *used > 0 && *used + bytes > MOST_BYTES;
        let used = self.0.bytes.lock().expect("no thread panics while it counts");
        *self.0.less.wait_while(used, is_full).expect("no thread panics while it counts") += bytes;
        Permit { budget: self.clone(), bytes }
    }
}

/// Bytes that are on their way.
#[derive(Debug)]
pub struct Permit {
    budget: Budget,
    bytes: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.budget.0.bytes.lock().expect("no thread panics while it counts") -= self.bytes;
        self.budget.0.less.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_waits_until_there_is_less_and_one_may_be_larger() {
        let budget = Budget::default();
        let large = budget.take(MOST_BYTES + 1);
        let (sender, taken) = std::sync::mpsc::channel();
        let other = budget.clone();
        let waiting = std::thread::spawn(move || {
            let _permits = [other.take(1), other.take(MOST_BYTES - 1)];
            sender.send(()).unwrap();
        });
        assert!(taken.try_recv().is_err(), "it waits");
        drop(large);
        taken.recv().unwrap();
        waiting.join().unwrap();
        assert_eq!(*budget.0.bytes.lock().unwrap(), 0);
    }
}
