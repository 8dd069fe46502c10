//! What an experiment is given: its scale, a directory, programs and a meter.

use std::fmt;
use std::path::PathBuf;

use fawn_bench::DeviceReader;
use fawn_meter::Meter;
use fawn_report::Watch;
use serde::{Deserialize, Serialize};

use crate::traces::GordonTraces;

/// How large experiments are, and how long they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Only to see whether all of it works: its figures say nothing.
    Tiny,
    /// A few seconds each: for a first look.
    Small,
    /// The papers' sizes, where the machine has the room.
    Full,
}

impl Scale {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tiny, Self::Small, Self::Full];

    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The programs and the meter that experiments use.
#[derive(Clone, Debug, PartialEq)]
pub struct Tools {
    /// `fawn`, of which servers and clusters are made.
    pub fawn: PathBuf,
    /// `fawn-peers`, where it is installed.
    pub peers: Option<PathBuf>,
    /// Who reads the device.
    pub device: DeviceReader,
    /// What meters the energy; `None`: nothing does.
    pub meter: Option<Meter>,
    /// Where the workloads of the Gordon paper come from.
    pub traces: GordonTraces,
}

/// What an experiment is told.
pub struct Run<'a> {
    /// How large it is to be.
    pub scale: Scale,
    /// A directory of its own, which is empty, and removed afterwards.
    pub dir: PathBuf,
    /// What it may use.
    pub tools: &'a Tools,
    /// Who looks on.
    pub watch: &'a (dyn Watch + Sync),
}

impl Run<'_> {
    /// The one of three that belongs to the scale.
    pub fn pick<T>(&self, tiny: T, small: T, full: T) -> T {
        match self.scale {
            Scale::Tiny => tiny,
            Scale::Small => small,
            Scale::Full => full,
        }
    }
}
