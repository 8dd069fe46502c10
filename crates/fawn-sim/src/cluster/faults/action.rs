//! What happens to a cluster beside what it does by itself: faults, and in scenarios what clients ask. Each action is plain
//! data with a line of text, so that a run can be written down, made smaller and run again.

use fawn_check::KvOperation;

use crate::cluster::network::party::LinkSet;

/// The kinds of faults, as they are counted.
pub const KINDS: [&str; 21] = [
    "crash",
    "power failure",
    "lost or other disk",
    "change of leader",
    "manager restart",
    "partition",
    "one-way partition",
    "pause",
    "bad network",
    "clock jump",
    "drain",
    "drained stays",
    "other settings",
    "held back",
    "front-end crash",
    "front-end pause",
    "front-end cut off",
    "full disk",
    "bad read",
    "failed disk",
    "severed",
];

/// One action. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// A node crashes, and starts again after a while. `dice` decides what it loses of unsynced writes.
    Crash { node: usize, for_us: u64, dice: u64 },
    /// A node crashes as soon as it says something of this kind.
    CrashAt { node: usize, kind: &'static str, for_us: u64, dice: u64 },
    /// For a while only the manager that leads hears what is agreed.
    Lag { for_us: u64 },
    /// All nodes crash.
    PowerFailure { dice: u64 },
    /// A node crashes and loses its disk, if others have all that is on it.
    LoseDisk { node: usize, for_us: u64, dice: u64 },
    /// A node crashes, and starts for a while with a disk that has something of another cluster, then with its own again.
    OtherDisk { node: usize, for_us: u64, dice: u64 },
    /// Another manager leads, or none.
    Lead { manager: Option<usize> },
    /// A manager starts anew, and another one leads.
    RestartManager { manager: usize },
    /// Some do not reach some others for a while.
    Cut { links: LinkSet, for_us: u64 },
    /// Some do not reach some others until all is mended.
    Sever { links: LinkSet },
    /// A node pauses.
    Pause { node: usize, for_us: u64 },
    /// A node pauses when it reads from flash next.
    PauseAtRead { node: usize, for_us: u64 },
    /// Of a thousand messages so many are lost, doubled, slow, from here on.
    Network { lost: u64, doubled: u64, slow: u64 },
    /// A node's clock of the day jumps.
    Clock { node: usize, ahead_us: u64 },
    /// A node's clock of the day shows another time for a while: so many seconds later, or earlier.
    ClockJump { node: usize, off_s: i64, for_us: u64 },
    /// The operator has a node leave.
    Drain { node: usize },
    /// The operator has a node stay.
    Stay { node: usize },
    /// The operator wants chains of so many members.
    Replicas { count: u32 },
    /// The operator sets other rules: members that a write needs, whether reads are spread, and writes are acknowledged in
    /// memory.
    Rules { least: u8, spread: bool, in_memory: bool },
    /// Messages of one kind, to or from a node, come later than all else.
    HoldBack { node: usize, kind: &'static str, for_us: u64 },
    /// The same, from when the node says something of another kind; an eighth of the time later it is to leave.
    HoldBackAt { node: usize, said: &'static str, kind: &'static str, for_us: u64 },
    /// A front-end crashes, and starts again after a while.
    CrashFront { front: usize, for_us: u64 },
    /// A front-end pauses.
    PauseFront { front: usize, for_us: u64 },
    /// A front-end does not reach some, or is not reached, and of a thousand messages so many are slow from here on.
    CutFront { slow: u64, for_us: u64, links: LinkSet },
    /// A node's disk has no room for a while.
    Full { node: usize, for_us: u64 },
    /// A node's next read from flash fails.
    BadRead { node: usize },
    /// Writes to a node's disk fail from here on, until the operator has mended that, and starts the node anew.
    FailDisk { node: usize, for_us: u64, dice: u64 },
    /// A node starts that was not there before.
    Join { node: usize },
    /// Nothing happens. It stands where a seed draws what would come after all is mended: the run has an event there.
    Nothing,
    /// A client asks something about a key.
    Ask { client: usize, key: u64, operation: KvOperation },
}

impl FaultAction {
    /// The index of its kind in [`KINDS`], if it is a fault.
    pub fn kind(&self) -> Option<usize> {
        Some(match self {
            Self::Crash { .. } | Self::CrashAt { .. } => 0,
            Self::PowerFailure { .. } => 1,
            Self::LoseDisk { .. } | Self::OtherDisk { .. } => 2,
            Self::Lead { .. } | Self::Lag { .. } => 3,
            Self::RestartManager { .. } => 4,
            Self::Cut { links, .. } => {
                let both = links.iter().all(|(from, to)| links.contains(&(*to, *from)));
                if both { 5 } else { 6 }
            }
            Self::Pause { .. } | Self::PauseAtRead { .. } => 7,
            Self::Network { .. } => 8,
            Self::Clock { .. } | Self::ClockJump { .. } => 9,
            Self::Drain { .. } => 10,
            Self::Stay { .. } => 11,
            Self::Replicas { .. } | Self::Rules { .. } => 12,
            Self::HoldBack { .. } | Self::HoldBackAt { .. } => 13,
            Self::CrashFront { .. } => 14,
            Self::PauseFront { .. } => 15,
            Self::CutFront { .. } => 16,
            Self::Full { .. } => 17,
            Self::BadRead { .. } => 18,
            Self::FailDisk { .. } => 19,
            Self::Sever { .. } => 20,
            Self::Join { .. } | Self::Ask { .. } | Self::Nothing => return None,
        })
    }

    /// Whether no node can seem to have failed by it.
    pub fn spares_members(&self) -> bool {
        match self {
            Self::Lead { .. }
            | Self::Lag { .. }
            | Self::RestartManager { .. }
            | Self::Clock { .. }
            | Self::ClockJump { .. }
            | Self::Drain { .. }
            | Self::Stay { .. }
            | Self::Replicas { .. }
            | Self::Rules { .. }
            | Self::CrashFront { .. }
            | Self::PauseFront { .. }
            | Self::Join { .. }
            | Self::Ask { .. }
            | Self::Nothing => true,
            Self::Crash { .. }
            | Self::CrashAt { .. }
            | Self::PowerFailure { .. }
            | Self::LoseDisk { .. }
            | Self::OtherDisk { .. }
            | Self::Cut { .. }
            | Self::Sever { .. }
            | Self::Pause { .. }
            | Self::PauseAtRead { .. }
            | Self::Network { .. }
            | Self::HoldBack { .. }
            | Self::HoldBackAt { .. }
            | Self::Full { .. }
            | Self::BadRead { .. }
            | Self::FailDisk { .. }
            | Self::CutFront { .. } => false,
        }
    }
}
