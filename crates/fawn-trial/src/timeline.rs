//! Where the time goes after a node is killed: what managers say in their logs of chains that change.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;

/// What managers are to log beside what they do anyway.
pub const LOG: &str = "info,openraft=off,fawn_manager::driver=debug";

/// A step of a range's chain, as the manager that led tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainStep {
    /// When, in microseconds of Unix time.
    pub at_us: u64,
    /// The range's number.
    pub range: u32,
    /// What the step is.
    pub kind: StepKind,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// An attempt to change the chain begins.
    Begins,
    /// Members are told to take nothing more until it is over.
    Seals,
    /// The changed chain is in force.
    Active,
}

/// How long something took, over many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Times.
    pub count: usize,
    /// The median, in milliseconds.
    pub p50_ms: u64,
    /// Nine of ten took no longer.
    pub p90_ms: u64,
    /// The longest.
    pub max_ms: u64,
}

impl Times {
    /// Of times in milliseconds.
    pub fn of(mut times_ms: Vec<u64>) -> Self {
        times_ms.sort_unstable();
        let count = times_ms.len();
        let at = |percent: usize| times_ms.get((count * percent / 100).min(count.saturating_sub(1)));
        Self {
            count,
            p50_ms: at(50).copied().unwrap_or_default(),
            p90_ms: at(90).copied().unwrap_or_default(),
            max_ms: times_ms.last().copied().unwrap_or_default(),
        }
    }
}

/// Where the time goes after a node is killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Phases {
    /// From the kill until the managers begin to change a range's chain, for each range that they do.
    pub noticed: Times,
    /// From there until the range's next chain is in force: the lease of whoever was killed, then the change itself.
    pub left_out: Times,
    /// From the first seal to the end of changes that wait for nobody's lease: those by which others come into the chain. For
    /// so long nothing is written to the range.
    pub planned: Times,
}

/// What all managers' logs in a directory say.
///
/// # Errors
/// A log cannot be read.
pub fn read(logs: &Path) -> io::Result<Vec<ChainStep>> {
    let mut steps = Vec::new();
    for entry in std::fs::read_dir(logs)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with('m') && path.extension().is_some_and(|end| end == "err") {
            steps.extend(std::fs::read_to_string(&path)?.lines().filter_map(step));
        }
    }
    steps.sort_by_key(|step| step.at_us);
    Ok(steps)
}

/// `2026-01-02T03:04:05.678901Z DEBUG fawn_manager::driver: range 7: attempt 3 begins: …`
fn step(line: &str) -> Option<ChainStep> {
    let (time, rest) = line.split_once(' ')?;
    let (_, told) = rest.split_once("fawn_manager::driver: range ")?;
    let (range, told) = told.split_once(": attempt ")?;
    let kind = match told.split_once(' ')?.1 {
        what if what.starts_with("begins") => StepKind::Begins,
        what if what.starts_with("seals") => StepKind::Seals,
        what if what.starts_with("is active") => StepKind::Active,
        _ => return None,
    };
    Some(ChainStep { at_us: unix_us(time)?, range: range.parse().ok()?, kind })
}

/// Microseconds of Unix time of `2026-01-02T03:04:05.678901Z`.
fn unix_us(time: &str) -> Option<u64> {
    let (date, clock) = time.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, at: char| text.split(at).map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>();
    let (date, (clock, fraction)) = (numbers(date, '-')?, clock.split_once('.')?);
    let (&[year, month, day], &[hour, minute, second]) = (&date[..], &numbers(clock, ':')?[..]) else { return None };
    // Years that begin in March end with the day that is not always there.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    let days = (year * 365 + leaps + (month * 153 + 2) / 5 + day).checked_sub(719_469)?;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    let fraction = format!("{fraction:0<6}");
    Some(seconds * 1_000_000 + fraction.get(..6)?.parse::<u64>().ok()?)
}

/// What became of the chains after each kill; `kills` are Unix times in microseconds, in order.
pub fn phases(kills: &[u64], steps: &[ChainStep]) -> Phases {
    let (mut noticed, mut left_out, mut planned) = (Vec::new(), Vec::new(), Vec::new());
    for (at, kill) in kills.iter().enumerate() {
        let next = kills.get(at + 1).copied().unwrap_or(u64::MAX);
        let after = steps.iter().filter(|step| (*kill..next).contains(&step.at_us));
        // By range: since when its chain is changing, and nothing is written to it, and how often it has changed.
        let mut ranges: BTreeMap<u32, (Option<u64>, Option<u64>, u32)> = BTreeMap::new();
        for step in after {
            let (begun, sealed, changes) = ranges.entry(step.range).or_default();
            match (step.kind, *begun) {
                (StepKind::Begins, None) => {
                    if *changes == 0 {
                        noticed.push((step.at_us - kill) / 1000);
                    }
                    *begun = Some(step.at_us);
                }
                (StepKind::Seals, Some(_)) => {
                    sealed.get_or_insert(step.at_us);
                }
                (StepKind::Active, Some(since)) => {
                    if *changes == 0 {
                        left_out.push((step.at_us - since) / 1000);
                    } else {
                        planned.push((step.at_us - sealed.unwrap_or(since)) / 1000);
                    }
                    (*begun, *sealed, *changes) = (None, None, *changes + 1);
                }
                // An attempt that takes another's place does not begin anew what clients wait for.
                (StepKind::Begins, Some(_)) | (StepKind::Seals | StepKind::Active, None) => {}
            }
        }
    }
    Phases { noticed: Times::of(noticed), left_out: Times::of(left_out), planned: Times::of(planned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_log_are_steps() {
        let line = |told: &str| format!("2026-11-23T02:34:26.863221Z DEBUG fawn_manager::driver: range {told}");
        let at_us = 1_795_401_266_863_221;
        let begins = ChainStep { at_us, range: 7, kind: StepKind::Begins };
        assert_eq!(step(&line("7: attempt 3 begins, to have nodes 1, 2")), Some(begins));
        assert_eq!(step(&line("7: attempt 3 seals")), Some(ChainStep { kind: StepKind::Seals, ..begins }));
        assert_eq!(step(&line("7: attempt 3 is active")), Some(ChainStep { kind: StepKind::Active, ..begins }));
        assert_eq!(step(&line("7 is nothing of the kind")), None);
        assert_eq!(step("panicked at"), None);
        assert_eq!(unix_us("1970-01-01T00:00:00.000001Z"), Some(1));
        assert_eq!(unix_us("2024-02-29T12:00:00.5Z"), Some(1_709_208_000_500_000));
        assert_eq!(unix_us("2024-03-01T00:00:00.0Z"), Some(1_709_251_200_000_000));
    }

    #[test]
    fn the_first_change_after_a_kill_is_its_doing_and_later_ones_are_planned() {
        let step = |ms: u64, range, kind| ChainStep { at_us: ms * 1000, range, kind };
        let steps = [
            step(50, 1, StepKind::Begins),
            step(1100, 1, StepKind::Begins),
            step(1200, 2, StepKind::Begins),
            step(1500, 2, StepKind::Begins),
            step(2000, 1, StepKind::Active),
            step(2100, 2, StepKind::Active),
            step(2500, 1, StepKind::Begins),
            step(2503, 1, StepKind::Seals),
            step(2504, 1, StepKind::Seals),
            step(2510, 1, StepKind::Active),
        ];
        let phases = phases(&[100_000, 5_000_000], &steps);
        assert_eq!(phases.noticed, Times::of(vec![1000, 1100]));
        assert_eq!(phases.left_out, Times::of(vec![900, 900]));
        assert_eq!(phases.planned, Times::of(vec![7]));
    }
}
