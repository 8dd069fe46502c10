//! Flushes and scans of one loop that are under way.

use crate::request::{ListingForm, ReplyTo, TaskTicket};
use fawn_store::Gate;
use std::collections::HashMap;

/// A `flush_all` under way.
#[derive(Debug)]
pub struct Flush {
    /// Where the reply goes.
    pub to: ReplyTo,
    /// Unix second; 0: now.
    pub at_unix: u32,
    /// The client wants no reply.
    pub quiet: bool,
    /// What the stores that are flushed wait for, from the first one on.
    pub gates: Vec<(usize, Gate)>,
}

/// The flushes of one loop.
#[derive(Debug, Default)]
pub struct Flushes {
    /// Flushes to be tried again after an event.
    pub waiting: Vec<Flush>,
    /// Flushes of stores that were carried out.
    pub carried_out: u64,
}

/// A scan under way.
#[derive(Clone, Copy, Debug)]
pub struct PendingScan {
    /// Where the reply goes.
    pub to: ReplyTo,
    /// The store, counted within the loop.
    pub store: usize,
    /// How the lines are written.
    pub form: ListingForm,
}

/// The scans of one loop.
#[derive(Debug, Default)]
pub struct Scans {
    under_way: HashMap<TaskTicket, PendingScan>,
    last: TaskTicket,
}

impl Scans {
    /// Whether no scan is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Adds a scan.
    pub fn insert(&mut self, scan: PendingScan) -> TaskTicket {
        self.last = self.last.wrapping_add(1);
        self.under_way.insert(self.last, scan);
        self.last
    }

    /// A scan ends.
    pub fn remove(&mut self, ticket: TaskTicket) -> PendingScan {
        self.under_way.remove(&ticket).expect("a scan is answered once")
    }
}
