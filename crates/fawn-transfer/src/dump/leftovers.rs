//! What a dump leaves behind when it ends before its time, by a signal or an error: what the same command can go on with, or
//! nothing.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// How far the dump is.
#[derive(Debug, Default)]
pub enum DumpPhase {
    /// Nothing of it is there.
    #[default]
    Nothing,
    /// It writes into a stream, where what is written stays.
    Streaming,
    /// These files are there, and nobody can go on with them.
    Begun(Vec<PathBuf>),
    /// What is there says how far it came.
    Resumable,
    /// The file has its name.
    Complete,
}

/// The phase, as the dump and whoever ends it see it.
#[derive(Clone, Debug, Default)]
pub struct Leftovers(Arc<Mutex<DumpPhase>>);

impl Leftovers {
    /// What a program does that is interrupted: it leaves what is of use, and says how to go on.
    pub fn interrupted(&self) -> Box<dyn FnOnce() -> String + Send> {
        let leftovers = self.clone();
        Box::new(move || {
            let phase = leftovers.lock();
            let what = clean_up(&phase);
            // Nobody goes on behind this.
            std::mem::forget(phase);
            what.to_owned()
        })
    }

    /// The phase, which stays as it is until this is dropped.
    pub fn lock(&self) -> MutexGuard<'_, DumpPhase> {
        self.0.lock().expect("no thread panics while it holds the phase")
    }

    /// The dump has failed: removes what is of no use.
    pub fn fail(&self) {
        clean_up(&self.lock());
    }
}

/// Removes what is of no use; what to do after an interruption.
fn clean_up(phase: &DumpPhase) -> &'static str {
    match phase {
        DumpPhase::Nothing => "nothing was written; run the same command again to start from the beginning",
        DumpPhase::Streaming => "the output is not complete; run the same command again to start from the beginning",
        DumpPhase::Begun(files) => {
            for file in files {
                // One that is not there, or cannot be removed, says for itself that it is not complete.
                let _ = std::fs::remove_file(file);
            }
            "nothing was kept; run the same command again to start from the beginning"
        }
        DumpPhase::Resumable => "run the same command again to continue, or add --restart to start from the beginning",
        DumpPhase::Complete => "the dump was already complete",
    }
}
