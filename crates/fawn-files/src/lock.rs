//! Locks of files and directories that another process may be about to let go of.

use std::fs::{File, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a lock may be held by a process that is about to end, or by a child that this process has just forked: a child has all
/// descriptors of its parent until it begins its own program.
pub const MOMENT: Duration = Duration::from_secs(1);

/// Between two tries.
const AGAIN: Duration = Duration::from_millis(10);

/// Locks a file or a directory for as long as it is open. One that is in use is tried again for so long.
///
/// # Errors
/// It is in use still, or the system does not lock it.
pub fn take(file: &File, patience: Duration) -> Result<(), TryLockError> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => thread::sleep(AGAIN),
            taken => return taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_of_in_time_is_taken_and_what_is_not_is_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let held = File::open(dir.path()).unwrap();
        take(&held, Duration::ZERO).unwrap();
        let other = File::open(dir.path()).unwrap();
        assert!(matches!(take(&other, Duration::from_millis(30)), Err(TryLockError::WouldBlock)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                held.unlock().unwrap();
            });
            take(&other, Duration::from_mins(1)).unwrap();
        });
    }
}
