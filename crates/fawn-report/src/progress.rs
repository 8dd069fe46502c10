//! How far a measurement is, for whoever waits for it.

/// A listener that is told how far a measurement is.
pub trait Watch {
    /// `done` of `total` parts are done; `what` is under way.
    fn progress(&self, done: u64, total: u64, what: &str);
    /// Something that a person should know.
    fn note(&self, line: &str);
}

/// A listener that ignores everything.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Watch for Nobody {
    fn progress(&self, _: u64, _: u64, _: &str) {}
    fn note(&self, _: &str) {}
}
