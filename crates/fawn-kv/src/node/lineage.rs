//! Splits and merges at a node: ranges that are over leave what they have to those that come of them (FAWN SOSP'09 §3.4.4).

use crate::chain::{Context, Replica};
use crate::ids::{Attempt, Chain, Member, RangeId};
use crate::range::meta::Meta;
use crate::store::{RangeStore, RecoveredRange};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use fawn_ring::Interval;
use std::collections::BTreeMap;

/// Whether what comes of ranges that are over has their keys: the two parts of one, or all of two neighbours. Of those that
/// are not all here nothing is inherited, whatever is said.
pub(crate) fn divides(replicas: &BTreeMap<RangeId, Replica>, over: &[RangeId], chains: &[(RangeId, Chain)]) -> bool {
    let parents: Vec<Interval> = over.iter().filter_map(|range| Some(replicas.get(range)?.keys())).collect();
    if parents.len() < over.len() {
        return true;
    }
    let is_next = |lower: &Interval, upper: &Interval| lower.high.successor() == Some(upper.low);
    match (&parents[..], chains) {
        ([all], parts) => {
            let within = |keys: &Interval| all.contains(&keys.low) && all.contains(&keys.high);
            let apart = |at: usize| parts[..at].iter().all(|(_, other)| !other.keys.overlaps(&parts[at].1.keys));
            parts.iter().all(|(_, chain)| within(&chain.keys)) && (0..parts.len()).all(apart)
        }
        ([one, other], [(_, merged)]) => {
            let (lower, upper) = if one.low <= other.low { (one, other) } else { (other, one) };
            is_next(lower, upper) && merged.keys == Interval::new(lower.low, upper.high)
        }
        _ => false,
    }
}

/// `over` end with `attempt`, and `chains` come of them. What this node has of a range that is split, its parts inherit,
/// however much it is; of two that are merged only what is all there.
pub(crate) fn inherit<S: RangeStore>(
    replicas: &mut BTreeMap<RangeId, Replica>,
    me: Member,
    attempt: Attempt,
    over: &[RangeId],
    chains: &[(RangeId, Chain)],
    context: &mut Context<'_, S>,
) {
    let answers = chains.first().is_some_and(|(_, chain)| !chain.members.is_empty() && chain.answerer() == me);
    let mut parents: Vec<(Replica, bool)> = Vec::new();
    for range in over {
        let Some(mut parent) = replicas.remove(range) else { continue };
        let level = parent.close(attempt, answers, context);
        parents.push((parent, level));
    }
    parents.sort_by_key(|(parent, _)| parent.keys());
    let whole = parents.len() == over.len() && parents.iter().all(|(parent, _)| parent.is_complete());
    let level = parents.iter().all(|(_, level)| *level);
    let damaged = parents.iter().any(|(parent, _)| parent.is_damaged());
    let behind = parents.iter().any(|(parent, _)| parent.is_behind());
    let usable = whole && (over.len() == 1 || level);
    took(match (usable, over.len(), level) {
        (true, 1, true) => Path::SplitInherited,
        (true, 1, false) => Path::SplitInheritedLate,
        (true, ..) => Path::MergeInherited,
        (false, ..) => Path::MergeNotInherited,
    });
    let paused_us = parents.iter().filter_map(|(parent, _)| parent.paused_us()).min();
    let mut ranges: Vec<(RangeId, RecoveredRange)> = Vec::new();
    for (range, chain) in chains.iter().filter(|_| usable) {
        let meta = match &parents[..] {
            [(parent, _)] => parent.meta().cut(chain.keys),
            [(lower, _), (upper, _)] => {
                let keys = [lower.keys(), upper.keys()];
                lower.meta().clone().joined(upper.meta().clone(), keys, chain.after)
            }
            _ => Meta::default(),
        };
        let held = if level { Some(attempt) } else { parents[0].0.held() };
        let recovered = RecoveredRange { keys: chain.keys, held, meta, entries: Vec::new() };
        ranges.push((*range, recovered));
    }
    context.store.inherit(over, &ranges);
    for (range, recovered) in ranges {
        let mut replica = Replica::inherited(me, attempt, range, (recovered, paused_us), context.secret);
        if damaged {
            replica.damage();
        }
        if behind && !planted(Bug::ChildOfBehindIsSure) {
            replica.set_behind();
        }
        replicas.insert(range, replica);
    }
}
