//! What the protocol needs of the datastore under it: a log a range whose end may be cut off, and the newest version of
//! every key of what is committed.

use crate::entry::{Entry, Kept};
use crate::ids::{Attempt, Position, RangeId};
use crate::sessions::Sessions;

/// A place in the order of a store's writes; a write is durable once [`RangeStore::durable`] has reached its gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gate(pub u64);

/// Names a lookup that waits for flash.
pub type Ticket = u64;

/// What a lookup found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The newest committed version, or that there never was one.
    Known(Option<Kept>),
    /// It must be read; the answer comes with the ticket.
    Later,
}

/// What a store holds of one range when it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The attempt as of which the log was made level last; `None`: the range is not all there.
    pub held: Option<Attempt>,
    /// The end of what is committed, as far as is known, and the session table as of then.
    pub committed: Position,
    /// See `committed`.
    pub sessions: Sessions,
    /// What follows in the log.
    pub entries: Vec<Entry>,
}

/// The datastore of a node. Nothing here waits for flash: writes are ordered, and durable up to a gate.
pub trait RangeStore {
    /// Appends a record to the range's log. It is not shown to lookups before it is committed.
    fn append(&mut self, range: RangeId, entry: &Entry) -> Gate;

    /// Cuts off what follows `to` in the range's log; nothing of it is committed.
    fn truncate(&mut self, range: RangeId, to: Position) -> Gate;

    /// The range's log is level as of an attempt.
    fn hold(&mut self, range: RangeId, attempt: Attempt) -> Gate;

    /// Empties the range; from here on it is not all there.
    fn reset(&mut self, range: RangeId) -> Gate;

    /// Takes a part of a copy. Of two versions of a key the one with the higher place stays.
    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Gate;

    /// The copy is complete: all that was committed up to `at` is there.
    fn install_end(&mut self, range: RangeId, at: Position, sessions: &Sessions) -> Gate;

    /// The record, which is in the log, is committed: lookups show it, unless they show a newer one.
    fn commit(&mut self, range: RangeId, entry: &Entry, sessions: &Sessions);

    /// The newest committed version of a key.
    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup;

    /// Some keys in order, deleted ones included, and whether there are more.
    fn scan(&self, range: RangeId, after: Option<&[u8]>) -> (Vec<Kept>, bool);

    /// Up to here everything is durable.
    fn durable(&self) -> Gate;
}
