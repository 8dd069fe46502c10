//! Makes a failing run small: leaves out faults, then clients, keys, nodes and time, as long as it still fails the same way.
//!
//! Whatever is left out changes the scenario of everything after it, so a try may take another seed as well: the faults are
//! written down and stay, and only the network, clocks and disks are other ones.

use fawn_kv::ids::Rules;

use crate::cluster::script::Script;
use crate::cluster::script::plan::Plan;
use crate::cluster::script::settings;
use crate::cluster::summary::Violation;

/// Seeds that each smaller run is tried with, the last one that failed first.
const SEEDS: u64 = 4;

/// What a run fails with, if it does. A broken assertion is a violation as well.
fn violation_of(script: &Script) -> Option<Violation> {
    script.tell().0.err()
}

/// What kind of violation it is: its plain words, without names, numbers and states.
pub fn kind_of(what: &str) -> String {
    let plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let line = what.lines().next().unwrap_or_default();
    line.split([' ', ':']).filter(|word| !word.is_empty()).filter(plain).take(6).collect::<Vec<_>>().join(" ")
}

/// The smallest run found that fails as this one does, and what with; `None` if this one does not fail.
pub fn shrink(script: &Script) -> Option<(Script, Violation)> {
    let mut violation = violation_of(script)?;
    let kind = kind_of(&violation.what);
    let mut best = script.clone();
    let mut fails = |smaller: Script, best: &mut Script| {
        for try_number in 0..SEEDS {
            let candidate = Script { seed: smaller.seed.wrapping_add(try_number * 1_000_003), ..smaller.clone() };
            if let Some(found) = violation_of(&candidate).filter(|found| kind_of(&found.what) == kind) {
                (*best, violation) = (candidate, found);
                return true;
            }
        }
        false
    };
    loop {
        let before = (best.actions.len(), size(&best.plan));
        minimal(&best.actions.clone(), |actions| {
            fails(Script { actions: actions.to_vec(), ..best.clone() }, &mut best)
        });
        for smaller in SMALLER {
            while let Some(plan) = smaller(&best.plan).filter(|plan| settings::check(plan).is_ok()) {
                let in_time = best.actions.iter().filter(|(at_us, _)| *at_us < plan.faults_us);
                let actions = in_time.filter_map(|(at_us, action)| Some((*at_us, action.fitted(&plan)?))).collect();
                if !fails(Script { plan, actions, ..best.clone() }, &mut best) {
                    break;
                }
            }
        }
        if (best.actions.len(), size(&best.plan)) == before {
            return Some((best, violation));
        }
    }
}

/// Ways to make a plan smaller, each by a step; `None` where it cannot be smaller.
const SMALLER: [fn(&Plan) -> Option<Plan>; 15] = [
    |plan| (plan.nodes > 1).then_some(Plan { nodes: plan.nodes.saturating_sub(1), ..*plan }),
    |plan| {
        let replicas = plan.replicas.saturating_sub(1);
        let min_write_replicas = plan.rules.min_write_replicas.min(u8::try_from(replicas).unwrap_or(u8::MAX));
        let rules = Rules { min_write_replicas, ..plan.rules };
        (replicas > 0).then_some(Plan { replicas, rules, ..*plan })
    },
    |plan| (plan.clients > 1).then_some(Plan { clients: plan.clients / 2, ..*plan }),
    |plan| (plan.clients > 1).then_some(Plan { clients: plan.clients.saturating_sub(1), ..*plan }),
    |plan| (plan.keys > 1).then_some(Plan { keys: plan.keys / 2, ..*plan }),
    |plan| (plan.keys > 1).then_some(Plan { keys: plan.keys.saturating_sub(1), ..*plan }),
    |plan| (plan.virtual_ids > 1).then_some(Plan { virtual_ids: plan.virtual_ids / 2, ..*plan }),
    |plan| (plan.fronts > 0).then_some(Plan { fronts: plan.fronts.saturating_sub(1), ..*plan }),
    |plan| (plan.late > 0).then_some(Plan { late: plan.late.saturating_sub(1), ..*plan }),
    |plan| (plan.adopts > 0).then_some(Plan { adopts: 0, ..*plan }),
    |plan| (plan.domains > 0).then_some(Plan { domains: 0, ..*plan }),
    |plan| plan.hasty.then_some(Plan { hasty: false, ..*plan }),
    |plan| plan.lost_clock.then_some(Plan { lost_clock: false, ..*plan }),
    |plan| plan.on_flash.then_some(Plan { on_flash: false, ..*plan }),
    |plan| (plan.faults_us > 500_000).then_some(Plan { faults_us: plan.faults_us * 4 / 5, ..*plan }),
];

fn size(plan: &Plan) -> u64 {
    let parts = plan.adopts
        + plan.domains
        + plan.nodes
        + plan.replicas
        + plan.clients
        + plan.virtual_ids
        + plan.fronts
        + plan.late;
    let odd = u64::from(plan.hasty) + u64::from(plan.lost_clock) + u64::from(plan.on_flash);
    u64::from(parts) + plan.keys + odd + plan.faults_us
}

/// Leaves out as many items as it can while `fails` holds of the rest: halves, then smaller pieces, then single ones.
/// After a failure `fails` was last true of what is returned.
pub fn minimal<T: Clone>(items: &[T], mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut rest = items.to_vec();
    let mut piece = rest.len().div_ceil(2).max(1);
    loop {
        let (before, mut at) = (rest.len(), 0);
        while at < rest.len() {
            let end = (at + piece).min(rest.len());
            let smaller: Vec<T> = rest[..at].iter().chain(&rest[end..]).cloned().collect();
            if fails(&smaller) {
                rest = smaller;
            } else {
                at = end;
            }
        }
        if piece > 1 {
            piece = piece.div_ceil(2);
        } else if rest.len() == before {
            return rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_all_that_is_needed() {
        let items: Vec<u32> = (0..100).collect();
        let mut tries = 0;
        let rest = minimal(&items, |rest| {
            tries += 1;
            [3, 50, 51, 99].iter().all(|needed| rest.contains(needed))
        });
        assert_eq!(rest, [3, 50, 51, 99]);
        assert!(tries < 100, "{tries} tries");
        assert_eq!(minimal(&items, |_| true), [0_u32; 0]);
        assert_eq!(minimal(&items, |_| false), items);
    }

    #[test]
    fn a_kind_has_no_numbers() {
        let kind = kind_of("Member { node: NodeId(3) } commits another record than was committed before: Entry");
        assert_eq!(kind, "node commits another record than was");
        assert_eq!(kind_of("it never comes to rest: client 3 waits"), "it never comes to rest client");
    }
}
