//! Parts of copies: what a learner asks for, and what comes.

use super::context::Context;
use crate::ids::{Member, Position, Seq};
use crate::range::entry::{Kept, MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::range::meta::Meta;
use crate::store::RangeStore;
use crate::testing::injected_bugs::{Bug, planted};
use fawn_ring::{Interval, Key};

/// A part of a copy that has come.
#[derive(Debug)]
pub(super) struct CopyPart {
    pub(super) asked: Option<Key>,
    pub(super) since: Position,
    pub(super) kept: Vec<Kept>,
    pub(super) next: Option<Key>,
    pub(super) at: Position,
    pub(super) forgotten: Seq,
    pub(super) meta: Option<Meta>,
}

impl CopyPart {
    /// Whether a member that works sends it: keys of the range, an end, and with the first what is committed.
    pub(super) fn check<S: RangeStore>(
        &self,
        keys: &Interval,
        is_first: bool,
        context: &Context<'_, S>,
    ) -> Result<(), &'static str> {
        let follows = planted(Bug::CopyNotFollowed);
        if self.meta.is_some() != is_first && !follows {
            return Err("CopyPart: committed metadata come with the first part, and with no other");
        }
        if self.meta.as_ref().is_some_and(|meta| meta.committed != self.at && !follows) || !self.at.is_possible() {
            return Err("CopyPart: its position differs from that of its records");
        }
        if self.next.is_some_and(|next| next <= self.asked.unwrap_or(keys.low)) {
            return Err("CopyPart: the next part does not follow this one");
        }
        let fits = |kept: &Kept| {
            (1..=MAX_KEY_BYTES).contains(&kept.key.len())
                && kept.position.is_possible()
                && kept.version.as_ref().is_none_or(|version| version.value.len() <= MAX_VALUE_BYTES)
                && keys.contains(&context.secret.position(&kept.key))
        };
        if self.kept.iter().all(fits) { Ok(()) } else { Err("CopyPart: a record is outside the range") }
    }
}

/// A part of a copy that somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartRequest {
    pub(super) learner: Member,
    pub(super) from: Option<Key>,
    pub(super) since: Position,
    /// What is to be committed before it is read.
    pub(super) least: Position,
}
