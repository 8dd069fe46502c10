//! A trial from beginning to end.

mod kills;
mod upgrade;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::arguments::{Arguments, Consistency, TrialShape, TrialSizes};
use crate::breakage::{Breakage, FaultOutcome, inject, mend, obstacle};
use crate::cluster::TrialCluster;
use crate::fault::FaultKind;
use crate::load::key::Promise;
use crate::load::ledger::{Ledger, OperationCounts};
use crate::load::{KeyChoice, Manner, TrialLoad};
use crate::logs::complaints;
use crate::monitor::Monitor;
use crate::net::Network;
use crate::outage::{PastFault, by_kind};
use crate::plan::{PlannedFault, plan};
use crate::report::{Operations, TrialReport, TrialViolation};
use crate::severed::{ClientProgram, ask_everyone};
use crate::status::ClientPace;
use crate::verify::{put_everything, read_everything};

/// A process that is started for the first time is ready within this time.
const START: Duration = Duration::from_mins(1);

/// When nothing is broken any more, every range is whole again within this time.
const LEVEL: Duration = Duration::from_mins(3);

/// A front-end answers for every key within this time, when nothing is broken.
const READ: Duration = Duration::from_mins(1);

/// Within this time after a link broke others have found the way around it, and chains have changed that went over it.
const AROUND: Duration = Duration::from_secs(6);

/// Then a front-end answers for some keys within this time.
const ANSWERED: Duration = Duration::from_secs(10);

/// Faults after which it is waited until every range is whole.
const FAULTS: usize = 10;

/// The load goes on after the last fault was mended.
const AFTER: Duration = Duration::from_secs(5);

/// A client gives up after this time: later than a front-end, which may still say that nothing was done.
const PATIENCE: Duration = Duration::from_secs(6);

/// How often the trial looks around.
const TICK: Duration = Duration::from_millis(20);

/// How often it is told what is still waited for.
const TELL: Duration = Duration::from_secs(5);

/// Violations whose history is told.
const TOLD: usize = 5;

/// Keys that clients ask for while nodes are killed, two clients each, and operations a second.
const KILL_KEYS: u16 = 48;
const KILL_RATE: u32 = 1920;

/// A fault in force.
struct InForce {
    broken: Breakage,
    until: Instant,
    happened: PastFault,
}

/// A trial under way.
struct Trial<'a> {
    arguments: &'a Arguments,
    cluster: TrialCluster,
    /// Uses the client library from the beginning on.
    program: Option<ClientProgram>,
    ledger: Arc<Ledger>,
    in_force: Vec<InForce>,
    report: TrialReport,
    stop: &'a AtomicBool,
    tell: &'a dyn Fn(&str),
}

/// Which faults are to come; `kinds` are those that can be made.
pub fn planned(arguments: &Arguments, seed: u64, kinds: &[FaultKind]) -> Vec<PlannedFault> {
    plan(seed, arguments.minutes, kinds)
}

/// The kinds of faults that are asked for.
pub fn asked(arguments: &Arguments) -> Vec<FaultKind> {
    arguments.faults.as_ref().map_or_else(|| FaultKind::ALL.to_vec(), |kinds| kinds.0.clone())
}

/// What clients are promised.
fn promised(arguments: &Arguments) -> Promise {
    let is_calm = arguments.kills.is_none() && arguments.faults.as_ref().is_some_and(|faults| faults.0.is_empty());
    match arguments.consistency {
        Consistency::Strong => Promise::Strong,
        Consistency::Weak if is_calm => Promise::WeakOrder,
        Consistency::Weak => Promise::Weak,
    }
}

/// Runs a trial in a directory that is there and empty. `tell` is told what happens.
///
/// # Errors
/// The processes do not start, or something of the machine fails: nothing was found out.
pub fn run(
    arguments: &Arguments,
    seed: u64,
    (fawn, dir, network): (&Path, &Path, Network),
    stop: &AtomicBool,
    tell: &dyn Fn(&str),
) -> anyhow::Result<TrialReport> {
    ensure!(fawn.exists(), "{} does not exist: build it with cargo build, or give another with --fawn", fawn.display());
    let hosts = if network.is_loopback() { "the loopback" } else { "network namespaces" };
    let shape = arguments.shape;
    let (sizes, choice) = match arguments.kills {
        None => (arguments.sizes, KeyChoice::Any),
        Some(_) => (
            TrialSizes { clients: KILL_KEYS * 2, keys: KILL_KEYS.into(), rate: KILL_RATE, ..arguments.sizes },
            KeyChoice::Own,
        ),
    };
    ensure!(arguments.kills.is_none() || shape == TrialShape::Cluster, "--kills needs --shape cluster");
    let mut cluster = TrialCluster::new(network, shape, sizes, (fawn, dir, &arguments.ack))?;
    if let Some(from) = &arguments.from {
        ensure!(from.exists() && shape == TrialShape::Cluster, "--from needs a fawn command, and --shape cluster");
        cluster.begin_with(from);
    }
    let promise = promised(arguments);
    if promise != Promise::Strong {
        let others = arguments.from.is_none() && shape == TrialShape::Cluster;
        ensure!(others, "--consistency weak needs --shape cluster, and no --from: older releases have no weak mode");
        cluster.form_weak();
    }
    cluster.start_all(START)?;
    let ledger = Arc::new(Ledger::new(sizes.keys, promise, &dir.join("operations.txt"))?);
    let report = TrialReport { seed, hosts: hosts.to_owned(), ..TrialReport::default() };
    let program = (shape == TrialShape::Cluster).then(|| ClientProgram::connect("a program", &cluster)).transpose()?;
    let mut trial = Trial { arguments, cluster, program, ledger, in_force: Vec::new(), report, stop, tell };
    let took = trial.level(ClientPace::Busy, START).context("the cluster does not become healthy")?;
    tell(&format!("ready after another {:.1} s", took.as_secs_f64()));
    let monitor = Monitor::start(&trial.cluster.network.processes)?;
    let manner = Manner { clients: sizes.clients, rate: sizes.rate, choice, patience: PATIENCE, seed };
    let load = TrialLoad::start(&trial.ledger, &trial.cluster.fronts(), &manner)?;
    let broke = match arguments.kills {
        None => trial.break_things(seed),
        Some(kills) => trial.kill_nodes(seed, kills),
    };
    if broke.is_ok() {
        trial.wait(Instant::now() + AFTER)?;
    }
    trial.report.seconds = trial.ledger.now() / 1_000_000;
    load.stop();
    trial.ledger.end_stalls();
    trial.report.usage = monitor.stop();
    broke?;
    Ok(trial.finish())
}

impl Trial<'_> {
    /// Faults, one after the other, until the time is over.
    fn break_things(&mut self, seed: u64) -> anyhow::Result<()> {
        let begin = Instant::now();
        let before = self.arguments.from.as_ref().and_then(|_| self.version());
        let kinds = self.kinds();
        // What takes longer than planned puts off what follows.
        let mut late = Duration::ZERO;
        let mut since_level = 0;
        for fault in planned(self.arguments, seed, &kinds) {
            if !fault.overlaps {
                self.wait_for_mended()?;
                let is_due = since_level >= FAULTS || fault.kind.needs_level();
                if is_due && self.arguments.shape == TrialShape::Cluster {
                    self.expect_level(ClientPace::Busy);
                    since_level = 0;
                }
                late = late.max(begin.elapsed().saturating_sub(fault.at));
            }
            self.wait(begin + fault.at + late)?;
            if self.is_over(begin) {
                break;
            }
            self.inject(&fault)?;
            if fault.kind.demands_answers() {
                self.expect_answers()?;
            }
            since_level += 1;
        }
        while !self.is_over(begin) {
            self.wait((Instant::now() + TICK).min(begin + self.arguments.minutes))?;
        }
        self.wait_for_mended()?;
        if self.arguments.from.is_some() { self.upgrade_the_rest(before) } else { Ok(()) }
    }

    fn is_over(&self, begin: Instant) -> bool {
        self.stop.load(Ordering::Relaxed) || begin.elapsed() >= self.arguments.minutes
    }

    /// The kinds of faults that are asked for and can be made.
    fn kinds(&mut self) -> Vec<FaultKind> {
        let mut kinds = asked(self.arguments);
        kinds.retain(|&kind| match obstacle(&self.cluster, kind) {
            None => true,
            Some(why) => {
                (self.tell)(&format!("no {kind}: {why}"));
                self.report.skipped.push(format!("all {kind}: {why}"));
                false
            }
        });
        kinds
    }

    fn inject(&mut self, fault: &PlannedFault) -> anyhow::Result<()> {
        let in_force: Vec<&Breakage> = self.in_force.iter().map(|force| &force.broken).collect();
        let from_us = self.ledger.now();
        let came = match inject(&mut self.cluster, fault, &in_force) {
            Ok(came) => came,
            Err(error) => {
                self.fail(format!("{}: {error:#}", fault.kind));
                FaultOutcome::Skipped("it failed".to_owned())
            }
        };
        match came {
            FaultOutcome::Skipped(why) => {
                (self.tell)(&format!("{:9.3} s  {:11} skipped: {why}", from_us as f64 / 1e6, fault.kind));
                self.report.skipped.push(format!("{}: {why}", fault.kind));
            }
            FaultOutcome::Broken(what, broken) => {
                (self.tell)(&format!("{:9.3} s  {:11} {what}", from_us as f64 / 1e6, fault.kind));
                let happened = PastFault { kind: fault.kind, what, from_us, to_us: self.ledger.now() };
                let until = Instant::now() + fault.hold;
                self.in_force.push(InForce { broken, until, happened });
            }
        }
        self.mend_due()
    }

    /// Mends what it is time for, and sees after processes that ended.
    fn mend_due(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        while let Some(at) = self.in_force.iter().position(|force| force.until <= now) {
            let InForce { broken, mut happened, .. } = self.in_force.remove(at);
            mend(&mut self.cluster, &broken).with_context(|| format!("cannot repair: {}", happened.what))?;
            happened.to_us = self.ledger.now();
            self.report.faults.push(happened);
        }
        let ended = self.cluster.restart_ended()?;
        for what in ended {
            self.fail(what);
        }
        Ok(())
    }

    fn wait(&mut self, until: Instant) -> anyhow::Result<()> {
        self.mend_due()?;
        while Instant::now() < until && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK.min(until.saturating_duration_since(Instant::now())));
            self.mend_due()?;
        }
        Ok(())
    }

    fn wait_for_mended(&mut self) -> anyhow::Result<()> {
        while !self.in_force.is_empty() {
            if self.stop.load(Ordering::Relaxed) {
                self.in_force.iter_mut().for_each(|force| force.until = Instant::now());
            }
            self.mend_due()?;
            std::thread::sleep(TICK);
        }
        Ok(())
    }

    /// How long it takes until every range is whole.
    fn level(&mut self, pace: ClientPace, within: Duration) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        if self.arguments.shape == TrialShape::Single {
            return Ok(Duration::ZERO);
        }
        let mut told = begin;
        let replicas = usize::from(self.arguments.sizes.replicas);
        loop {
            let complaint = match self.cluster.status() {
                Ok(status) => status.complaint(replicas, pace),
                Err(error) => Some(format!("{error:#}")),
            };
            let Some(complaint) = complaint else { return Ok(begin.elapsed()) };
            self.mend_due()?;
            ensure!(begin.elapsed() < within, "not at full strength after {} s: {complaint}", within.as_secs());
            if told.elapsed() >= TELL {
                told = Instant::now();
                (self.tell)(&format!("{:9.3} s  not at full strength: {complaint}", self.ledger.now() as f64 / 1e6));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn expect_level(&mut self, pace: ClientPace) {
        match self.level(pace, LEVEL) {
            Ok(took) => {
                (self.tell)(&format!(
                    "{:9.3} s  at full strength again after {} ms",
                    self.ledger.now() as f64 / 1e6,
                    took.as_millis()
                ));
                self.report.settled_ms.push(took.as_millis() as u64);
            }
            Err(error) => self.fail(format!("{error:#}")),
        }
    }

    /// While a link is broken, everybody answers for every key.
    fn expect_answers(&mut self) -> anyhow::Result<()> {
        if self.in_force.is_empty() {
            return Ok(());
        }
        self.wait(Instant::now() + AROUND)?;
        let in_force: Vec<&Breakage> = self.in_force.iter().map(|force| &force.broken).collect();
        let is_reached = |name: &str| !in_force.iter().any(|broken| broken.is_between_clients_and(name));
        let mut missing = ask_everyone(&self.cluster, ANSWERED, |member| is_reached(&member.name));
        missing.extend(self.program.iter().flat_map(|program| program.ask(ANSWERED)));
        // One that begins while the link is broken has to find its way, too.
        match ClientProgram::connect("a new program", &self.cluster) {
            Ok(program) => missing.extend(program.ask(ANSWERED)),
            Err(error) => missing.push(format!("a new program cannot connect: {error}")),
        }
        for what in missing {
            self.fail(what);
        }
        Ok(())
    }

    fn fail(&mut self, what: String) {
        (self.tell)(&format!("{:9.3} s  FAILURE: {what}", self.ledger.now() as f64 / 1e6));
        self.report.failures.push(what);
    }

    /// With nobody at work: whether everything is there, everywhere.
    fn finish(mut self) -> TrialReport {
        let is_strong = promised(self.arguments) == Promise::Strong;
        self.expect_level(if is_strong { ClientPace::Quiet } else { ClientPace::QuietWeak });
        if self.arguments.shape == TrialShape::Single {
            self.report.settled_ms.clear();
        }
        let fronts = self.cluster.fronts();
        let mut unread = Vec::new();
        if let Some(front) = fronts.first().filter(|_| promised(self.arguments) == Promise::Weak) {
            (self.tell)("writing every key once more");
            unread.append(&mut put_everything(&self.ledger, *front, READ));
        }
        (self.tell)("reading every key from every front-end");
        unread.append(&mut read_everything(&self.ledger, &fronts, READ));
        for what in unread {
            self.fail(what);
        }
        self.ledger.finish();
        match complaints(&self.cluster.logs()) {
            Ok((said, panics)) => {
                self.report.complaints = said;
                for panic in panics {
                    self.fail(panic);
                }
            }
            Err(error) => self.fail(format!("the logs cannot be read: {error}")),
        }
        let keys = self.cluster.sizes().keys as usize;
        let mut report = self.report;
        report.is_stopped = self.stop.load(Ordering::Relaxed);
        report.packets = self.cluster.network.packets();
        sum_up(&mut report, &self.ledger, keys);
        report
    }
}

/// What clients saw.
pub fn sum_up(report: &mut TrialReport, ledger: &Ledger, keys: usize) {
    let OperationCounts { answered, refused, unknown, unsent, too_hard, .. } = &ledger.counts;
    let [answered, refused, unknown, unsent, too_hard] =
        [answered, refused, unknown, unsent, too_hard].map(|count| count.load(Ordering::Relaxed));
    report.operations = Operations { answered, refused, unknown, unsent, keys: ledger.keys() as u64, too_hard };
    report.errors = ledger.errors();
    report.outages = by_kind(&report.faults, &ledger.stalls(), keys);
    for (at, finding) in ledger.findings().into_iter().enumerate() {
        let history = if at < TOLD { ledger.history(&finding.key).unwrap_or_default() } else { Vec::new() };
        report.violations.push(TrialViolation { key: finding.key, what: finding.what, history });
    }
    report.judge();
}

/// The command beside this program.
///
/// # Errors
/// This program has no file.
pub fn default_fawn() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("this program has no file")?;
    Ok(program.with_file_name("fawn"))
}
