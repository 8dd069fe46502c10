//! What can happen in a simulated cluster, and in which order.

use std::cmp::Ordering;

use fawn_kv::ids::Address;
use fawn_kv::manager::Command;
use fawn_kv::range::entry::Kept;
use fawn_kv::store::{Gate, Part, Ticket};

use super::world::Party;

/// What was read from flash.
#[derive(Clone, Debug)]
pub enum Read {
    Key(Option<Kept>),
    Part(Part),
    /// Nothing: flash cannot be read there.
    Failed,
    /// Nothing, this time.
    Refused,
}

/// What happens.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Deliver {
        to: Party,
        from: Address,
        bytes: Vec<u8>,
    },
    Tick(usize),
    Synced {
        node: usize,
        run: u32,
        gate: Gate,
    },
    Read {
        node: usize,
        run: u32,
        ticket: Ticket,
        read: Box<Read>,
    },
    ManagerTick(usize),
    /// A proposal has come to the log.
    Propose {
        term: u64,
        command: Box<Command>,
    },
    /// A manager hears what is in the log.
    Tell(usize),
    Confirmed {
        manager: usize,
        term: u64,
        question: u64,
    },
    /// A manager hears whether it leads.
    Lead {
        manager: usize,
        term: u64,
    },
    ClientTick(usize),
    FrontTick(usize),
    FrontRestart(usize),
    /// Something of the script happens.
    Act(usize),
    Restart(usize),
    /// The operator starts a node anew whose disk failed in that run.
    Repair {
        node: usize,
        run: u32,
        dice: u64,
    },
    /// A node that paused goes on.
    GoOn(usize),
    /// The operator has a node leave.
    Leave(usize),
    Heal(u64),
    /// A value can expire from now on, by one clock or another.
    MayExpire {
        key: u64,
        value: u64,
        expiry: u32,
    },
    /// By all clocks the value is expired.
    Expired {
        key: u64,
        value: u64,
        operation: u64,
    },
    /// A flush can be due from now on, by one clock or another.
    MayFlush(u64),
    /// By all clocks the flush is due.
    Flushed(u64),
}

/// An event, and when it happens; of two at the same time the lower number comes first.
pub(super) struct Timed {
    pub(super) at_us: u64,
    pub(super) number: u64,
    pub(super) event: Event,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    /// The heap's largest comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_us, other.number).cmp(&(self.at_us, self.number))
    }
}
