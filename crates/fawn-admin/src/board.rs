//! Who tells what of a process.

use crate::page::Page;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A part of a process that has something to tell. Both calls may wait for a moment: they come from the admin port's thread.
pub trait Source: Send + Sync {
    /// Puts its metrics on a page.
    fn measure(&self, page: &mut Page);

    /// Why it does not serve as it should, in sentences; none if it does.
    fn troubles(&self) -> Vec<String>;
}

/// What a process has to tell. Clones are of the same board.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<RegisteredSource>>);

#[derive(Default)]
struct RegisteredSource {
    sources: Vec<Arc<dyn Source>>,
    /// What the process waits for before it serves.
    waits_for: Option<String>,
}

impl Board {
    /// One of a process that has yet to serve.
    pub fn new() -> Self {
        let board = Self::default();
        board.waits_for("it starts");
        board
    }

    fn with<T>(&self, look: impl FnOnce(&mut RegisteredSource) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a source; it stays as long as the process.
    pub fn add(&self, source: Arc<dyn Source>) {
        self.with(|posted| posted.sources.push(source));
    }

    /// The process does not serve yet: why, in a clause.
    pub fn waits_for(&self, why: &str) {
        self.with(|posted| posted.waits_for = Some(why.to_owned()));
    }

    /// The process serves from here on, as far as its sources do.
    pub fn serves(&self) {
        self.with(|posted| posted.waits_for = None);
    }

    /// Puts the metrics of all sources on a page.
    pub fn measure(&self, mut page: Page) -> Page {
        for source in self.with(|posted| posted.sources.clone()) {
            source.measure(&mut page);
        }
        page
    }

    /// Why the process does not serve as it should.
    pub fn troubles(&self) -> Vec<String> {
        let (sources, waits_for) = self.with(|posted| (posted.sources.clone(), posted.waits_for.clone()));
        waits_for.into_iter().chain(sources.iter().flat_map(|source| source.troubles())).collect()
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sick;

    impl Source for Sick {
        fn measure(&self, _: &mut Page) {}

        fn troubles(&self) -> Vec<String> {
            vec!["it is sick".to_owned()]
        }
    }

    #[test]
    fn a_process_serves_once_it_says_so_and_nothing_is_wrong() {
        let board = Board::new();
        assert_eq!(board.troubles(), ["it starts"]);
        board.clone().serves();
        assert_eq!(board.troubles(), [""; 0]);
        board.add(Arc::new(Sick));
        assert_eq!(board.troubles(), ["it is sick"]);
    }
}
