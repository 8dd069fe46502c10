//! How often seldom paths were taken in a run: those that the protocol counts, and what only the whole cluster shows.

use fawn_kv::testing::coverage;
use fawn_kv::testing::coverage::Path;

/// What only the whole cluster shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterPath {
    SplitWhileDown,
    MergeWhileDown,
    MergeInTakeOver,
    PlannedChange,
    PlannedDrop,
    ShownNoMore,
    JumpFollowed,
}

/// In the order of [`ClusterPath`].
const SEEN: [&str; 7] = [
    "a split is decided while a node is down",
    "a merge is decided while a node is down",
    "ranges are merged while a wedge passes on",
    "a chain changes while no member fails",
    "a copy is dropped while no member fails",
    "a get that has changed its key is not shown again what it found, as the key has changed since",
    "a clock that has jumped for long is followed",
];

/// Counts of all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    paths: [u64; coverage::COUNT],
    seen: [u64; SEEN.len()],
}

impl Default for Coverage {
    fn default() -> Self {
        Self { paths: [0; coverage::COUNT], seen: [0; SEEN.len()] }
    }
}

impl Coverage {
    /// Forgets what this thread has counted so far.
    pub fn begin() {
        coverage::take();
    }

    /// Takes over what this thread has counted.
    pub fn end(&mut self) {
        self.paths = coverage::take();
    }

    /// Counts a path that only the whole cluster shows.
    pub fn see(&mut self, what: ClusterPath) {
        self.seen[what as usize] += 1;
    }

    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        let mine = self.paths.iter_mut().chain(&mut self.seen);
        for (mine, theirs) in mine.zip(other.paths.iter().chain(&other.seen)) {
            *mine += theirs;
        }
    }

    /// Every path, and how often it was taken.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = Path::ALL.iter().map(|path| path.what()).chain(SEEN);
        names.zip(self.paths.into_iter().chain(self.seen))
    }
}
