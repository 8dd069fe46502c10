//! What every part of a leader may read: what is decided, the ring that follows from it, how long things take, since when
//! this manager leads.

use super::settings::Settings;
use super::state::{Command, Standing, State, StateChange};
use super::wedge_state::Wedges;
use crate::ids::NodeId;
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Timing;
use crate::wire::version::OLDEST;
use fawn_ring::Ring;

/// The cluster as its leader sees it.
#[derive(Debug)]
pub(super) struct LeaderView {
    timing: Timing,
    state: State,
    /// The places of all nodes that are members in `state`.
    ring: Ring,
    /// The cluster's: everybody speaks it.
    version: u8,
    leads_since_us: Option<u64>,
}

impl LeaderView {
    /// The view of a manager that does not lead.
    pub(super) fn new(timing: Timing, state: State) -> Self {
        let mut view = Self { timing, state, ring: Ring::new(), version: OLDEST, leads_since_us: None };
        for node in view.state.nodes.keys().copied().collect::<Vec<_>>() {
            view.place(node);
        }
        view
    }

    pub(super) fn timing(&self) -> &Timing {
        &self.timing
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.state.settings
    }

    pub(super) fn ring(&self) -> &Ring {
        &self.ring
    }

    pub(super) fn version(&self) -> u8 {
        self.version
    }

    pub(super) fn everybody_speaks(&mut self, version: u8) {
        self.version = self.version.max(version);
    }

    /// The key space is cut into so many wedges.
    pub(super) fn cut_wedges(&mut self, count: u32) {
        self.state.wedges = Wedges::new(count);
    }

    /// Whether it believes that it leads.
    pub(super) fn leads(&self) -> bool {
        self.leads_since_us.is_some()
    }

    /// Since when it leads, if it does.
    pub(super) fn leads_since_us(&self) -> Option<u64> {
        self.leads_since_us
    }

    pub(super) fn lead(&mut self, since_us: Option<u64>) {
        self.leads_since_us = since_us;
    }

    /// Whether it has led for so long.
    pub(super) fn has_led_for(&self, long_us: u64, now_us: u64) -> bool {
        self.leads_since_us.is_some_and(|since_us| now_us >= since_us + long_us)
    }

    /// Applies a command to the state, and keeps the ring as the state has it.
    pub(super) fn apply(&mut self, command: &Command) -> Option<StateChange> {
        let did = self.state.apply(command)?;
        if let Command::Register { node, .. } | Command::Stand { node, .. } = command {
            self.place(*node);
        }
        Some(did)
    }

    /// Puts a node on the ring, where it is to stand now, or takes it off; with all others of its machine, whose domain may be
    /// another now.
    fn place(&mut self, id: NodeId) {
        let Some(machine) = self.state.nodes.get(&id).map(|node| node.machine) else { return };
        let of_machine = || self.state.nodes.iter().filter(|(_, node)| node.machine == machine);
        for (node, _) in of_machine() {
            self.ring.remove_node(*node);
        }
        for (id, node) in of_machine().filter(|(_, node)| node.standing == Standing::Member) {
            self.ring
                .insert_node(&node.place(*id))
                .expect("names of nodes give distinct places, and a machine is in one domain");
        }
    }

    /// Members that a chain is to have: no more than there are machines.
    pub(super) fn replicas(&self) -> usize {
        (self.state.settings.replicas as usize).min(self.ring.machines())
    }

    /// Whether a lease that this leader granted until then, or not at all, is over, whoever else granted it.
    pub(super) fn is_over(&self, granted: Option<u64>, now_us: u64) -> bool {
        let granted = granted.unwrap_or(0);
        if planted(Bug::NewLeaderDoesNotWait) {
            return now_us >= granted;
        }
        let inherited = self.leads_since_us.expect("only a leader asks") + self.state.settings.leases.longest_us();
        now_us >= granted.max(inherited)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ids::{ClusterId, Incarnation, Member, Rules};
    use crate::manager::Leases;
    use fawn_ring::MachineId;

    pub(in super::super) const CLUSTER: ClusterId = ClusterId([1; 16]);

    /// The first life of a node.
    pub(in super::super) fn member(node: u64) -> Member {
        Member { node: NodeId(node), incarnation: Incarnation(1) }
    }

    fn register(node: u64) -> Command {
        let (node, machine) = (NodeId(node), MachineId(node));
        Command::Register { node, nonce: 1, machine, domain: None, virtual_ids: 1 }
    }

    /// A leader since time 0 of a formed cluster of nodes 1 to `nodes`.
    pub(in super::super) fn leading(nodes: u64, replicas: u32) -> LeaderView {
        let settings = Settings { replicas, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
        let mut view = LeaderView::new(Timing::default(), State::new(settings));
        view.lead(Some(0));
        view.apply(&Command::Found(CLUSTER)).unwrap();
        for node in 1..=nodes {
            view.apply(&register(node)).unwrap();
        }
        view.apply(&Command::Form).unwrap();
        view
    }

    #[test]
    fn the_ring_follows_the_state() {
        let mut view = leading(3, 5);
        assert_eq!((view.ring().machines(), view.replicas()), (3, 3), "no more members than machines");
        let stand = |standing| Command::Stand { node: NodeId(2), incarnation: Incarnation(1), standing };
        view.apply(&stand(Standing::Gone)).unwrap();
        assert_eq!(view.ring().machines(), 2);
        let restored = LeaderView::new(Timing::default(), view.state().clone());
        assert_eq!(restored.ring().virtual_nodes(), view.ring().virtual_nodes());
        view.apply(&stand(Standing::Member)).unwrap();
        assert_eq!(view.ring().machines(), 3);
    }

    #[test]
    fn a_lease_is_over_once_neither_this_leader_nor_one_before_can_have_granted_it() {
        let mut view = leading(1, 1);
        let longest_us = view.settings().leases.longest_us();
        view.lead(Some(1000));
        assert!(!view.is_over(None, 999 + longest_us), "another leader may have granted it");
        assert!(view.is_over(None, 1000 + longest_us));
        assert!(!view.is_over(Some(2000 + longest_us), 1999 + longest_us));
        assert!(view.has_led_for(500, 1500) && !view.has_led_for(500, 1499));
        view.lead(None);
        assert!(!view.has_led_for(0, 5000));
    }

    #[test]
    fn the_version_never_falls() {
        let mut view = leading(1, 1);
        view.everybody_speaks(OLDEST + 1);
        view.everybody_speaks(OLDEST);
        assert_eq!(view.version(), OLDEST + 1);
    }
}
