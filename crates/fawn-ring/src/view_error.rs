//! Why something is no view, or no change of one.

use crate::{Epoch, Key, KeyRange, NodeId};

/// Why something is no view, or no change of one. The manager makes neither, so that whoever meets one has read damaged
/// bytes or has missed a change, and asks the manager for the whole view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// A view without a range.
    #[error("the view has no range: fetch it from the manager again")]
    NoRange,
    /// Two ranges of a view overlap, or leave a gap.
    #[error(
        "range {range} of the view does not begin after {end:?}, where the one before it ends: \
         fetch the view from the manager again"
    )]
    NotAdjacent {
        /// The range.
        range: KeyRange,
        /// The end of the range before.
        end: Key,
    },
    /// A range without a member.
    #[error("range {range} has no member: fetch the view from the manager again")]
    NoMember {
        /// The range.
        range: KeyRange,
    },
    /// Two members of a range are one node, or on one machine, so that the range has fewer copies than it seems.
    #[error("members {first} and {second} of range {range} are on one machine: fetch the view from the manager again")]
    SharedMachine {
        /// The range.
        range: KeyRange,
        /// The member nearer to the head.
        first: NodeId,
        /// The member nearer to the tail; the same if it is the node itself that is a member twice.
        second: NodeId,
    },
    /// A change of a range that the view does not have.
    #[error("range {range} cannot change, as the view has no such range: fetch the view from the manager")]
    OtherRanges {
        /// The range.
        range: KeyRange,
    },
    /// A change that would lower an epoch, or leave it.
    #[error("epoch {epoch} for range {range} is not above {known}, which it has: fetch the view from the manager")]
    OldEpoch {
        /// The range of the view.
        range: KeyRange,
        /// The epoch of the change.
        epoch: Epoch,
        /// The epoch in the view.
        known: Epoch,
    },
    /// A split where a range ends, or a merge where none ends, or of the only range.
    #[error("no range can be split or merged at {at:?}: fetch the view from the manager")]
    NotThere {
        /// Where.
        at: Key,
    },
    /// A merge of ranges whose chains differ.
    #[error("ranges {lower} and {upper} cannot merge, as their members differ: give both the same chain first")]
    OtherMembers {
        /// The first range clockwise.
        lower: KeyRange,
        /// The range after it.
        upper: KeyRange,
    },
}
