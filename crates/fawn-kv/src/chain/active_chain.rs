//! An active chain as one of its members sees it.

use super::context::Context;
use crate::ids::{Address, Asker, Chain, Epoch, Incarnation, Member, RangeId, RequestId};
use crate::store::{Place, RangeStore};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Answer;

/// The chain, and where in it the member is.
#[derive(Debug)]
pub(super) struct ActiveChain {
    config: Chain,
    /// When it became active.
    since_us: u64,
    /// Place in the chain; 0 is the head.
    place: usize,
    /// The member acknowledges what its store has yet to sync.
    rests: bool,
    /// The successor, or a member after it, has no room for more values.
    full_below: bool,
}

impl ActiveChain {
    /// A chain that is active as of now, for the member at that place; 0 is the head.
    pub(super) fn new(config: Chain, place: usize, now_us: u64) -> Self {
        Self { config, since_us: now_us, place, rests: false, full_below: false }
    }

    /// The member is on a node whose store rests: an archive acknowledges before it syncs, where others sync at once.
    pub(super) fn let_rest(&mut self, rests: bool) {
        self.rests = rests && (self.is_spared() || planted(Bug::RestsAlone));
    }

    /// Whether the member acknowledges what its store has yet to sync.
    pub(super) fn rests(&self) -> bool {
        self.rests
    }

    /// The chain as the manager has configured it.
    pub(super) fn config(&self) -> &Chain {
        &self.config
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.config.epoch
    }

    /// When it became active.
    pub(super) fn since_us(&self) -> u64 {
        self.since_us
    }

    /// Whether the member numbers records. Every member of a weak chain does: each is a chain of its own.
    pub(super) fn is_head(&self) -> bool {
        self.place == 0 || self.config.is_weak()
    }

    /// Whether nobody comes after the member.
    pub(super) fn is_tail(&self) -> bool {
        self.place + 1 == self.config.members.len() || self.config.is_weak()
    }

    /// Whether the member decides what gets show. Every member of a weak chain does so of its own copy.
    pub(super) fn is_reader(&self) -> bool {
        self.config.is_weak() || self.config.place(self.config.reader()) == Some(self.place)
    }

    /// Whether the member may be asked to show a key.
    pub(super) fn is_among_readers(&self) -> bool {
        self.config.is_weak()
            || self.config.readers().iter().any(|member| self.config.members.get(self.place) == Some(member))
    }

    /// Whether the member is an archive in a chain with nodes that serve: they are asked for what it has.
    pub(super) fn is_spared(&self) -> bool {
        let is_archive = self.config.members.get(self.place).is_some_and(|me| me.node.is_archive());
        is_archive && !self.config.is_weak() && !self.config.reader().node.is_archive()
    }

    /// Whether the member is listed first: in a weak chain it is the owner.
    pub(super) fn is_first(&self) -> bool {
        self.place == 0
    }

    /// Where the member is.
    pub(super) fn place(&self) -> Place {
        if self.is_head() {
            Place::Head
        } else if self.is_tail() {
            Place::Tail
        } else {
            Place::Between
        }
    }

    /// Whether the member says nothing to whoever asks, since the owner does.
    pub(super) fn is_silent(&self) -> bool {
        self.place > 0 && self.config.is_weak() && !planted(Bug::WeakAnyoneAnswers)
    }

    pub(super) fn predecessor(&self) -> Option<Member> {
        self.config.members.get(self.place.checked_sub(1)?).copied().filter(|_| !self.config.is_weak())
    }

    pub(super) fn successor(&self) -> Option<Member> {
        self.config.members.get(self.place + 1).copied().filter(|_| !self.config.is_weak())
    }

    /// Whether a message of `epoch` to that life of the member is from this neighbour.
    pub(super) fn hears(
        &self,
        from: Address,
        (epoch, to): (Epoch, Incarnation),
        neighbour: Option<Member>,
        me: Member,
    ) -> bool {
        (self.config.epoch == epoch || planted(Bug::FeedOfAnyEpoch))
            && (to == me.incarnation || planted(Bug::AnyLife) || planted(Bug::RestartKeepsIncarnation))
            && neighbour.is_some_and(|neighbour| from == Address::Node(neighbour.node))
    }

    /// Whether the chain takes no writes.
    pub(super) fn is_too_short(&self) -> bool {
        let too_few = !self.config.takes_writes();
        if too_few {
            took(Path::TooFew);
        }
        too_few && !planted(Bug::TooShort)
    }

    /// Whether the member's store has no room for another record of the head just now. A member that does not answer takes
    /// what the owner takes for as long as its log can: nobody waits for it.
    pub(super) fn is_behind<S: RangeStore>(&self, range: RangeId, context: &mut Context<'_, S>) -> bool {
        if self.is_silent() {
            return !context.store.takes(range, Place::Silent);
        }
        !context.store.ready() || !context.store.takes(range, Place::Head)
    }

    /// The successor says whether it, or a member after it, has no room for more values.
    pub(super) fn note_full_below(&mut self, full: bool) {
        self.full_below = full;
    }

    /// Whether this member, or one after it, has no room for more values.
    pub(super) fn has_no_room<S: RangeStore>(&self, context: &Context<'_, S>) -> bool {
        self.full_below || context.store.is_full()
    }

    /// Answers, unless that is for the owner to do.
    pub(super) fn reply<S: RangeStore>(
        &self,
        asker: Asker,
        id: RequestId,
        answer: Answer,
        context: &mut Context<'_, S>,
    ) {
        if !self.is_silent() {
            context.reply(asker, id, answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{FRONT, Plain, step_part};
    use crate::ids::{Consistency, NodeId, Rules};
    use fawn_ring::Interval;

    fn member(node: u64) -> Member {
        Member { node: NodeId(node), incarnation: Incarnation(node as u32 + 1) }
    }

    /// The middle of a chain of three.
    fn middle(consistency: Consistency) -> ActiveChain {
        let (members, rules) = ((0..3).map(member).collect(), Rules { consistency, ..Rules::default() });
        ActiveChain::new(Chain { epoch: Epoch(4), members, rules, ..Chain::none(Interval::ALL) }, 1, 9)
    }

    #[test]
    fn a_member_of_a_weak_chain_is_a_chain_of_its_own_and_the_owner_alone_answers() {
        let (strong, weak) = (middle(Consistency::Chain), middle(Consistency::Weak));
        assert_eq!(
            (strong.place(), strong.predecessor(), strong.successor()),
            (Place::Between, Some(member(0)), Some(member(2)))
        );
        assert_eq!((weak.place(), weak.predecessor(), weak.successor()), (Place::Head, None, None));
        assert!(weak.is_head() && weak.is_tail() && weak.is_silent() && !strong.is_silent());
        let answers = |chain: &ActiveChain| {
            let (asker, id) = (Asker { address: FRONT, tag: 1 }, RequestId { session: 1, number: 1 });
            step_part(&mut Plain::default(), |context| chain.reply(asker, id, Answer::Busy, context)).1.len()
        };
        assert_eq!((answers(&strong), answers(&weak)), (1, 0));
    }

    #[test]
    fn only_a_neighbour_in_this_epoch_and_life_is_heard() {
        let chain = middle(Consistency::Chain);
        let (from, me) = (Address::Node(NodeId(0)), member(1));
        let hears = |from, epoch, to| chain.hears(from, (Epoch(epoch), to), chain.predecessor(), me);
        assert!(hears(from, 4, me.incarnation));
        assert!(!hears(from, 3, me.incarnation) && !hears(from, 4, Incarnation(9)));
        assert!(!hears(Address::Node(NodeId(2)), 4, me.incarnation));
        assert!(!chain.hears(from, (Epoch(4), me.incarnation), None, me));
    }

    #[test]
    fn there_is_no_room_while_a_member_after_this_one_has_none() {
        let (mut chain, mut store) = (middle(Consistency::Chain), Plain::default());
        let mut has_no_room = |chain: &ActiveChain, full| {
            store.full = full;
            step_part(&mut store, |context| chain.has_no_room(context)).0
        };
        assert!(!has_no_room(&chain, false) && has_no_room(&chain, true));
        chain.note_full_below(true);
        assert!(has_no_room(&chain, false));
    }
}
