//! What a die is told to do, and where the time of it went.

use serde::{Deserialize, Serialize};

use crate::time::SimTime;

/// Kinds of commands. Each covers one page or block of one or more planes of a die at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandKind {
    /// Cells to register, then register to controller.
    Read,
    /// Controller to register, then register to cells.
    Program,
    /// Erases a block.
    Erase,
    /// Reads a page and programs another of the same die. No data crosses the bus.
    CopyBack,
}

/// A command for one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The die, counted over the array: bus × dies per bus + die on the bus.
    pub die: u32,
    /// What it does.
    pub kind: CommandKind,
    /// Page within its block, by which cells with several bits choose their timing.
    pub page: u32,
    /// Planes that take part, at least 1.
    pub planes: u32,
    /// Bytes that cross the bus, over all planes. 0 for erases and copy-backs.
    pub bytes: u32,
    /// Time for which the controller holds the bus beyond what the protocol needs.
    pub overhead: SimTime,
    /// Whether cleaning asked for it. Others that wait for it count that time as cleaning.
    pub cleaning: bool,
    /// Given back when it is finished.
    pub tag: u32,
}

/// Where the time between arrival and end went. The parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyParts {
    /// Waited in the controller: for a place in the host's queue, its turn, or a write point.
    pub queue: SimTime,
    /// Waited for a die that served other requests.
    pub die: SimTime,
    /// Waited for a bus that served other requests.
    pub bus: SimTime,
    /// Waited for cleaning: for a die or bus that it used, or for an erased block.
    pub cleaning: SimTime,
    /// On the bus, commands and overhead included.
    pub transfer: SimTime,
    /// In the cells.
    pub cell: SimTime,
}

impl LatencyParts {
    /// All parts together.
    pub fn total(&self) -> SimTime {
        self.queue + self.die + self.bus + self.cleaning + self.transfer + self.cell
    }
}

impl std::ops::AddAssign for LatencyParts {
    fn add_assign(&mut self, other: Self) {
        self.queue += other.queue;
        self.die += other.die;
        self.bus += other.bus;
        self.cleaning += other.cleaning;
        self.transfer += other.transfer;
        self.cell += other.cell;
    }
}

/// A command that is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandCompletion {
    /// When.
    pub at: SimTime,
    /// Of the command.
    pub tag: u32,
    /// Where the time since it was submitted went.
    pub parts: LatencyParts,
}
