//! Whether this member leads, and what was said of that.
//!
//! Consensus says first that a member leads. It acts as the leader only once a majority has confirmed it, and it has applied all
//! that was decided before; it stops as soon as consensus says so.

use fawn_kv::ids::ManagerId;
use fawn_kv::link::Control;

/// What consensus says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupState {
    /// The term.
    pub term: u64,
    /// Who leads in it, if somebody does.
    pub leader: Option<ManagerId>,
    /// This member leads in it.
    pub is_leader: bool,
    /// This member is to vote.
    pub is_voter: bool,
}

/// What another [`GroupState`] leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeadershipChange {
    /// This member no longer votes: it was removed from the group.
    pub is_removed: bool,
    /// This member led, and leads no longer.
    pub is_deposed: bool,
    /// Peers are to hear who leads.
    pub is_announced: bool,
    /// A term in which this member leads, which a majority has to confirm.
    pub to_confirm: Option<u64>,
}

/// This member's part in the group.
#[derive(Debug)]
pub struct Leadership {
    me: ManagerId,
    /// The term in which this member acts as the leader.
    term: Option<u64>,
    since_us: u64,
    /// The term that is being confirmed.
    confirming: Option<u64>,
    is_voter: bool,
    /// The term and its leader, as peers were told last.
    announced: (u64, Option<ManagerId>),
}

impl Leadership {
    /// A member that does not lead.
    pub fn new(me: ManagerId) -> Self {
        Self { me, term: None, since_us: 0, confirming: None, is_voter: false, announced: (0, None) }
    }

    /// Consensus is in this state.
    pub fn observe(&mut self, state: GroupState) -> LeadershipChange {
        let was_voter = std::mem::replace(&mut self.is_voter, state.is_voter);
        let leading = state.is_leader.then_some(state.term);
        let is_deposed = self.term.is_some() && self.term != leading;
        if is_deposed {
            self.step_down();
        }
        let to_confirm = leading.filter(|term| self.term != Some(*term) && self.confirming != Some(*term));
        self.confirming = to_confirm.or(self.confirming);
        let announced = (state.term, state.leader);
        let is_announced = std::mem::replace(&mut self.announced, announced) != announced;
        LeadershipChange { is_removed: was_voter && !state.is_voter, is_deposed, is_announced, to_confirm }
    }

    /// A majority has confirmed a term. Whether this member begins to lead: it does if consensus still says so.
    pub fn confirm(&mut self, term: u64, leading: Option<u64>, now_us: u64) -> bool {
        if self.confirming == Some(term) {
            self.confirming = None;
        }
        if leading != Some(term) || self.term == Some(term) {
            return false;
        }
        (self.term, self.since_us) = (Some(term), now_us);
        true
    }

    /// This member leads no longer.
    pub fn step_down(&mut self) {
        self.term = None;
    }

    /// The term in which this member leads.
    pub fn term(&self) -> Option<u64> {
        self.term
    }

    /// Whether this member leads.
    pub fn is_leading(&self) -> bool {
        self.term.is_some()
    }

    /// Since when this member leads, or led last.
    pub fn since_us(&self) -> u64 {
        self.since_us
    }

    /// Another member that leads, if one does.
    pub fn other_leader(&self) -> Option<ManagerId> {
        self.announced.1.filter(|leader| *leader != self.me)
    }

    /// Who leads, for peers.
    pub fn control(&self) -> Control {
        Control::Leads { term: self.announced.0, leader: self.announced.1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: ManagerId = ManagerId(1);

    fn state(term: u64, leader: u64) -> GroupState {
        GroupState { term, leader: Some(ManagerId(leader)), is_leader: leader == ME.0, is_voter: true }
    }

    #[test]
    fn a_member_leads_once_a_majority_has_confirmed_its_term() {
        let mut leadership = Leadership::new(ME);
        assert_eq!(leadership.observe(state(3, 1)).to_confirm, Some(3));
        assert_eq!(leadership.observe(state(3, 1)), LeadershipChange::default(), "it is asked once");
        assert!(!leadership.is_leading());
        assert!(leadership.confirm(3, Some(3), 17));
        assert_eq!((leadership.term(), leadership.since_us()), (Some(3), 17));
        assert!(!leadership.confirm(3, Some(3), 18), "it leads already");
        assert_eq!(leadership.observe(state(3, 1)), LeadershipChange::default());
    }

    #[test]
    fn a_confirmation_that_comes_too_late_does_nothing() {
        let mut leadership = Leadership::new(ME);
        leadership.observe(state(3, 1));
        leadership.observe(state(4, 2));
        assert!(!leadership.confirm(3, None, 17));
        assert_eq!(leadership.observe(state(5, 1)).to_confirm, Some(5));
        assert!(!leadership.confirm(3, Some(5), 18));
    }

    #[test]
    fn a_leader_that_consensus_no_longer_knows_steps_down_at_once() {
        let mut leadership = Leadership::new(ME);
        leadership.observe(state(3, 1));
        leadership.confirm(3, Some(3), 17);
        let change = leadership.observe(state(4, 2));
        assert!(change.is_deposed && change.is_announced && change.to_confirm.is_none());
        assert!(!leadership.is_leading());
        assert_eq!(leadership.other_leader(), Some(ManagerId(2)));
        leadership.observe(state(5, 1));
        leadership.confirm(5, Some(5), 18);
        let again = leadership.observe(state(6, 1));
        assert!(again.is_deposed && again.to_confirm == Some(6), "each term is confirmed by itself");
        assert_eq!(leadership.other_leader(), None);
    }

    #[test]
    fn a_member_that_loses_its_vote_was_removed() {
        let mut leadership = Leadership::new(ME);
        let without = GroupState { is_voter: false, ..state(3, 2) };
        assert!(!leadership.observe(without).is_removed, "it has yet to be taken in");
        assert!(!leadership.observe(state(3, 2)).is_removed);
        assert!(leadership.observe(without).is_removed);
        assert!(!leadership.observe(without).is_removed);
    }
}
