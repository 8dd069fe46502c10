//! A wedge of the key space, as managers decide on it and front-ends route by it.

use super::numbers::{FrontMember, WedgeEpoch, WedgeId};
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

/// One wedge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wedge {
    /// Its keys.
    pub keys: Interval,
    /// How many owners it has had.
    pub epoch: WedgeEpoch,
    /// The owner; `None` before the first.
    pub owner: Option<FrontMember>,
    /// The owner gets no leases any more.
    pub released: bool,
}

/// The wedges with their names.
pub(crate) fn numbered(wedges: &[Wedge]) -> impl DoubleEndedIterator<Item = (WedgeId, &Wedge)> {
    wedges.iter().enumerate().map(|(at, wedge)| (WedgeId(at as u32), wedge))
}

/// The wedge of a position, of wedges that cover the key space.
pub(crate) fn wedge_at<'a>(wedges: &'a [Wedge], place: &Key) -> Option<(WedgeId, &'a Wedge)> {
    let at = wedges.partition_point(|wedge| wedge.keys.high < *place);
    wedges.get(at).map(|wedge| (WedgeId(at as u32), wedge))
}
