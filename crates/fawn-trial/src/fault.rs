//! What goes wrong: the kinds of faults, and what each wants of the cluster.

use std::fmt;

use serde::Serialize;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A process is killed, and started again a while later.
    Kill,
    /// A process is stopped for longer than a lease, and goes on as if nothing had been.
    Pause,
    /// A host reaches nobody.
    Partition,
    /// Two members do not reach each other; both reach the managers.
    Partial,
    /// What one host says to another is lost; the other way it is not.
    OneWay,
    /// Two members do not reach each other for long, one way or both; every request is answered all the same.
    Severed,
    /// A member and the leading manager do not reach each other for long, one way or both; the other managers are a way around.
    LeaderLink,
    /// Client programs and a process do not reach each other for long, one way or both; the other processes are a way around.
    ClientLink,
    /// What a host says and hears takes long.
    Slow,
    /// Some of what a host says and hears is lost, doubled, or overtaken.
    Lossy,
    /// A node's disk is full.
    DiskFull,
    /// Every process is killed at once, and all are started again.
    RestartAll,
    /// Every process is asked to stop and started again, one after the other, each once every range is whole.
    Rolling,
    /// The leading manager is killed.
    Leader,
    /// A node joins, and in the middle of it the leading manager is killed.
    LeaderJoin,
    /// A node joins.
    Join,
    /// A node is drained, removed and stopped.
    Leave,
    /// A node is killed, and comes back under its name with an empty disk.
    Wipe,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Kill,
        Self::Pause,
        Self::Partition,
        Self::Partial,
        Self::OneWay,
        Self::Severed,
        Self::LeaderLink,
        Self::ClientLink,
        Self::Slow,
        Self::Lossy,
        Self::DiskFull,
        Self::RestartAll,
        Self::Rolling,
        Self::Leader,
        Self::LeaderJoin,
        Self::Join,
        Self::Leave,
        Self::Wipe,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::Partition => "partition",
            Self::Partial => "partial",
            Self::OneWay => "one-way",
            Self::Severed => "severed",
            Self::LeaderLink => "leader-link",
            Self::ClientLink => "client-link",
            Self::Slow => "slow",
            Self::Lossy => "lossy",
            Self::DiskFull => "disk-full",
            Self::RestartAll => "restart-all",
            Self::Rolling => "rolling",
            Self::Leader => "leader",
            Self::LeaderJoin => "leader-join",
            Self::Join => "join",
            Self::Leave => "leave",
            Self::Wipe => "wipe",
        }
    }

    /// Whether another fault may be in force at the same time: it breaks one or two hosts, and is mended at once.
    pub fn may_overlap(self) -> bool {
        matches!(
            self,
            Self::Kill
                | Self::Pause
                | Self::Partition
                | Self::Partial
                | Self::OneWay
                | Self::Slow
                | Self::Lossy
                | Self::DiskFull
        )
    }

    /// Whether it needs a cluster in which nothing is missing: it could destroy the last copy of something, or what it does is
    /// judged by itself.
    pub fn needs_level(self) -> bool {
        self.demands_answers() || matches!(self, Self::Leave | Self::Wipe)
    }

    /// Whether every request has to be answered while it lasts.
    pub fn demands_answers(self) -> bool {
        matches!(self, Self::Severed | Self::LeaderLink | Self::ClientLink)
    }

    /// Whether it makes sense of one process alone.
    pub fn suits_single(self) -> bool {
        matches!(
            self,
            Self::Kill | Self::Pause | Self::Partition | Self::Slow | Self::Lossy | Self::DiskFull | Self::Rolling
        )
    }

    /// How often it is drawn, beside the others.
    pub fn weight(self) -> u64 {
        match self {
            Self::Kill => 8,
            Self::Pause | Self::Partition | Self::Partial | Self::OneWay => 5,
            Self::Slow | Self::Lossy | Self::Leader | Self::DiskFull => 3,
            Self::Join | Self::Leave | Self::LeaderJoin | Self::Severed | Self::LeaderLink | Self::ClientLink => 2,
            Self::RestartAll | Self::Rolling | Self::Wipe => 1,
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
