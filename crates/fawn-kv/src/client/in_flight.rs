//! What a client has asked and not been answered, by its ticket, and by when something is to be done about it.

use super::request::Want;
use crate::frontend::in_flight::Tries;
use crate::ids::{FrontId, RequestId};
use fawn_ring::Key;
use std::collections::{BTreeMap, BTreeSet};

/// One request.
#[derive(Debug)]
pub(super) struct Flight {
    /// What it is called, at every try.
    pub(super) id: RequestId,
    pub(super) place: Key,
    pub(super) key: Vec<u8>,
    pub(super) want: Want,
    pub(super) tries: Tries,
    /// How often it was given another name.
    pub(super) renamed: u8,
    /// Tries so far.
    pub(super) tried: u32,
    /// Those of them that were sent, or may yet be.
    pub(super) sent: u32,
    /// Whom the last one went to.
    pub(super) to: Option<FrontId>,
    /// When it is tried again, at the latest at its deadline. Changed by [`Flights::set_due`] alone.
    due_us: u64,
    pub(super) deadline_us: u64,
    /// How long it waits before the next try.
    pub(super) wait_us: u64,
}

impl Flight {
    /// One that is due now.
    pub(super) fn new(id: RequestId, place: Key, key: Vec<u8>, want: Want, times: (u64, u64, u64)) -> Self {
        let (due_us, deadline_us, wait_us) = times;
        let (tries, tried, sent, to) = (Tries::default(), 0, 0, None);
        Self { id, place, key, want, tries, renamed: 0, tried, sent, to, due_us, deadline_us, wait_us }
    }

    /// A try was not sent, and will not be. The next waits no longer for it; `least_us` is how long the first did.
    pub(super) fn unsent(&mut self, number: u32, least_us: u64) {
        self.tries.unsent(number);
        self.sent = self.sent.saturating_sub(1);
        self.wait_us = (self.wait_us / 2).max(least_us);
    }

    pub(super) fn is_get(&self) -> bool {
        matches!(self.want, Want::Get | Want::GetWith(_))
    }
}

/// All requests in flight.
#[derive(Debug, Default)]
pub(super) struct Flights {
    by_ticket: BTreeMap<u64, Flight>,
    due: BTreeSet<(u64, u64)>,
}

impl Flights {
    pub(super) fn len(&self) -> usize {
        self.by_ticket.len()
    }

    pub(super) fn get(&self, ticket: u64) -> Option<&Flight> {
        self.by_ticket.get(&ticket)
    }

    pub(super) fn get_mut(&mut self, ticket: u64) -> Option<&mut Flight> {
        self.by_ticket.get_mut(&ticket)
    }

    pub(super) fn insert(&mut self, ticket: u64, flight: Flight) {
        self.due.insert((flight.due_us, ticket));
        self.by_ticket.insert(ticket, flight);
    }

    pub(super) fn remove(&mut self, ticket: u64) -> Option<Flight> {
        let flight = self.by_ticket.remove(&ticket)?;
        self.due.remove(&(flight.due_us, ticket));
        Some(flight)
    }

    /// Something is to be done about it then, or at its deadline.
    pub(super) fn set_due(&mut self, ticket: u64, due_us: u64) {
        let Some(flight) = self.by_ticket.get_mut(&ticket) else { return };
        self.due.remove(&(flight.due_us, ticket));
        flight.due_us = due_us.min(flight.deadline_us);
        self.due.insert((flight.due_us, ticket));
    }

    /// When something is to be done next.
    pub(super) fn next_due_us(&self) -> Option<u64> {
        self.due.first().map(|(due_us, _)| *due_us)
    }

    /// One about which something is to be done by now.
    pub(super) fn next_due(&self, now_us: u64) -> Option<u64> {
        self.due.first().filter(|(due_us, _)| *due_us <= now_us).map(|(_, ticket)| *ticket)
    }

    /// Those whose last try went to a front-end.
    pub(super) fn asked_of(&self, front: FrontId) -> Vec<u64> {
        let asked = self.by_ticket.iter().filter(|(_, flight)| flight.to == Some(front));
        asked.map(|(ticket, _)| *ticket).collect()
    }
}
