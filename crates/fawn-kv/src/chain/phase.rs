//! The phase that a node is in as to a range.

use super::active::Active;
use super::active_chain::ActiveChain;
use super::context::Context;
use super::following::{Following, Learning};
use super::levelling::Levelling;
use super::log::RangeLog;
use super::requests::{Flush, Get, Request};
use crate::ids::{Attempt, Epoch};
use crate::status::Role;
use crate::store::RangeStore;
use crate::wire::Answer;

/// What a node is to a range.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // one a range, and nearly always the large one
pub(super) enum Phase {
    /// Nothing; it may have data.
    Idle,
    /// It copies the range, or follows it.
    Learning(Learning),
    /// A member of the chain.
    Active(Active),
    /// It takes and answers nothing until the attempt, or a later one, is over.
    Sealed(Attempt),
    /// Its log is being made like the source's.
    Levelling(Levelling),
}

impl Phase {
    pub(super) fn active_mut(&mut self) -> Option<&mut Active> {
        if let Self::Active(active) = self { Some(active) } else { None }
    }

    /// The chain that the node is an active member of.
    pub(super) fn active_chain(&self) -> Option<&ActiveChain> {
        if let Self::Active(active) = self { Some(active.chain()) } else { None }
    }

    /// A client asks for an operation.
    pub(super) fn request<S: RangeStore>(
        &mut self,
        request: Request,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        if let Self::Active(active) = self {
            return active.request(request, log, context);
        }
        let refusal = request.refusal(log.keys()).unwrap_or(Answer::NotMine);
        context.reply(request.asker, request.id, refusal);
    }

    /// A client asks for a flush.
    pub(super) fn flush<S: RangeStore>(&mut self, flush: Flush, log: &mut RangeLog, context: &mut Context<'_, S>) {
        match self {
            Self::Active(active) => active.flush(flush, log, context),
            _ => context.reply(flush.asker, flush.id, Answer::NotMine),
        }
    }

    /// A client asks for a key.
    pub(super) fn get<S: RangeStore>(&mut self, get: Get, log: &RangeLog, context: &mut Context<'_, S>) {
        match self {
            Self::Active(active) => active.get(get, log, context),
            _ => get.answer(Answer::NotMine, context),
        }
    }

    /// Whether it learns, and has all that its source had.
    pub(super) fn is_caught_up(&self) -> bool {
        matches!(self, Self::Learning(learning) if learning.is_caught_up())
    }

    /// Whom its log follows, if it follows anybody.
    pub(super) fn following(&self) -> Option<&Following> {
        match self {
            Self::Learning(learning) => Some(learning.following()),
            Self::Levelling(levelling) => levelling.following(),
            Self::Idle | Self::Active(_) | Self::Sealed(_) => None,
        }
    }

    pub(super) fn following_mut(&mut self) -> Option<&mut Following> {
        match self {
            Self::Learning(learning) => Some(learning.following_mut()),
            Self::Levelling(levelling) => levelling.following_mut(),
            Self::Idle | Self::Active(_) | Self::Sealed(_) => None,
        }
    }

    /// The attempt for which its log is being made level.
    pub(super) fn levelling(&self) -> Option<Attempt> {
        if let Self::Levelling(levelling) = self { Some(levelling.attempt()) } else { None }
    }

    /// Whether it may leave: attempts up to `over` are, and the range's chain is of this epoch, and without this node.
    pub(super) fn may_end(&self, epoch: Epoch, over: Attempt) -> bool {
        match self {
            Self::Idle | Self::Learning(_) => true,
            Self::Active(active) => active.chain().epoch() < epoch,
            Self::Sealed(attempt) => *attempt <= over,
            Self::Levelling(levelling) => levelling.attempt() <= over,
        }
    }

    /// Whether it may begin to learn, once attempts up to `over` are.
    pub(super) fn may_learn(&self, over: Attempt) -> bool {
        match self {
            Self::Idle | Self::Learning(_) => true,
            Self::Sealed(attempt) => *attempt <= over,
            Self::Levelling(levelling) => levelling.attempt() <= over,
            Self::Active(active) => active.chain().config().attempt < over,
        }
    }

    /// What an operator is shown.
    pub(super) fn role(&self) -> Role {
        match self {
            Self::Idle => Role::Idle,
            Self::Learning(_) => Role::Learner,
            Self::Active(active) => {
                let chain = active.chain();
                match (chain.is_first(), chain.is_tail()) {
                    _ if chain.config().members.len() == 1 => Role::Alone,
                    (true, _) => Role::Head,
                    (_, true) => Role::Tail,
                    (_, false) => Role::Mid,
                }
            }
            Self::Sealed(_) | Self::Levelling(_) => Role::Sealed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::ME;
    use crate::ids::{Chain, Incarnation, Member, NodeId, Seq};
    use fawn_ring::Interval;

    const OTHER: Member = Member { node: NodeId(7), incarnation: Incarnation(2) };

    fn active(members: &[Member], place: usize) -> Phase {
        let (epoch, attempt, members) = (Epoch(4), Attempt(3), members.to_vec());
        let chain = Chain { epoch, attempt, members, ..Chain::none(Interval::ALL) };
        Phase::Active(Active::new(chain, place, Seq(0), 1))
    }

    #[test]
    fn a_member_leaves_for_a_newer_chain_and_one_that_is_sealed_with_its_attempt() {
        let member = active(&[ME, OTHER], 0);
        assert!(!member.may_end(Epoch(4), Attempt(9)) && member.may_end(Epoch(5), Attempt(0)));
        assert!(!member.may_learn(Attempt(3)) && member.may_learn(Attempt(4)));
        let levelling = Phase::Levelling(Levelling::new(Attempt(3), Some(OTHER), None, ME));
        for phase in [Phase::Sealed(Attempt(3)), levelling] {
            assert!(!phase.may_end(Epoch(9), Attempt(2)) && phase.may_end(Epoch(0), Attempt(3)));
            assert!(!phase.may_learn(Attempt(2)) && phase.may_learn(Attempt(3)));
        }
        assert!(Phase::Idle.may_end(Epoch(0), Attempt(0)));
    }

    #[test]
    fn an_operator_is_shown_where_in_its_chain_a_member_is() {
        let three = [OTHER, ME, OTHER];
        let roles =
            [active(&[ME], 0), active(&three, 0), active(&three, 1), active(&three, 2)].map(|phase| phase.role());
        assert_eq!(roles, [Role::Alone, Role::Head, Role::Mid, Role::Tail]);
        assert_eq!(Phase::Sealed(Attempt(1)).role(), Role::Sealed);
    }

    #[test]
    fn only_whoever_learns_or_is_made_level_follows() {
        let learning = Phase::Learning(Learning::from(OTHER));
        assert_eq!(learning.following().map(Following::source), Some(OTHER));
        let source = Phase::Levelling(Levelling::new(Attempt(3), Some(ME), None, ME));
        assert!(source.following().is_none() && source.levelling() == Some(Attempt(3)));
        assert!(active(&[ME, OTHER], 0).following().is_none());
    }
}
