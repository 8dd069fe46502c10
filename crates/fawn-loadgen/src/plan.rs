//! What a run is asked to do.

use std::time::Duration;

use fawn_meter::Meter;

use crate::choice::Distribution;
use crate::dial::LoadTarget;
use crate::mix::Mix;
use crate::protocol::LoadProtocol;
use crate::ycsb::Workload;

/// All of it.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// Servers; connections go to them in turn. None: there is a calibration alone.
    pub targets: Vec<LoadTarget>,
    /// Event loops, at least 1 and at most one a connection.
    pub threads: usize,
    /// Connections of all loops together.
    pub connections: usize,
    /// Most requests in flight on a connection, at least 1.
    pub depth: usize,
    /// Which commands are sent.
    pub protocol: LoadProtocol,
    /// Keys that are loaded, at least 1.
    pub keys: u64,
    /// Bytes of each value, at least 8.
    pub value_bytes: usize,
    /// Which operations.
    pub mix: Mix,
    /// Which keys are asked for and set.
    pub distribution: Distribution,
    /// The published workload that mix and distribution are of, by whose words the report goes.
    pub workload: Option<Workload>,
    /// How long is measured; zero: only the load is, unless there are `operations`.
    pub time: Duration,
    /// Instead of `time`: so many operations are measured.
    pub operations: Option<u64>,
    /// How long the same is done before.
    pub warm_up: Duration,
    /// Operations by the clock; none: as fast as they are answered.
    pub pace: Option<LoadPace>,
    /// Set every key first.
    pub load: bool,
    /// Sets a second of the load, all loops together; none: as fast as they are answered.
    pub load_rate: Option<f64>,
    /// Processes of the servers, whose CPU time is told.
    pub server_pids: Vec<u32>,
    /// `USER PASSWORD`, for servers that ask for it.
    pub secret: Option<String>,
    /// Longest wait for a connection, and for an answer while some are due.
    pub timeout: Duration,
    /// Measure the generator first, against a server that does nothing.
    pub calibrate: bool,
    /// What meters the energy of load and measurement; none: nothing does.
    pub meter: Option<Meter>,
}

/// An open loop: operations come when they come, answered or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPace {
    /// Operations a second, of all loops together.
    pub rate: f64,
    /// The times between them.
    pub spacing: Spacing,
}

/// The times between operations of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Exponential, as of many independent clients.
    Poisson,
    /// All the same.
    Fixed,
}

impl Spacing {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Fixed => "fixed",
        }
    }
}
