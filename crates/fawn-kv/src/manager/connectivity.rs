//! Which nodes had better not be in one chain, as they do not hear each other.

use super::link_failures::LinkFailures;
use super::view::LeaderView;
use crate::ids::{Member, NodeId};
use crate::testing::coverage::{Path, took};
use crate::wire::version::RELAYS;
use std::collections::{BTreeMap, BTreeSet};

/// Who hears whom, and who is to make room for others.
#[derive(Debug, Default)]
pub(super) struct Connectivity {
    failures: LinkFailures,
    /// Who lived when it was last looked at.
    lived: Vec<Member>,
    /// Nodes that had better be in no chain with those that they are cut off from.
    worse: BTreeSet<NodeId>,
    /// Those of them that are cut off from all others.
    cut_off: BTreeSet<NodeId>,
}

impl Connectivity {
    /// Nothing is known.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// A node has begun another life; `others` have lived for long.
    pub(super) fn begin_anew(&mut self, node: NodeId, others: &[NodeId]) {
        self.failures.begun_anew(node, others);
    }

    /// A node says that it does not hear another.
    pub(super) fn note_silent(&mut self, node: NodeId, other: NodeId, view: &LeaderView, now_us: u64) {
        self.failures.said(node, other, now_us, view.timing());
    }

    /// A node says that no other member answers it.
    pub(super) fn note_cut_off(&mut self, node: NodeId, view: &LeaderView, now_us: u64) {
        self.failures.said_cut_off(node, now_us, view.timing());
    }

    /// Looks who hears whom of those that live, in the order of nodes. `heard_since_us` is since when a node is heard without a
    /// break. Returns whether anything is different from the last time.
    pub(super) fn look(
        &mut self,
        alive: Vec<Member>,
        heard_since_us: impl Fn(NodeId) -> u64,
        view: &LeaderView,
        now_us: u64,
    ) -> bool {
        self.failures.pass(now_us, view.timing());
        let cut_off = self.cut_off_from_all(&alive, view, now_us);
        let worse = self.worse_connected(&alive, &cut_off, (heard_since_us, view), now_us);
        let is_other = alive != self.lived || worse != self.worse || cut_off != self.cut_off;
        if is_other {
            (self.lived, self.worse, self.cut_off) = (alive, worse, cut_off);
        }
        is_other
    }

    /// Nodes that are kept out of chains with others, and with which: one of the two does not hear the other.
    pub(super) fn kept_out(&self) -> BTreeSet<(NodeId, NodeId)> {
        let order = |(one, other)| if self.worse.contains(&one) { (one, other) } else { (other, one) };
        self.failures.cut().map(order).filter(|(node, _)| self.worse.contains(node)).collect()
    }

    /// Nodes that had better be in no chain with those that they are cut off from.
    pub(super) fn worse(&self) -> &BTreeSet<NodeId> {
        &self.worse
    }

    /// Nodes that are cut off from all others.
    pub(super) fn cut_off(&self) -> &BTreeSet<NodeId> {
        &self.cut_off
    }

    /// Whether two nodes are not to be in one chain.
    pub(super) fn is_cut(&self, one: NodeId, other: NodeId) -> bool {
        let is_cut_off = self.cut_off.contains(&one) || self.cut_off.contains(&other);
        one != other && (is_cut_off || self.failures.is_cut(one, other))
    }

    /// Whether a node had better not be in a chain with these.
    pub(super) fn is_cut_off(&self, node: NodeId, from: &[NodeId]) -> bool {
        self.worse.contains(&node) && from.iter().any(|other| self.is_cut(node, *other))
    }

    /// Nodes that no other member answers. None if that is so of all that live: then nothing is better without them. So a node
    /// counts only when the others have had time to say the same.
    fn cut_off_from_all(&self, alive: &[Member], view: &LeaderView, now_us: u64) -> BTreeSet<NodeId> {
        let all_had_time = |since_us: u64| now_us >= since_us + 2 * view.timing().heartbeat_us;
        let since_us = |node: &NodeId| self.failures.since_us((*node, *node));
        let said: BTreeSet<NodeId> =
            alive.iter().map(|member| member.node).filter(|node| since_us(node).is_some()).collect();
        if said.len() == alive.len() {
            return BTreeSet::new();
        }
        said.into_iter().filter(|node| since_us(node).is_some_and(all_had_time)).collect()
    }

    /// Nodes that are cut off from all others; and of those that are cut off from each other, the ones with the most such
    /// links, until none is left. `alive` is in the order of nodes.
    fn worse_connected(
        &self,
        alive: &[Member],
        cut_off: &BTreeSet<NodeId>,
        (heard_since_us, view): (impl Fn(NodeId) -> u64, &LeaderView),
        now_us: u64,
    ) -> BTreeSet<NodeId> {
        let counts =
            |node: &NodeId| alive.binary_search_by_key(node, |member| member.node).is_ok() && !cut_off.contains(node);
        let is_link = |(one, other): &(NodeId, NodeId)| counts(one) && counts(other);
        let mut links: Vec<(NodeId, NodeId)> = self.failures.cut().filter(is_link).collect();
        let mut worse = cut_off.clone();
        while !links.is_empty() {
            let mut counts: BTreeMap<NodeId, usize> = BTreeMap::new();
            for (one, other) in &links {
                *counts.entry(*one).or_default() += 1;
                *counts.entry(*other).or_default() += 1;
            }
            // Of as many, whoever is heard again for the shortest time.
            let worst = counts.iter().map(|(node, count)| (*count, heard_since_us(*node), *node)).max();
            let (most, _, worst) = worst.expect("there are links");
            let of_worst = |(one, other): &(NodeId, NodeId)| *one == worst || *other == worst;
            let is_even = |(one, other): &(NodeId, NodeId)| counts[one] == most && counts[other] == most;
            let is_open = |link: &(NodeId, NodeId)| {
                of_worst(link) && is_even(link) && self.may_be_one_sided(*link, alive, view, now_us)
            };
            if let Some(at) = links.iter().position(is_open) {
                took(Path::CutOffAwaited);
                links.remove(at);
                continue;
            }
            links.retain(|(one, other)| *one != worst && *other != worst);
            worse.insert(worst);
        }
        worse
    }

    /// Of two nodes, one of which does not hear the other, one may still say that no other member answers it: it takes longer to
    /// find that out. A chain that went on with that one alone would be out of reach, and nobody could copy what it took meanwhile.
    /// Where both have another neighbour, that one would miss whoever is cut off at about the same time.
    fn may_be_one_sided(&self, link: (NodeId, NodeId), alive: &[Member], view: &LeaderView, now_us: u64) -> bool {
        let are_watched =
            || has_other_neighbour(link.0, link.1, alive, view) && has_other_neighbour(link.1, link.0, alive, view);
        let timing = view.timing();
        let is_new = |since_us: u64| {
            let (soon_us, late_us) = (since_us + 3 * timing.heartbeat_us, since_us + 2 * timing.silent_us);
            now_us < soon_us || (now_us < late_us && !are_watched())
        };
        match (self.failures.is_cut_off(link.0), self.failures.is_cut_off(link.1)) {
            (true, true) => false,
            // It is about to count.
            (true, false) | (false, true) => true,
            (false, false) => view.version() >= RELAYS && self.failures.since_us(link).is_some_and(is_new),
        }
    }
}

/// Whether a node is in a chain next to one that lives, other than `but`.
fn has_other_neighbour(node: NodeId, but: NodeId, alive: &[Member], view: &LeaderView) -> bool {
    let lives = |other: NodeId| alive.binary_search_by_key(&other, |member| member.node).is_ok();
    view.state().ranges.values().any(|range| {
        range.chain.members.windows(2).any(|pair| {
            let (one, next) = (pair[0].node, pair[1].node);
            let other = if one == node { next } else { one };
            (one == node || next == node) && other != but && lives(other)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{leading, member};
    use super::*;

    #[test]
    fn of_nodes_that_do_not_hear_each_other_the_one_with_the_most_broken_links_makes_room() {
        let (view, since, mut connectivity) = (leading(3, 3), |_| 0, Connectivity::default());
        let alive = || [1, 2, 3].map(member).to_vec();
        let [one, two, three] = [1, 2, 3].map(NodeId);
        assert!(connectivity.look(alive(), since, &view, 0), "they have come");
        assert!(!connectivity.look(alive(), since, &view, 1));
        connectivity.note_silent(two, one, &view, 2);
        connectivity.note_silent(three, two, &view, 2);
        assert!(connectivity.look(alive(), since, &view, 3));
        assert_eq!(connectivity.worse(), &BTreeSet::from([two]));
        assert_eq!(connectivity.kept_out(), BTreeSet::from([(two, one), (two, three)]));
        assert!(connectivity.is_cut_off(two, &[three]) && !connectivity.is_cut_off(one, &[two, three]));
        assert!(connectivity.is_cut(one, two) && !connectivity.is_cut(one, three));
        connectivity.clear();
        assert!(connectivity.worse().is_empty() && !connectivity.is_cut(one, two));
    }

    #[test]
    fn a_node_counts_as_cut_off_from_all_once_the_others_had_time_to_say_the_same() {
        let (view, since, mut connectivity) = (leading(2, 2), |_| 0, Connectivity::default());
        let alive = || [1, 2].map(member).to_vec();
        let later_us = 2 * view.timing().heartbeat_us;
        connectivity.note_cut_off(NodeId(2), &view, 0);
        connectivity.look(alive(), since, &view, later_us - 1);
        assert!(connectivity.cut_off().is_empty());
        connectivity.look(alive(), since, &view, later_us);
        assert_eq!(connectivity.cut_off(), &BTreeSet::from([NodeId(2)]));
        connectivity.note_cut_off(NodeId(1), &view, later_us);
        connectivity.look(alive(), since, &view, 2 * later_us);
        assert!(connectivity.cut_off().is_empty(), "nothing is better without both");
    }
}
