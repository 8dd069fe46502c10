//! What is decided, as this member acts on it: the facts, and the protocol's manager.

use super::seats::{node_of, seat_of};
use crate::replicated_state::{Decision, Facts, Genesis, ReplicatedState};
use fawn_kv::ids::{ClusterId, NodeId};
use fawn_kv::manager::roster::Member;
use fawn_kv::manager::{Effects, Manager, State, Waits};
use fawn_kv::timing::Timing;

/// What a decision has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionEffect {
    /// It did anything to the facts.
    pub did: bool,
    /// The roster is another.
    pub is_roster_new: bool,
}

/// All that is decided so far.
#[derive(Default)]
pub struct CommittedState {
    facts: Facts,
    /// `None`: the cluster has not begun.
    manager: Option<Manager>,
    timing: Timing,
}

impl CommittedState {
    /// What is decided beside the protocol's state.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The cluster, if it has begun.
    pub fn cluster(&self) -> Option<ClusterId> {
        self.facts.genesis.map(|genesis| genesis.cluster)
    }

    /// The protocol's manager, if the cluster has begun.
    pub fn manager(&self) -> Option<&Manager> {
        self.manager.as_ref()
    }

    /// The protocol's manager, to take a step.
    pub fn manager_mut(&mut self) -> Option<&mut Manager> {
        self.manager.as_mut()
    }

    /// The protocol's state.
    ///
    /// # Errors
    /// The cluster has not begun, in a sentence for operators.
    pub fn state(&self) -> Result<&State, String> {
        let manager = self.manager.as_ref().ok_or("the cluster has not begun yet: retry")?;
        Ok(manager.state())
    }

    /// A member by its name.
    ///
    /// # Errors
    /// There is none, in a sentence for operators.
    pub fn member(&self, name: &str) -> Result<&Member, String> {
        let known = || self.facts.roster.members.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.facts
            .roster
            .members
            .get(name)
            .ok_or_else(|| format!("there is no member {name}: the members are {}", known()))
    }

    /// The name of the member that a node is of.
    pub fn name_of(&self, node: NodeId) -> String {
        let mut members = self.facts.roster.members.iter();
        let of = members.find(|(_, member)| member.seats().any(|seat| node_of(seat) == node));
        of.map_or_else(|| format!("seat {}", seat_of(node).0), |(name, _)| name.clone())
    }

    /// Goes on from a snapshot.
    pub fn install(&mut self, snapshot: ReplicatedState) {
        self.facts = snapshot.facts;
        self.manager = snapshot
            .state
            .zip(self.facts.genesis)
            .map(|(state, genesis)| Manager::restored(self.timing, state, genesis.cluster));
    }

    /// Carries a decision out, but for the protocol's commands: these are steps of the manager.
    pub fn apply(&mut self, decision: &Decision, now_us: u64) -> DecisionEffect {
        let before = self.facts.roster.number;
        let did = self.facts.apply(decision);
        match decision {
            Decision::Begin(genesis) if did => self.begin(genesis, now_us),
            Decision::Recovered { lost, waits } => self.recover(*lost, *waits),
            _ => {}
        }
        DecisionEffect { did, is_roster_new: self.facts.roster.number != before }
    }

    fn begin(&mut self, genesis: &Genesis, now_us: u64) {
        let mut manager = genesis.manager(self.timing);
        manager.committed(now_us, &genesis.found(), &mut Effects::default());
        manager.everybody_speaks(self.facts.version);
        self.manager = Some(manager);
    }

    fn recover(&mut self, lost: u32, waits: Waits) {
        if let Some((manager, genesis)) = self.manager.take().zip(self.facts.genesis) {
            let mut state = manager.state().clone();
            state.recovered(lost, waits);
            let mut manager = Manager::restored(self.timing, state, genesis.cluster);
            manager.everybody_speaks(self.facts.version);
            self.manager = Some(manager);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use fawn_kv::manager::roster::Change;

    #[test]
    fn a_cluster_begins_once() {
        let mut committed = CommittedState::default();
        assert!(committed.state().is_err());
        let begin = Decision::Begin(testing::genesis());
        assert!(committed.apply(&begin, 0).did);
        let cluster = committed.cluster();
        assert!(committed.state().is_ok() && cluster.is_some());
        let other = Genesis { cluster: ClusterId([9; 16]), ..testing::genesis() };
        assert!(!committed.apply(&Decision::Begin(other), 0).did);
        assert_eq!(committed.cluster(), cluster);
    }

    #[test]
    fn members_have_names_and_so_have_their_nodes() {
        let mut committed = CommittedState::default();
        let enrol = Decision::Roster(Change::Enrol(testing::enrolment("a")));
        assert!(committed.apply(&enrol, 0).is_roster_new);
        assert!(!committed.apply(&enrol, 0).is_roster_new);
        let node = node_of(committed.member("a").unwrap().first);
        assert_eq!(committed.name_of(node), "a");
        assert_eq!(committed.name_of(NodeId(99)), "seat 99");
        assert!(committed.member("b").unwrap_err().contains("the members are a"));
    }

    #[test]
    fn a_snapshot_replaces_all() {
        let mut other = ReplicatedState::default();
        other.apply(&Decision::Begin(testing::genesis())).unwrap();
        let mut committed = CommittedState::default();
        committed.apply(&Decision::Roster(Change::Enrol(testing::enrolment("a"))), 0);
        committed.install(other.clone());
        assert!(committed.facts() == &other.facts && committed.state().ok() == other.state.as_ref());
    }
}
