//! The first failure among threads that work for each other.

use std::sync::Mutex;

/// Keeps the first failure. The others are its consequences: a thread that stops closes its channels, and its
/// neighbours stop because of that.
#[derive(Debug, Default)]
pub struct FirstFailure {
    first: Mutex<Option<anyhow::Error>>,
}

/// A neighbour has stopped; why is known there.
#[derive(Debug, thiserror::Error)]
#[error("another connection has failed")]
struct Elsewhere;

impl FirstFailure {
    /// The error of a thread that stops because its neighbour has.
    pub fn elsewhere() -> anyhow::Error {
        anyhow::Error::new(Elsewhere)
    }

    /// Keeps a thread's error, if it is one of its own and the first.
    pub fn keep(&self, result: anyhow::Result<()>) {
        let Err(error) = result else { return };
        let mut first = self.first.lock().expect("no thread panics while it keeps a failure");
        if first.as_ref().is_none_or(anyhow::Error::is::<Elsewhere>) {
            *first = Some(error);
        }
    }

    /// What the last thread gave, once every other has ended; or the first failure.
    ///
    /// # Errors
    /// Some thread failed, or the last one.
    pub fn resolve<R>(&self, last: anyhow::Result<R>) -> anyhow::Result<R> {
        let (value, error) = match last {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error)),
        };
        self.keep(error.map_or(Ok(()), Err));
        match (self.first.lock().expect("no thread panics while it keeps a failure").take(), value) {
            (None, Some(value)) => Ok(value),
            (Some(first), _) => Err(first),
            (None, None) => unreachable!("the error was just kept"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_kept_whatever_comes_first() {
        let failure = FirstFailure::default();
        failure.keep(Err(FirstFailure::elsewhere()));
        failure.keep(Err(anyhow::anyhow!("cause")));
        failure.keep(Err(anyhow::anyhow!("another")));
        failure.keep(Err(FirstFailure::elsewhere()));
        assert_eq!(failure.resolve(Ok(1)).unwrap_err().to_string(), "cause");
        assert_eq!(failure.resolve(Ok(1)).unwrap(), 1);
        assert_eq!(failure.resolve::<u8>(Err(anyhow::anyhow!("last"))).unwrap_err().to_string(), "last");
    }
}
