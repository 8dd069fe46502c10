//! What a manager has to do when virtual nodes join or leave (FAWN SOSP'09 §3.4.4).
//!
//! The paper: a new virtual ID splits one range into two, and becomes a member of R chains; a leave merges the range
//! that the node owned, and gives each of its R chains another member. With chains on distinct machines, this holds in
//! a slightly wider form. For one virtual ID v that joins (a leave is a join backwards):
//!
//! 1. One range is split, at v. Every other range stays.
//! 2. A chain changes exactly if v is in it afterwards.
//! 3. The ranges whose chains change are neighbours: the one that v owns and those before it, with no gap.
//! 4. A changed chain is the old one with v put in at its place in ring order, and at most one member dropped.
//!
//! These are the paper's R ranges where v and the R virtual IDs before it are on distinct machines and in distinct
//! domains. Where several of those before v are on one machine they count once, so that v reaches further back; where
//! v's own machine comes up, v reaches no further than that.
//!
//! Why (2) holds: a chain takes, in ring order, the first virtual node of each domain and then those of further machines,
//! as many of either as R, the domains and the machines allow. If v is not taken, the others are taken as if v were not
//! there. If v changes how many domains or machines there are, *and* that matters, there were fewer than R of them, and
//! every chain takes the only virtual node of the new one: v.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use crate::{Key, KeyRange, Ring, VirtualNode};

/// One change of one range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A range becomes two; both keep its members.
    Split {
        /// The range.
        range: KeyRange,
        /// The last position of the lower part.
        at: Key,
    },
    /// A range gets other members, or the same in another order.
    Replace {
        /// The range.
        range: KeyRange,
        /// The members that it has, head first.
        before: Vec<VirtualNode>,
        /// The members that it shall have, head first.
        after: Vec<VirtualNode>,
    },
    /// Two adjacent ranges, which have the same members in the same order, become one.
    Merge {
        /// The first range clockwise.
        lower: KeyRange,
        /// The range that begins where `lower` ends. Its owner becomes the owner of both.
        upper: KeyRange,
    },
}

/// The changes that lead from the ranges and chains of `before` to those of `after`: splits, then replaced members, then
/// merges. Splits and merges have to be made in this order; members may be replaced in any order once the splits are
/// made.
///
/// Chains are compared as sequences of *nodes*: if two virtual IDs of one node take turns, nothing needs to be done.
/// Neither ring is empty: a cluster has a member as long as it has data. Takes time in proportion to the larger ring.
pub fn changes(before: &Ring, after: &Ring, replicas: usize) -> Vec<Change> {
    assert!(!before.is_empty() && !after.is_empty(), "a cluster has a member as long as it has data");
    let old: BTreeSet<Key> = before.virtual_nodes().iter().map(|node| node.id.0).collect();
    let new: BTreeSet<Key> = after.virtual_nodes().iter().map(|node| node.id.0).collect();
    let mut ends = old.clone();
    let mut changes = Vec::new();
    for at in new.difference(&old) {
        changes.push(Change::Split { range: KeyRange::new(end_before(&ends, at), end_after(&ends, at)), at: *at });
        ends.insert(*at);
    }
    for last in &ends {
        let chain = |ring: &Ring| ring.chain_of_key(last, replicas).expect("neither ring is empty");
        let (before, after) = (chain(before), chain(after));
        if !before.iter().map(|member| member.node).eq(after.iter().map(|member| member.node)) {
            changes.push(Change::Replace { range: KeyRange::new(end_before(&ends, last), *last), before, after });
        }
    }
    for at in old.difference(&new) {
        let lower = KeyRange::new(end_before(&ends, at), *at);
        let upper = KeyRange::new(*at, end_after(&ends, at));
        changes.push(Change::Merge { lower, upper });
        ends.remove(at);
    }
    changes
}

/// The end of a range before a position, round the ring.
fn end_before(ends: &BTreeSet<Key>, at: &Key) -> Key {
    *ends.range(..at).next_back().or(ends.last()).expect("a ring that is not empty has an end of a range")
}

/// The end of a range after a position, round the ring.
fn end_after(ends: &BTreeSet<Key>, at: &Key) -> Key {
    *ends
        .range((Excluded(at), Unbounded))
        .next()
        .or(ends.first())
        .expect("a ring that is not empty has an end of a range")
}
