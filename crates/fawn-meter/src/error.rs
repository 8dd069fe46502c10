//! Why there are no joules, each with what to do next.

use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a meter.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// The kernel hides the processor's counters.
    #[error(
        "only root may read {path}: run this as root, or give others access with `sudo chmod a+r {path}`",
        path = .0.display()
    )]
    RootAlone(PathBuf),
    /// A file that cannot be read.
    #[error("cannot read {path} ({source}): is the meter still there?", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that says something else than it should.
    #[error("{path} says {found:?}, which is not {expected}: choose another meter", path = .path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
    /// There is no such meter.
    #[error("{0}")]
    Absent(String),
    /// Several sensors have the name.
    #[error("{name} matches several sensors: choose one of {choices}")]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// How each is named alone.
        choices: String,
    },
    /// A laptop on mains.
    #[error("the battery is not discharging ({0}), so its gauge does not show the machine's power: unplug the machine")]
    OnMains(String),
    /// A plug that does not answer.
    #[error("{url} did not answer ({reason}): is it the plug's address, and is the plug on this network?")]
    Silent {
        /// What was asked.
        url: String,
        /// What happened.
        reason: String,
    },
    /// A plug that wants to know who asks.
    #[error(
        "{0} requires a password, which is not supported: disable it in the plug's settings during the measurement"
    )]
    Password(String),
    /// A plug that answers something else.
    #[error("{url} answered {found}: is it {expected}?")]
    Answer {
        /// What was asked.
        url: String,
        /// What came.
        found: String,
        /// What kind of plug was expected.
        expected: &'static str,
    },
    /// The readings have a hole.
    #[error("{instrument} had no reading for {seconds:.1} s of the measurement ({reason}): measure again")]
    Gap {
        /// The instrument.
        instrument: String,
        /// For so long.
        seconds: f64,
        /// What happened.
        reason: String,
    },
    /// A file of measurements that does not serve.
    #[error("{path}: {reason}", path = .path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What is wrong, with what to do.
        reason: String,
    },
    /// A model that does not serve.
    #[error("{path}: {reason}", path = .path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong, with what to do.
        reason: String,
    },
}

impl MeterError {
    /// Of a file that could not be read.
    pub(super) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Unreadable { path, source }
    }

    /// Whether it may be over the next time that the instrument is read.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Silent { .. } | Self::Answer { .. } => true,
            Self::Unreadable { source, .. } => {
                // Sensors on a slow bus say so when they are busy.
                matches!(
                    source.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                )
            }
            _ => false,
        }
    }
}
