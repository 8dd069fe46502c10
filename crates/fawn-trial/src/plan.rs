//! Which faults come when, drawn from a seed before anything runs.
//!
//! A plan fixes kinds, times and for each fault a number; which process it hits is drawn from that number among those
//! that are there when its time has come. So one seed gives one plan, whatever the cluster makes of it.

use std::fmt;
use std::time::Duration;

use fawn_check::random::Random;

use crate::fault::FaultKind;

/// A fault to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// After the load began. Faults wait for those before them that do not overlap.
    pub at: Duration,
    /// What goes wrong.
    pub kind: FaultKind,
    /// How long until it is mended.
    pub hold: Duration,
    /// What it hits, among what there is.
    pub draw: u64,
    /// It begins though others are in force.
    pub overlaps: bool,
}

/// Time before the first fault: the load has begun, and something is there to be lost.
const CALM: Duration = Duration::from_secs(4);

/// Draws the faults of a trial of some length.
///
/// Every kind comes once before any comes again, so that a short run has seen most of them; from then on they are drawn
/// by weight.
pub fn plan(seed: u64, length: Duration, kinds: &[FaultKind]) -> Vec<PlannedFault> {
    let mut random = Random::new(seed ^ 0x7472_6961_6c00);
    let mut planned = Vec::new();
    let mut unseen = shuffled(kinds, &mut random);
    let mut at = CALM;
    while at < length && !kinds.is_empty() {
        let kind = unseen.pop().unwrap_or_else(|| draw(kinds, &mut random));
        let hold = hold(kind, &mut random);
        planned.push(PlannedFault { at, kind, hold, draw: random.word(), overlaps: false });
        let second = if kind.may_overlap() && random.chance(1, 4) { second(kinds, &mut random) } else { None };
        let mut end = at + hold;
        if let Some(kind) = second {
            let at = at + millis(random.below(hold.as_millis() as u64));
            let hold = self::hold(kind, &mut random);
            planned.push(PlannedFault { at, kind, hold, draw: random.word(), overlaps: true });
            end = end.max(at + hold);
        }
        at = end + millis(random.within(2_000, 8_000));
    }
    planned.retain(|fault| fault.at < length);
    planned
}

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn shuffled(kinds: &[FaultKind], random: &mut Random) -> Vec<FaultKind> {
    let mut kinds = kinds.to_vec();
    for at in (1..kinds.len()).rev() {
        kinds.swap(at, random.below(at as u64 + 1) as usize);
    }
    kinds
}

fn draw(kinds: &[FaultKind], random: &mut Random) -> FaultKind {
    let weights: Vec<u64> = kinds.iter().map(|kind| kind.weight()).collect();
    kinds[random.weighted(&weights)]
}

/// A fault to come on top of another.
fn second(kinds: &[FaultKind], random: &mut Random) -> Option<FaultKind> {
    let kinds: Vec<FaultKind> = kinds.iter().copied().filter(|kind| kind.may_overlap()).collect();
    (!kinds.is_empty()).then(|| draw(&kinds, random))
}

/// How long a fault lasts: some shorter than it takes to be noticed, most longer than a lease.
fn hold(kind: FaultKind, random: &mut Random) -> Duration {
    millis(match kind {
        FaultKind::Kill | FaultKind::Leader | FaultKind::Wipe => random.within(100, 8_000),
        FaultKind::Pause => random.within(2_500, 9_000),
        FaultKind::Partition | FaultKind::Partial | FaultKind::OneWay => random.within(1_000, 10_000),
        FaultKind::Slow | FaultKind::Lossy | FaultKind::DiskFull => random.within(3_000, 10_000),
        FaultKind::Severed | FaultKind::LeaderLink | FaultKind::ClientLink => random.within(20_000, 25_000),
        FaultKind::RestartAll => random.within(0, 2_000),
        FaultKind::LeaderJoin => random.within(0, 1_500),
        FaultKind::Rolling | FaultKind::Join | FaultKind::Leave => 0,
    })
}

impl fmt::Display for PlannedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, kind, hold, draw, overlaps } = self;
        let overlaps = if *overlaps { ", on top" } else { "" };
        write!(f, "{:8.1} s  {kind:11}  for {:4.1} s, draw {draw:016x}{overlaps}", at.as_secs_f64(), hold.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn one_seed_gives_one_plan_and_another_seed_another() {
        assert_eq!(plan(7, HOUR, &FaultKind::ALL), plan(7, HOUR, &FaultKind::ALL));
        assert_ne!(plan(7, HOUR, &FaultKind::ALL), plan(8, HOUR, &FaultKind::ALL));
    }

    #[test]
    fn an_hour_has_more_than_two_hundred_faults_of_every_kind() {
        for seed in 0..20 {
            let plan = plan(seed, HOUR, &FaultKind::ALL);
            assert!(plan.len() > 200, "seed {seed}: {}", plan.len());
            assert!(FaultKind::ALL.iter().all(|kind| plan.iter().any(|fault| fault.kind == *kind)), "seed {seed}");
            assert!(plan.iter().any(|fault| fault.overlaps), "seed {seed}");
        }
    }

    #[test]
    fn only_what_may_overlap_comes_on_top() {
        let plan = plan(3, HOUR, &FaultKind::ALL);
        assert!(plan.iter().all(|fault| !fault.overlaps || fault.kind.may_overlap()));
    }

    #[test]
    fn a_plan_without_kinds_is_empty() {
        assert!(plan(1, HOUR, &[]).is_empty());
    }
}
