//! What a person sees while records move: a program gives it, on a terminal or nowhere.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bad records that are reported one by one; later ones are only counted.
const NOTED: u64 = 100;

/// What a transfer counts, and how much of it there is, if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferExtent {
    /// Bytes of a file.
    Bytes(Option<u64>),
    /// Records.
    Records(Option<u64>),
    /// Parts of a cluster's key space.
    Ranges(u64),
}

/// How far a transfer is.
pub trait Progress: Sync {
    /// Leaves out of the rate what was done before.
    fn start_at(&self, position: u64);
    /// How far it is, and a text beside.
    fn update(&self, position: u64, message: String);
    /// A line that a person should read.
    fn note(&self, line: &str);
    /// It is over.
    fn finish(&self);
}

/// What a program shows of a transfer.
pub trait Ui {
    /// Shows how far something is.
    fn bar(&self, extent: TransferExtent) -> Box<dyn Progress>;

    /// The same. If a signal ends the program from now on, it calls `interrupted` first, and says what that returns: how to go on.
    ///
    /// # Errors
    /// The system gives no signals.
    fn begin(
        &self,
        extent: TransferExtent,
        interrupted: Box<dyn FnOnce() -> String + Send>,
    ) -> anyhow::Result<Box<dyn Progress>>;
}

/// Lines for the user while records move.
pub(crate) struct Notes<'a> {
    /// The bar that they must not spoil.
    pub progress: &'a dyn Progress,
    bad: AtomicU64,
}

impl<'a> Notes<'a> {
    /// Notes above this bar.
    pub fn new(progress: &'a dyn Progress) -> Self {
        Self { progress, bad: AtomicU64::new(0) }
    }

    /// Prints a line.
    pub fn say(&self, line: &str) {
        self.progress.note(line);
    }

    /// Prints a line about a bad record, unless there were very many.
    pub fn bad(&self, line: &str) {
        match self.bad.fetch_add(1, Ordering::Relaxed) {
            before if before < NOTED => self.say(line),
            NOTED => self.say("fawn: further bad records are only counted"),
            _ => {}
        }
    }
}
