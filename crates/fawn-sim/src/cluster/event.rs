//! What can happen in a simulated cluster. A trace prints these by their names.

use fawn_kv::ids::Address;
use fawn_kv::manager::Command;
use fawn_kv::store::{Gate, Ticket};

use crate::cluster::network::party::Party;
use crate::cluster::processes::store::read::FlashRead;

/// The kernel of a simulated cluster.
pub type Kernel = crate::kernel::Kernel<Event>;

/// What happens.
#[derive(Clone, Debug)]
pub enum Event {
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
        read: Box<FlashRead>,
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
        expiry: u32,
        operation: u64,
    },
    /// A flush can be due from now on, by one clock or another.
    MayFlush(u64),
    /// By all clocks the flush is due.
    Flushed(u64),
}
