//! Which neighbours of a node in chains answer it.

use crate::ids::{Address, NodeId};
use crate::timing::Timing;
use crate::wire::Message;
use std::collections::BTreeMap;

/// A node next to this one in a chain, or one that was and has not been heard since.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    /// When it was heard, or became one, last.
    heard_us: u64,
    /// When it was one last.
    last_us: u64,
}

impl Neighbour {
    fn is_silent(&self, now_us: u64, timing: &Timing) -> bool {
        now_us >= self.heard_us + timing.silent_us
    }
}

/// The neighbours of a node.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    by_node: BTreeMap<NodeId, Neighbour>,
    pinged_us: u64,
    /// When this node last looked at the time.
    ticked_us: u64,
}

impl Neighbours {
    /// A node was heard.
    pub(super) fn note_heard(&mut self, node: NodeId, now_us: u64) {
        if let Some(neighbour) = self.by_node.get_mut(&node) {
            neighbour.heard_us = now_us;
        }
    }

    /// Those that do not answer, in the order of nodes.
    pub(super) fn silent(&self, timing: &Timing, now_us: u64) -> impl Iterator<Item = NodeId> {
        let silent = self.by_node.iter().filter(move |(_, neighbour)| neighbour.is_silent(now_us, timing));
        silent.map(|(node, _)| *node)
    }

    /// While this node did not run, it could hear nobody.
    pub(super) fn forgive_pause(&mut self, timing: &Timing, now_us: u64) {
        let paused_us = now_us.saturating_sub(self.ticked_us);
        self.ticked_us = now_us;
        if paused_us >= timing.silent_us / 3 {
            for neighbour in self.by_node.values_mut() {
                neighbour.heard_us = (neighbour.heard_us + paused_us).min(now_us);
            }
        }
    }

    /// Asks neighbours whether they are there, a few times before they would count as silent; `current` are those of now.
    pub(super) fn ping(
        &mut self,
        current: impl Iterator<Item = NodeId>,
        timing: &Timing,
        now_us: u64,
        out: &mut Vec<(Address, Message)>,
    ) {
        let every_us = timing.silent_us / 3;
        if now_us < self.pinged_us + every_us {
            return;
        }
        self.pinged_us = now_us;
        for node in current {
            self.by_node.entry(node).or_insert(Neighbour { heard_us: now_us, last_us: now_us }).last_us = now_us;
        }
        // Whoever is kept out of chains because it was silent may come back as soon as it is heard.
        self.by_node.retain(|_, neighbour| {
            let was_one = now_us < neighbour.last_us + timing.broken_us;
            neighbour.last_us == now_us || (was_one && neighbour.is_silent(now_us, timing))
        });
        for (node, neighbour) in &self.by_node {
            if now_us >= neighbour.heard_us + every_us {
                out.push((Address::Node(*node), Message::Ping));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: NodeId = NodeId(2);

    /// Looks at the time every 100 ms, from one time to another, while the other is a neighbour; how often it is pinged.
    fn pings(neighbours: &mut Neighbours, from_us: u64, to_us: u64) -> usize {
        let (timing, mut out) = (Timing::default(), Vec::new());
        for now_us in (from_us..to_us).step_by(100_000) {
            neighbours.forgive_pause(&timing, now_us);
            neighbours.ping([OTHER, OTHER].into_iter(), &timing, now_us, &mut out);
        }
        out.len()
    }

    #[test]
    fn a_neighbour_is_pinged_before_it_counts_as_silent() {
        let (mut neighbours, timing, start_us) = (Neighbours::default(), Timing::default(), 1_000_000);
        assert!(pings(&mut neighbours, start_us, start_us + timing.silent_us) >= 1);
        assert_eq!(neighbours.silent(&timing, start_us + timing.silent_us - 1).count(), 0);
        assert!(neighbours.silent(&timing, start_us + timing.silent_us).eq([OTHER]));
        neighbours.note_heard(OTHER, start_us + timing.silent_us);
        assert_eq!(neighbours.silent(&timing, start_us + timing.silent_us).count(), 0);
    }

    #[test]
    fn a_pause_of_this_node_makes_no_neighbour_silent() {
        let (mut neighbours, timing, later_us) = (Neighbours::default(), Timing::default(), 60_000_000);
        pings(&mut neighbours, 1_000_000, 1_100_000);
        neighbours.forgive_pause(&timing, later_us);
        assert_eq!(neighbours.silent(&timing, later_us).count(), 0);
    }

    #[test]
    fn whoever_was_a_neighbour_is_forgotten_once_it_is_heard() {
        let (mut neighbours, timing) = (Neighbours::default(), Timing::default());
        pings(&mut neighbours, 1_000_000, 1_100_000);
        let late_us = 1_000_000 + timing.silent_us;
        let ping = |neighbours: &mut Neighbours, now_us| {
            neighbours.ping(std::iter::empty(), &timing, now_us, &mut Vec::new());
            neighbours.silent(&timing, now_us + timing.silent_us).count()
        };
        assert_eq!(ping(&mut neighbours, late_us), 1, "it may come back");
        neighbours.note_heard(OTHER, late_us + timing.silent_us);
        assert_eq!(ping(&mut neighbours, late_us + timing.silent_us), 0);
    }
}
