//! What a node has of a range, and those who read it.

use super::context::Context;
use super::copy_service::CopyService;
use super::levelling::LevelState;
use super::local_copy::LocalCopy;
use super::log::RangeLog;
use super::scan::Scans;
use crate::ids::{Attempt, Member, RangeId};
use crate::range::meta::Meta;
use crate::store::{RangeStore, RecoveredRange};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use fawn_ring::Secret;

/// The parts that hold what is here. What empties one empties all of them.
#[derive(Debug)]
pub(super) struct RangeData {
    pub(super) log: RangeLog,
    /// Whether all of it is here.
    pub(super) copy: LocalCopy,
    /// As of which attempt the log is level.
    pub(super) level: LevelState,
    /// Those that copy from here.
    pub(super) copies: CopyService,
    /// Those who are no members and read from here.
    pub(super) scans: Scans,
}

impl RangeData {
    /// What the store of `me` has of a range.
    pub(super) fn new(range: RangeId, me: Member, recovered: RecoveredRange, secret: &Secret) -> Self {
        let RecoveredRange { keys, held, meta, entries } = recovered;
        let forgets = planted(Bug::RestartForgets);
        let (held, meta, entries) = if forgets { (None, Meta::default(), Vec::new()) } else { (held, meta, entries) };
        Self {
            log: RangeLog::new((range, keys, me), meta, entries, secret),
            copy: LocalCopy::new(held.is_some()),
            level: LevelState::as_of(held),
            copies: CopyService::default(),
            scans: Scans::default(),
        }
    }

    /// The life is over in which it was asked for: nobody waits for any of it.
    pub(super) fn end_life(&mut self) {
        self.copy.follow_none();
        self.level.forget_prepared();
        self.copies.clear();
        self.scans.clear();
    }

    /// What is here is of no use: everything is copied.
    pub(super) fn copy_all<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        took(Path::CopiedWhole);
        self.empty(context);
        self.copy.copy_all();
    }

    /// The range begins, and nothing is in it.
    pub(super) fn begin_empty<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        self.empty(context);
        self.copy.begin_empty();
    }

    /// Everything goes.
    fn empty<S: RangeStore>(&mut self, context: &mut Context<'_, S>) {
        self.log.reset(context);
        self.level = LevelState::default();
        self.copies.clear();
        self.scans.clear();
    }

    /// In a weak range: what is here is of use only if it is of `source`'s log, which is the same still if no attempt came
    /// to its end since attempt `known`. If not, everything is copied.
    pub(super) fn follow_only<S: RangeStore>(
        &mut self,
        source: Member,
        known: Attempt,
        now: Attempt,
        context: &mut Context<'_, S>,
    ) {
        if !self.copy.follows(source, known) && !planted(Bug::WeakCopyNotWhole) {
            self.copy_all(context);
        }
        self.copy.follow(source, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{ME, Plain, SECRET, recovered, step_part};
    use crate::ids::{Epoch, Incarnation, NodeId, Position, Seq};

    const SOURCE: Member = Member { node: NodeId(7), incarnation: Incarnation(2) };

    fn data() -> RangeData {
        let meta = Meta { committed: Position { epoch: Epoch(1), seq: Seq(5) }, ..Meta::default() };
        RangeData::new(RangeId(0), ME, recovered(meta, Vec::new()), &SECRET)
    }

    #[test]
    fn what_is_of_no_use_goes_whole() {
        let mut data = data();
        assert!(data.copy.is_complete() && data.level.held() == Some(Attempt(1)));
        data.copy.damage();
        step_part(&mut Plain::default(), |context| data.copy_all(context));
        assert_eq!((data.log.last(), data.level.held()), (Position::default(), None));
        assert!(!data.copy.is_complete() && !data.copy.is_stuck() && !data.copy.is_damaged());
        step_part(&mut Plain::default(), |context| data.begin_empty(context));
        assert!(data.copy.is_complete());
    }

    #[test]
    fn in_a_weak_range_a_log_is_of_use_only_if_it_follows_the_same_member_still() {
        let mut data = data();
        let follow = |data: &mut RangeData, known, now| {
            step_part(&mut Plain::default(), |context| data.follow_only(SOURCE, known, now, context));
            data.copy.is_complete()
        };
        assert!(!follow(&mut data, Attempt(1), Attempt(2)));
        step_part(&mut Plain::default(), |context| data.begin_empty(context));
        assert!(follow(&mut data, Attempt(2), Attempt(3)), "it has followed that member's log as of attempt 2");
        assert!(!follow(&mut data, Attempt(2), Attempt(4)), "an attempt has come to its end since");
    }
}
