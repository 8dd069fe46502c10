//! What the protocol needs of the datastore under it: a log a range whose end may be cut off, and the newest version of
//! every key of what is committed.

use crate::ids::{Attempt, ClusterId, Position, RangeId, Seq};
use crate::range::entry::{Entry, Kept};
use crate::range::meta::Meta;
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

mod adopt;
mod cas;
mod convert;
mod expiry_times;
mod flash;
mod images;
mod lookups;
mod reads;
mod write;

pub(crate) use adopt::ADOPTED;
pub use adopt::{AdoptError, adopted, may_adopt};
pub use cas::CasNumbers;
pub use flash::{FlashStore, OpenedStore};
pub use lookups::{Answer, Fetch};
pub use write::Write;

/// A place in the order of a store's writes; a write is durable once [`RangeStore::durable`] has reached its gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gate(pub u64);

/// Names a lookup or scan that waits for flash.
pub type Ticket = u64;

/// Where in its chain a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the head; also if that is the whole chain.
    Head,
    /// Neither at the head nor at the tail.
    Between,
    /// At the tail: nobody's log has to take what this one takes.
    Tail,
    /// In a weak chain and not its owner: what it does not take it lacks.
    Silent,
}

/// What a lookup found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The newest committed version, or that there never was one.
    Known(Option<Kept>),
    /// It must be read; the answer comes with the ticket.
    Later,
}

/// A part of what a range holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Newest versions in the order of their positions, deleted ones included.
    pub kept: Vec<Kept>,
    /// Where the next part begins; `None`: this is the last. All keys of one position are in one part.
    pub next: Option<Key>,
}

/// What a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scan {
    /// This part.
    Known(Part),
    /// It must be read; the part comes with the ticket.
    Later,
}

/// What a store holds of one range when it is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredRange {
    /// The range's keys.
    pub keys: Interval,
    /// The attempt as of which the log was made level last; `None`: the range is not all there.
    pub held: Option<Attempt>,
    /// What is committed, as far as is known.
    pub meta: Meta,
    /// What follows in the log.
    pub entries: Vec<Entry>,
}

impl RecoveredRange {
    /// Whether any of it answers an operation on a part of a value.
    fn is_of_part(&self) -> bool {
        self.meta.sessions.are_of_parts() || self.entries.iter().any(Entry::is_of_part)
    }
}

/// What a store holds that is of no cluster yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plain {
    /// Which of its directory's stores it is, from 0.
    pub store: u32,
    /// How many those are.
    pub stores: u32,
    /// The keys that it was made to hold: no other store of the directory has any of them.
    pub keys: Interval,
}

/// The datastore of a node. Nothing here waits for flash: writes are ordered, and durable up to a gate.
pub trait RangeStore {
    /// The cluster that what is here belongs to, as soon as it belongs to any.
    fn cluster(&self) -> Option<ClusterId>;

    /// Whatever is here from now on belongs to this cluster, for life. It comes before the first range.
    fn join(&mut self, cluster: ClusterId) -> Gate;

    /// What is here, while it is of no cluster: nothing is written before it is adopted.
    fn plain(&self) -> Option<Plain> {
        None
    }

    /// What is here, and of no cluster, is this range of that cluster from now on, all of it committed. What comes of it is
    /// the replica's; `None`: there is nothing to adopt, or no room to say so just now.
    fn adopt(&mut self, _cluster: ClusterId, _range: RangeId) -> Option<RecoveredRange> {
        None
    }

    /// A range begins here: empty, and not all there. Its keys are in no other range that is here.
    fn create(&mut self, range: RangeId, keys: Interval) -> Gate;

    /// Appends a record to the range's log. It is not shown to lookups before it is committed.
    fn append(&mut self, range: RangeId, entry: &Arc<Entry>) -> Gate;

    /// Cuts off what follows `to` in the range's log; nothing of it is committed.
    fn truncate(&mut self, range: RangeId, to: Position) -> Gate;

    /// The range's log is level as of an attempt.
    fn hold(&mut self, range: RangeId, attempt: Attempt) -> Gate;

    /// Empties the range; from here on it is not all there.
    fn reset(&mut self, range: RangeId) -> Gate;

    /// Takes a part of a copy; `None`: it has no room for it just now, and may have taken some of it. All of the log is
    /// committed, then. Whoever copies appends all records that were committed since the copy began, before the range counts
    /// as all there: it does not matter if an older version of a key is shown before that.
    fn install(&mut self, range: RangeId, kept: &[Kept]) -> Option<Gate>;

    /// The copy is complete: all that was committed up to `meta.committed` is there, but for deletions up to `forgotten`.
    fn install_end(&mut self, range: RangeId, meta: &Meta, forgotten: Seq) -> Gate;

    /// Whether everything that was written is on its way to flash. If not, some waits for room, and of the records only those
    /// that are durable may be [committed](Self::commit): a restart must not find what is committed without them.
    fn is_logged(&self) -> bool;

    /// The record, which is the log's first that is not committed, is committed: lookups show it.
    fn commit(&mut self, range: RangeId, entry: &Entry, lies: &Key);

    /// `over` are no more; what they hold is what `ranges` hold from here on, by their keys.
    fn inherit(&mut self, over: &[RangeId], ranges: &[(RangeId, RecoveredRange)]) -> Gate;

    /// The range is no more, and nor is what it holds.
    fn drop_range(&mut self, range: RangeId) -> Gate;

    /// The newest committed version of a key.
    fn lookup(&mut self, range: RangeId, key: &[u8], ticket: Ticket) -> Lookup;

    /// A part of what is committed, from a position on: what was written after `since`, all of it if that is 0. It
    /// holds whatever was committed up to `least`, and perhaps newer versions.
    fn scan(&mut self, range: RangeId, from: Option<Key>, since: Seq, least: Position, ticket: Ticket) -> Scan;

    /// Whether the store keeps up: heads should take what writes, if they [take](Self::takes) any records, and learners more
    /// of their copies.
    fn ready(&mut self) -> bool;

    /// Whether a member of the range at that place should append a record: a head that does not refuses the request, others
    /// are sent the record again. Each place takes some when the one before it takes none any more.
    fn takes(&mut self, range: RangeId, place: Place) -> bool;

    /// Whether there is room only for what comes down a chain, and for what takes next to none, like deletions: heads should
    /// take no values, nor learners parts of copies.
    fn is_full(&self) -> bool;

    /// Whether writing has failed: nothing becomes durable any more. A node of such a store says nothing from then on; it
    /// has to be started anew, once its disk is mended, or another.
    fn has_failed(&self) -> bool;

    /// Longest record that the store takes, key and value together, in bytes: what a head refuses above. All nodes of a
    /// cluster should take the same: what comes down a chain is not refused.
    fn longest_record(&self) -> usize;

    /// The highest number of a deleted or expired version that the range no longer keeps: a log that ends below it
    /// cannot be brought up to date by what was written since.
    fn forgotten(&self, range: RangeId) -> Seq;

    /// Somebody waits for what was written to be durable: a store that lets its device rest between syncs does not until then.
    fn end_rest(&mut self) {}

    /// Up to here everything is durable.
    fn durable(&self) -> Gate;
}
