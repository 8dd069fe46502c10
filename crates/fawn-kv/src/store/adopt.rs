//! How a store that is of no cluster yet, and holds keys, becomes a node's: what it holds is a range from then on.
//!
//! Nothing is copied. One checkpoint says that the store is of the cluster and that its keys are a range all of whose log
//! is committed; it is durable as a whole or not at all, and recovery begins behind it. Records from before have epoch 0,
//! which no chain has. What has been shown of them stays: a record that has no cas of its client's is shown with the one
//! that the plain store told its clients, which is not its number.
//!
//! What the chain numbers is above every cas that was ever told, so that no two versions of a key share one. A log that
//! ends there is never brought up to date by what was written since, but copied anew: the numbers of a plain store say
//! nothing about an older copy of it.

use fawn_store::flash::{FileId, Flash};
use fawn_store::{OpenError, Options};

use super::flash::{FlashStore, OpenedStore};
use super::images::Image;
use super::{Plain, RecoveredRange};
use crate::ids::{Attempt, ClusterId, Position, RangeId};
use crate::range::meta::Meta;
use crate::testing::injected_bugs::{Bug, planted};
use fawn_ring::Interval;

/// Why a node cannot begin with what a plain store holds. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdoptError {
    /// It does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Some values are files.
    #[error(
        "the store holds, or recently held, values so large that they are separate files, which nodes of a cluster \
        do not accept: `fawn serve` it and `fawn dump` it, then `fawn load` the shorter ones into a cluster"
    )]
    LargeValues,
}

impl AdoptError {
    /// As [`OpenError::at`].
    pub fn at(&self, store: impl std::fmt::Display) -> String {
        match self {
            Self::Open(error) => error.at(store),
            Self::LargeValues => format!("{store}: {self}"),
        }
    }
}

/// The range that a plain store becomes: where its log ends, up to which number it was flushed, and the Unix second at which
/// it is to be, or 0.
pub fn adopted(keys: Interval, end: Position, flushed: u64, due: u32) -> RecoveredRange {
    let (flushed, due) = if planted(Bug::AdoptForgetsFlush) { (0, 0) } else { (flushed, due) };
    RecoveredRange { keys, held: Some(ADOPTED), meta: Meta::adopted(end, keys, flushed, due), entries: Vec::new() }
}

/// Whether a node could adopt the plain store on `flash`, if it is one; nothing is opened for that.
///
/// # Errors
/// [`AdoptError`].
pub fn may_adopt(flash: &dyn Flash) -> Result<(), AdoptError> {
    let files = flash.list().map_err(OpenError::from)?;
    let is_value = |(file, _): &(FileId, u64)| matches!(file, FileId::Value(_));
    if files.iter().any(is_value) { Err(AdoptError::LargeValues) } else { Ok(()) }
}

impl FlashStore {
    /// Opens a store that may be a plain one, made to hold `keys`, or become a node's meanwhile. The options are those of a
    /// node's, but for the store's place among those of its directory.
    ///
    /// # Errors
    /// [`AdoptError`].
    pub fn open_plain(options: Options, flash: &dyn Flash, keys: Interval) -> Result<OpenedStore, AdoptError> {
        let mut opened = Self::open_any(options, flash)?;
        let store = &mut opened.store;
        if store.images.cluster.is_some() || !store.images.ranges.is_empty() {
            return Ok(opened);
        }
        if store.store.contents().has_large_values(opened.maintenance.lists_values()) {
            return Err(AdoptError::LargeValues);
        }
        let (number, stores) = (store.store.options().index, store.store.options().count);
        store.plain = Some(Plain { store: number, stores, keys });
        Ok(opened)
    }

    /// As [`RangeStore::adopt`](super::RangeStore::adopt).
    pub(super) fn adopt_as(&mut self, cluster: ClusterId, range: RangeId) -> Option<RecoveredRange> {
        let Plain { keys, .. } = self.plain?;
        let (end, (flushed, due)) = (self.cas.end(self.store.ranges().highest_seq()), self.store.ranges().flushes());
        let adopted = adopted(keys, end, flushed, due);
        self.images.cluster = Some(cluster);
        let image = Image::of(adopted.clone(), end.seq, &self.store);
        self.images.ranges.insert(range, image);
        self.reserve = None;
        let Some(gate) = self.checkpoint() else {
            self.images.cluster = None;
            self.images.ranges.clear();
            // Room for it comes with a seal; if none can begin now, one is under way.
            let _ = self.store.seal();
            return None;
        };
        self.store.replication().forget_flushes();
        self.plain = None;
        self.written.0 += 1;
        self.logged.push_back((self.written, gate));
        Some(adopted)
    }
}

/// The attempt as of which an adopted range is level: its chain counts as one that the node was in alone, in a life before
/// its first.
pub(crate) const ADOPTED: Attempt = Attempt(1);
