//! Which nodes do not hear each other, by what they say of their neighbours.
//!
//! A pair counts as cut off from when one of the two says so until a while after it last did: that is a few heartbeats at
//! first, and each time that it begins again soon after, twice as long, so that a link that comes and goes changes chains
//! ever more rarely. Whoever is slow for a moment is back in its chains a moment later.
//!
//! A node that no other member answers says so itself, and counts as cut off from all of them for as long.

use crate::ids::NodeId;
use crate::timing::Timing;
use std::collections::BTreeMap;

/// Heartbeats for which a pair counts as cut off at least.
const HELD: u64 = 10;

/// Between two nodes, or between one and all others.
#[derive(Debug)]
struct LinkFailure {
    /// It began then, perhaps with breaks, and counts …
    since_us: u64,
    /// … until then …
    until_us: u64,
    /// … so long after it was last said.
    hold_us: u64,
    lasts: bool,
}

/// All of them that last, or did lately.
#[derive(Debug, Default)]
pub(super) struct LinkFailures {
    /// The lower name first. A node with itself: it is cut off from all others.
    pairs: BTreeMap<(NodeId, NodeId), LinkFailure>,
}

impl LinkFailures {
    /// One of two nodes has said that it does not hear the other.
    pub(super) fn said(&mut self, one: NodeId, other: NodeId, now_us: u64, timing: &Timing) {
        if one != other {
            self.add(pair(one, other), now_us, timing);
        }
    }

    /// A node has said that no other member answers it.
    pub(super) fn said_cut_off(&mut self, node: NodeId, now_us: u64, timing: &Timing) {
        self.add(pair(node, node), now_us, timing);
    }

    fn add(&mut self, pair: (NodeId, NodeId), now_us: u64, timing: &Timing) {
        let longest_us = timing.broken_us;
        let first_us = (HELD * timing.heartbeat_us).min(longest_us);
        let new = LinkFailure { since_us: now_us, until_us: now_us, hold_us: first_us, lasts: true };
        let outage = self.pairs.entry(pair).or_insert(new);
        if !outage.lasts {
            (outage.hold_us, outage.lasts) = ((2 * outage.hold_us).min(longest_us), true);
        }
        outage.until_us = now_us + outage.hold_us;
    }

    /// Time has passed.
    pub(super) fn pass(&mut self, now_us: u64, timing: &Timing) {
        self.pairs.retain(|_, outage| {
            outage.lasts = now_us < outage.until_us;
            now_us < outage.until_us + timing.broken_us
        });
    }

    /// A node has begun another life: what did not reach the last one may reach this one. Nor does a node count as cut off
    /// from all others if there is none of them in `others`, the nodes that have lived for long: it may reach this one.
    pub(super) fn begun_anew(&mut self, node: NodeId, others: &[NodeId]) {
        self.pairs.retain(|(one, other), _| {
            let was_alone = one == other && others.iter().all(|known| known == one);
            *one != node && *other != node && !was_alone
        });
    }

    /// Whether two nodes are kept out of one chain.
    pub(super) fn is_cut(&self, one: NodeId, other: NodeId) -> bool {
        one != other && self.since_us((one, other)).is_some()
    }

    /// Whether a node is cut off from all others.
    pub(super) fn is_cut_off(&self, node: NodeId) -> bool {
        self.since_us((node, node)).is_some()
    }

    /// Since when two nodes have been cut off from each other, perhaps with breaks, if they are.
    pub(super) fn since_us(&self, (one, other): (NodeId, NodeId)) -> Option<u64> {
        self.pairs.get(&pair(one, other)).filter(|outage| outage.lasts).map(|outage| outage.since_us)
    }

    /// Nodes that are cut off from each other, the lower name first.
    pub(super) fn cut(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let of_two = self.pairs.iter().filter(|((one, other), outage)| outage.lasts && one != other);
        of_two.map(|(pair, _)| *pair)
    }
}

fn pair(one: NodeId, other: NodeId) -> (NodeId, NodeId) {
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: NodeId = NodeId(1);
    const OTHER: NodeId = NodeId(2);

    /// One says every 100 ms for so long that it does not hear the other; for how long it counts after that.
    fn lasts_us(outages: &mut LinkFailures, now_us: &mut u64, for_us: u64) -> u64 {
        let timing = Timing::default();
        let end_us = *now_us + for_us;
        while *now_us < end_us {
            outages.said(OTHER, ONE, *now_us, &timing);
            outages.pass(*now_us, &timing);
            assert!(outages.is_cut(ONE, OTHER) && outages.cut().eq([(ONE, OTHER)]));
            *now_us += 100_000;
        }
        let said_us = *now_us - 100_000;
        while outages.is_cut(ONE, OTHER) {
            *now_us += 100_000;
            outages.pass(*now_us, &timing);
        }
        *now_us - said_us
    }

    #[test]
    fn whoever_is_slow_once_is_kept_out_for_a_moment_and_who_comes_and_goes_ever_longer() {
        let (mut outages, mut now_us) = (LinkFailures::default(), 0);
        let mut next = |for_us| lasts_us(&mut outages, &mut now_us, for_us) / 1_000_000;
        assert_eq!([next(100_000), next(30_000_000), next(100_000)], [2, 4, 8], "however long it lasts");
        assert_eq!([next(100_000), next(100_000), next(100_000), next(100_000)], [16, 32, 60, 60]);
        now_us += Timing::default().broken_us;
        outages.pass(now_us, &Timing::default());
        assert_eq!(lasts_us(&mut outages, &mut now_us, 100_000), 2_000_000, "that was long ago");
    }

    #[test]
    fn a_node_that_is_cut_off_from_all_is_no_pair() {
        let (mut outages, timing) = (LinkFailures::default(), Timing::default());
        outages.said(ONE, ONE, 0, &timing);
        assert!(!outages.is_cut_off(ONE), "nobody says that it does not hear itself");
        outages.said_cut_off(ONE, 5, &timing);
        assert!(outages.is_cut_off(ONE) && !outages.is_cut_off(OTHER));
        assert!(!outages.is_cut(ONE, ONE) && !outages.is_cut(ONE, OTHER) && outages.cut().next().is_none());
        outages.said_cut_off(ONE, 100_000, &timing);
        assert_eq!(outages.since_us((ONE, ONE)), Some(5));
        outages.pass(2_100_000, &timing);
        assert!(!outages.is_cut_off(ONE), "2 s after it was last said");
        outages.said_cut_off(ONE, 2_200_000, &timing);
        outages.begun_anew(ONE, &[OTHER]);
        assert!(!outages.is_cut_off(ONE));
        outages.said_cut_off(ONE, 2_300_000, &timing);
        outages.begun_anew(NodeId(3), &[ONE, OTHER]);
        assert!(outages.is_cut_off(ONE), "another has lived for long, and does not answer it");
        outages.begun_anew(NodeId(3), &[ONE]);
        assert!(!outages.is_cut_off(ONE), "whoever did not answer is gone, and this one may");
    }

    #[test]
    fn another_life_of_one_of_them_begins_with_nothing() {
        let (mut outages, timing) = (LinkFailures::default(), Timing::default());
        outages.said(ONE, OTHER, 0, &timing);
        outages.said(NodeId(3), NodeId(4), 0, &timing);
        outages.begun_anew(OTHER, &[ONE]);
        assert!(!outages.is_cut(ONE, OTHER) && outages.is_cut(NodeId(4), NodeId(3)));
    }
}
