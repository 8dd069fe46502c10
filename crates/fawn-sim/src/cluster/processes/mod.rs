//! The processes of a cluster: nodes, front-ends and managers.

mod clock;
pub mod front;
pub mod managers;
pub mod node;
pub mod store;

use fawn_check::random::Random;
use fawn_kv::node::Node;
use fawn_ring::Key;

use crate::cluster::network::party::Party;
use crate::cluster::processes::front::FrontProcess;
use crate::cluster::processes::managers::Managers;
use crate::cluster::processes::node::NodeProcess;
use crate::cluster::processes::store::node_store::NodeStore;
use crate::cluster::script::plan::Plan;
use crate::cluster::summary::Summary;

/// All processes. Those of nodes and front-ends go by their numbers.
pub struct Processes {
    pub nodes: Vec<NodeProcess>,
    pub fronts: Vec<FrontProcess>,
    pub managers: Managers,
    /// The first so many nodes are started on the stores of one plain directory.
    adopts: usize,
    /// Archives acknowledge before they sync.
    archives_rest: bool,
}

impl Processes {
    /// The processes of a plan, none of which runs yet. Front-ends give up late if they are `patient`.
    pub fn new(plan: &Plan, random: &mut Random, managers: Managers, patient: bool) -> Self {
        let lost_clock = if plan.lost_clock { random.below(u64::from(plan.nodes)) } else { u64::MAX };
        let nodes = 0..u64::from(plan.nodes + plan.late);
        let nodes = nodes.map(|number| NodeProcess::new(random, number == lost_clock, plan)).collect();
        let fronts = (0..plan.fronts).map(|number| FrontProcess::new(number, patient, random)).collect();
        Self { nodes, fronts, managers, adopts: plan.adopts as usize, archives_rest: plan.rests }
    }

    /// How many nodes and front-ends there are.
    pub fn seats(&self) -> (usize, usize) {
        (self.nodes.len(), self.fronts.len())
    }

    /// The nodes that run.
    pub fn running(&self) -> impl Iterator<Item = &Node<NodeStore>> {
        self.nodes.iter().filter_map(NodeProcess::node)
    }

    /// The latest time that the range of a key has come to on any node that runs.
    pub fn time_at(&self, key: &Key) -> u32 {
        let replicas = self.running().flat_map(|node| node.replicas().map(|(_, replica)| replica));
        replicas
            .filter(|replica| replica.keys().contains(key))
            .map(|replica| replica.meta().alive.time)
            .max()
            .unwrap_or(0)
    }

    /// Whether some node was started, and is down.
    pub fn is_any_down(&self) -> bool {
        self.nodes.iter().any(NodeProcess::is_down)
    }

    /// Whether a party runs, and goes on.
    pub fn runs(&self, party: Party, now_us: u64) -> bool {
        match party {
            Party::Node(number) => self.nodes[number].runs(now_us),
            Party::Front(number) => self.fronts[number].runs(now_us),
            Party::Manager(_) | Party::Client(_) => true,
        }
    }

    /// Whether no other seat answers a party.
    pub fn note_cut_off(&mut self, party: Party, is_cut_off: bool) {
        match party {
            Party::Front(number) => self.fronts[number].note_cut_off(is_cut_off),
            Party::Node(number) => {
                self.nodes[number].node_mut().into_iter().for_each(|node| node.note_cut_off(is_cut_off));
            }
            Party::Manager(_) | Party::Client(_) => {}
        }
    }

    /// Whether everything that a node has is on all the other members of its chains, of which there are some.
    pub fn may_lose_disk(&self, number: usize) -> bool {
        let Some(state) = self.managers.newest_state() else { return false };
        if number < self.adopts && state.adopted.is_empty() {
            return false;
        }
        // Archives that rest may lack what it alone has synced.
        if self.archives_rest && !state.nodes.keys().any(|id| id.number() as usize == number && id.is_archive()) {
            return false;
        }
        // Nobody has a part in a chain before the managers know it.
        let Some(id) = state.nodes.keys().copied().find(|id| id.number() as usize == number) else { return true };
        state.ranges.iter().all(|(range, state)| {
            let is_to_be = state.pending.iter().any(|pending| pending.target.iter().any(|member| member.node == id));
            if !state.chain.has_node(id) {
                return !is_to_be;
            }
            let others = state.chain.members.iter().filter(|member| member.node != id);
            state.chain.members.len() > 1
                && state.pending.is_none()
                && others.into_iter().all(|member| {
                    let replica =
                        self.nodes[member.node.number() as usize].node().and_then(|node| node.replica(*range));
                    replica.is_some_and(|replica| replica.chain() == Some(&state.chain))
                })
        })
    }

    /// What they add to what a run came to.
    pub fn summarize(&self, summary: &mut Summary) {
        for front in &self.fronts {
            summary.fronts.add(&front.counts());
        }
    }
}
