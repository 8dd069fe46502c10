//! For how long keys could not be read or written, fault by fault.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::fault::FaultKind;
use crate::load::key::{Side, Stall};
use crate::load::ledger::KeyStall;
use crate::timeline::Times;

/// A fault that has been.
#[derive(Clone, Debug, Serialize)]
pub struct PastFault {
    /// Its kind.
    pub kind: FaultKind,
    /// What it broke, in words.
    pub what: String,
    /// When it began and when it was mended, in microseconds of the trial.
    pub from_us: u64,
    /// See `from_us`.
    pub to_us: u64,
}

/// How long keys were out of reach, over all faults of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outages {
    /// Faults.
    pub faults: usize,
    /// Gets, and all other operations.
    pub gets: Distribution,
    /// See `gets`.
    pub puts: Distribution,
}

/// The longest time, for each fault and key, that a key was out of reach, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Of 1000 keys so many were for longer than [`Stall::SHORTEST`].
    pub affected_permille: u64,
    /// Of those that were: the median.
    pub p50_ms: u64,
    /// Nine of ten were no longer.
    pub p90_ms: u64,
    /// The longest.
    pub max_ms: u64,
}

/// What begins so long after a fault was mended is not its doing.
const AFTER: Duration = Duration::from_secs(3);

/// What began so long before it is not, either. An operation that it hits may have begun a little before.
const BEFORE: Duration = Duration::from_millis(50);

/// Outages by kind of fault; `keys` are in use at a time.
pub fn by_kind(faults: &[PastFault], stalls: &[KeyStall], keys: usize) -> BTreeMap<FaultKind, Outages> {
    let mut found: BTreeMap<FaultKind, (usize, [Vec<u64>; 2])> = BTreeMap::new();
    for fault in faults {
        let (count, sides) = found.entry(fault.kind).or_default();
        *count += 1;
        for (side, times) in [Side::Get, Side::Put].into_iter().zip(sides) {
            times.extend(longest(fault, stalls, side));
        }
    }
    let outages = |(count, [gets, puts]): (usize, [Vec<u64>; 2])| Outages {
        faults: count,
        gets: distribution(gets, count * keys),
        puts: distribution(puts, count * keys),
    };
    found.into_iter().map(|(kind, found)| (kind, outages(found))).collect()
}

/// The longest stall of each key that had one while the fault was in force, in milliseconds.
fn longest(fault: &PastFault, stalls: &[KeyStall], side: Side) -> Vec<u64> {
    let begin = fault.from_us.saturating_sub(BEFORE.as_micros() as u64);
    let end = fault.to_us + AFTER.as_micros() as u64;
    let is_its_doing = |stall: &Stall| stall.side == side && (begin..=end).contains(&stall.from);
    let mut longest: BTreeMap<usize, u64> = BTreeMap::new();
    for KeyStall { place, stall } in stalls.iter().filter(|found| is_its_doing(&found.stall)) {
        let ms = (stall.to - stall.from) / 1000;
        let most = longest.entry(*place).or_default();
        *most = ms.max(*most);
    }
    longest.into_values().collect()
}

fn distribution(times: Vec<u64>, of: usize) -> Distribution {
    let Times { count, p50_ms, p90_ms, max_ms } = Times::of(times);
    Distribution { affected_permille: (count * 1000 / of.max(1)) as u64, p50_ms, p90_ms, max_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_with_its_longest_stall_during_the_fault() {
        let fault = PastFault { kind: FaultKind::Kill, what: String::new(), from_us: 1_000_000, to_us: 2_000_000 };
        let stall = |place, from, to| KeyStall { place, stall: Stall { side: Side::Put, from, to } };
        let stalls = [
            stall(0, 1_100_000, 1_300_000),
            stall(0, 1_400_000, 3_400_000),
            stall(1, 1_500_000, 1_700_000),
            stall(2, 100_000, 1_300_000),
            stall(3, 9_000_000, 9_900_000),
        ];
        let puts = Distribution { affected_permille: 20, p50_ms: 2000, p90_ms: 2000, max_ms: 2000 };
        let outages = &by_kind(&[fault], &stalls, 100)[&FaultKind::Kill];
        assert_eq!(*outages, Outages { faults: 1, gets: Distribution::default(), puts });
    }
}
