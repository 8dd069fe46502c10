//! What came of a trial.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::fault::FaultKind;
use crate::logs::LogMessage;
use crate::monitor::ProcessUsage;
use crate::outage::{Distribution, Outages, PastFault};
use crate::timeline::{Phases, Times};

/// What came of a trial.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrialReport {
    /// The seed of plan and load.
    pub seed: u64,
    /// Where processes ran.
    pub hosts: String,
    /// Seconds under load.
    pub seconds: u64,
    /// Operations by how they ended.
    pub operations: Operations,
    /// Errors that left an outcome unknown, and how often each came.
    pub errors: Vec<(String, u64)>,
    /// Every fault, in order.
    pub faults: Vec<PastFault>,
    /// Faults that found nothing to break, or cannot be made here.
    pub skipped: Vec<String>,
    /// By kind of fault, for how long keys were out of reach.
    pub outages: BTreeMap<FaultKind, Outages>,
    /// Where the time went, if nodes were killed for that.
    pub phases: Option<Phases>,
    /// Milliseconds from the end of faults until every range was whole again.
    pub settled_ms: Vec<u64>,
    /// The version that everybody spoke before and after the upgrade, if there was one, as far as managers said.
    pub upgraded: Option<[Option<u8>; 2]>,
    /// Packets that the relay passed on, lost and doubled.
    pub packets: [u64; 3],
    /// What processes took.
    pub usage: Vec<ProcessUsage>,
    /// What they warned of, the most frequent first.
    pub complaints: Vec<LogMessage>,
    /// What clients saw and nothing explains: lost, stale or damaged.
    pub violations: Vec<TrialViolation>,
    /// Everything else that must not be: processes that ended, ranges that were not level, keys that could not be read.
    pub failures: Vec<String>,
    /// Somebody pressed Ctrl-C.
    pub is_stopped: bool,
    /// Where logs are, if they were kept.
    pub logs: String,
}

/// How operations ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// With an outcome.
    pub answered: u64,
    /// Among these, with the promise that nothing was done.
    pub refused: u64,
    /// Without anyone knowing.
    pub unknown: u64,
    /// Not begun, as no front-end could be reached.
    pub unsent: u64,
    /// Keys that were used.
    pub keys: u64,
    /// Keys that were too hard to check.
    pub too_hard: u64,
}

/// What nothing explains.
#[derive(Clone, Debug, Serialize)]
pub struct TrialViolation {
    /// The key.
    pub key: String,
    /// What could have been and what came.
    pub what: String,
    /// Every operation on the key: begin and end in microseconds of the trial, number, question, answer.
    pub history: Vec<String>,
}

/// Of all keys so many of a hundred may be too hard to check.
const TOO_HARD_PERCENT: u64 = 2;

impl TrialReport {
    /// Whether all was well.
    pub fn is_good(&self) -> bool {
        self.violations.is_empty() && self.failures.is_empty()
    }

    /// Adds what the figures themselves say against the trial.
    pub fn judge(&mut self) {
        let Operations { answered, too_hard, keys, .. } = self.operations;
        if answered == 0 {
            self.failures.push("no operation was answered, so nothing was checked".to_owned());
        }
        if too_hard * 100 > keys * TOO_HARD_PERCENT {
            self.failures
                .push(format!("{too_hard} of {keys} keys were too hard to check: use more keys, or a lower rate"));
        }
    }
}

impl fmt::Display for TrialReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, hosts, seconds, operations, .. } = self;
        let Operations { answered, refused, unknown, unsent, keys, too_hard } = operations;
        writeln!(f, "seed {seed}, {seconds} s under load, on {hosts}")?;
        writeln!(f, "operations  {answered} answered ({refused} refused), {unknown} unknown, {unsent} not sent")?;
        writeln!(f, "keys        {keys}, {too_hard} too hard to check")?;
        for (error, count) in self.errors.iter().filter(|(_, count)| *count > 0) {
            writeln!(f, "  {count:8} {error}")?;
        }
        self.write_outages(f)?;
        for why in &self.skipped {
            writeln!(f, "skipped     {why}")?;
        }
        if let Some(most) = self.settled_ms.iter().max() {
            let mut sorted = self.settled_ms.clone();
            sorted.sort_unstable();
            writeln!(
                f,
                "at full strength again {} times, after {} ms (median), {most} ms at most",
                sorted.len(),
                sorted[sorted.len() / 2]
            )?;
        }
        if let Some(versions) = self.upgraded {
            let [before, after] = versions.map(|version| version.map_or("none said".to_owned(), |it| it.to_string()));
            writeln!(f, "version     {before} before the upgrade, {after} after it")?;
        }
        let [passed, lost, doubled] = self.packets;
        if passed + lost > 0 {
            writeln!(f, "weather     {passed} packets passed on, {lost} lost, {doubled} doubled")?;
        }
        self.write_usage(f)?;
        for violation in &self.violations {
            writeln!(f, "\nVIOLATION of {}: {}", violation.key, violation.what)?;
            writeln!(f, "every operation on it (begin and end in us):")?;
            violation.history.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        for failure in &self.failures {
            writeln!(f, "FAILURE: {failure}")?;
        }
        if !self.logs.is_empty() {
            writeln!(f, "logs are kept in {}", self.logs)?;
        }
        let stopped = if self.is_stopped { ", stopped early" } else { "" };
        write!(
            f,
            "{} faults of {} kinds, {} violations, {} failures{stopped}",
            self.faults.len(),
            self.outages.len(),
            self.violations.len(),
            self.failures.len()
        )
    }
}

impl TrialReport {
    fn write_usage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nearly, late and most")?;
        writeln!(f, "process   lives   memory (KiB)              sockets          other files      threads")?;
        let three = |[early, late, most]: [u64; 3]| format!("{early:4} {late:4} {most:4}");
        for ProcessUsage { name, lives, rss_kib: [early, late, most], sockets, files, threads } in &self.usage {
            write!(f, "{name:9} {lives:5} {early:8} {late:7} {most:7}   {}   ", three(*sockets))?;
            writeln!(f, "{}   {}", three(*files), three(*threads))?;
        }
        for LogMessage { times, what } in &self.complaints {
            writeln!(f, "said {times} times: {what}")?;
        }
        Ok(())
    }

    fn write_outages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nlongest time that a key was unavailable, over 100 ms, in ms")?;
        writeln!(f, "fault        times   gets: keys    p50    p90    max   puts: keys    p50    p90    max")?;
        let side = |Distribution { affected_permille, p50_ms, p90_ms, max_ms }: Distribution| {
            let percent = affected_permille as f64 / 10.0;
            format!("{percent:9.1} % {p50_ms:6} {p90_ms:6} {max_ms:6}")
        };
        for (kind, Outages { faults, gets, puts }) in &self.outages {
            writeln!(f, "{kind:11} {faults:6} {} {}", side(*gets), side(*puts))?;
        }
        if let Some(Phases { noticed, left_out, planned }) = self.phases {
            writeln!(f, "where the time went, in ms             times    p50    p90    max")?;
            let phases =
                [("noticed", noticed), ("left out of chains", left_out), ("closed by planned changes", planned)];
            for (what, Times { count, p50_ms, p90_ms, max_ms }) in phases {
                writeln!(f, "  {what:33} {count:8} {p50_ms:6} {p90_ms:6} {max_ms:6}")?;
            }
        }
        Ok(())
    }
}
