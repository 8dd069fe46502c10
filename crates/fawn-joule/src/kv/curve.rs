//! All loads, one after the other: the capacity, and then shares of it.

use std::time::Duration;

use fawn_loadgen::calibrate::calibrate;
use fawn_loadgen::phase::{LoadPhase, PhaseResult, carry_out};
use fawn_loadgen::run::{load, refuse_too_many_keys, version_base};
use fawn_loadgen::system::wait_until_idle;
use fawn_loadgen::versions::KeyVersions;
use fawn_loadgen::{LoadPace, LoadPlan, LoadgenError, Spacing};
use fawn_machine::host::available_memory;
use fawn_meter::{Energy, Meter, MeterKind, provenance_without_idle};
use fawn_report::amount::{counted, digits, percent};
use fawn_report::{BenchReport, Watch};
use serde_json::json;

use super::point::{KvPoint, ScheduleDelay};

/// Servers that still work this long after a load are measured all the same.
const IDLE_WITHIN: Duration = Duration::from_mins(3);
/// The generator is not what limits where it could ask this many times as often.
const LEAST_HEADROOM: f64 = 1.5;
/// Least requests in flight on each connection while keys are set.
const LOAD_DEPTH: usize = 8;
/// The generator is measured for this long at most.
const CALIBRATION: Duration = Duration::from_secs(1);
/// Answers are waited for after the end of a point as long as the longest objective, and this long at least.
const LEAST_GRACE: Duration = Duration::from_secs(1);
/// Machines are compared by this objective.
pub const COMMON_OBJECTIVE: Duration = Duration::from_millis(1);

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct KvPlan {
    /// Servers, keys, operations and connections; for how long each point; its depth is that of the closed loop.
    pub load: LoadPlan,
    /// Most requests in flight on a connection of open loops.
    pub open_depth: usize,
    /// Shares of the capacity.
    pub loads: Vec<f64>,
    /// Objectives, the least first; at least one.
    pub objectives: Vec<Duration>,
    /// Which servers these are, for people.
    pub servers: String,
}

impl KvPlan {
    /// The objective by which machines are compared: a millisecond, or that which is nearest to it.
    pub fn common_objective(&self) -> Duration {
        common(self.objectives.iter().copied()).unwrap_or(COMMON_OBJECTIVE)
    }
}

/// Of these objectives the one that is nearest to a millisecond.
pub fn common(objectives: impl Iterator<Item = Duration>) -> Option<Duration> {
    let distance = |objective: &Duration| (objective.as_secs_f64() / COMMON_OBJECTIVE.as_secs_f64()).ln().abs();
    objectives.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// What was found.
#[derive(Clone, Debug)]
pub struct KvFindings {
    /// The report.
    pub report: BenchReport,
    /// The first answer that was wrong, missing from the servers or refused, for people, and how many there were.
    pub fault: Option<(u64, String)>,
}

/// Loads the keys, and measures the capacity and each load.
///
/// # Errors
/// What the servers, the meter or the system do that ends a run.
pub fn run(plan: &KvPlan, watch: &dyn Watch) -> Result<KvFindings, LoadgenError> {
    let meter = plan.load.meter.as_ref();
    refuse_too_many_keys(&plan.load, available_memory())?;
    if let Some(meter) = meter {
        if !meter.owed_rest().is_zero() {
            watch.progress(0, 1, "metering the machine at rest");
        }
        meter.rest()?;
    }
    let timed = LoadPlan { time: plan.load.time.min(CALIBRATION), ..plan.load.clone() };
    let floor = calibrate(&timed, watch)?;
    let base = version_base();
    let depth = plan.load.depth.max(LOAD_DEPTH);
    let loaded = load(&LoadPlan { meter: None, depth, ..plan.load.clone() }, base, watch)?;
    let is_at_rest = wait_until_idle(&plan.load.server_pids, IDLE_WITHIN, watch)?;
    let versions = KeyVersions::new(plan.load.keys, base, true, plan.load.mix.replaces());
    let bench = KvBench { plan, versions, watch };
    let capacity = bench.capacity()?;
    let rate = answered_a_second(&capacity.result);
    if rate == 0.0 {
        let first = fault(std::slice::from_ref(&capacity)).map_or_else(|| "none came".to_owned(), |(_, first)| first);
        return Err(LoadgenError::NoCapacity { first });
    }
    let mut points = vec![capacity];
    for share in &plan.loads {
        points.push(bench.point(*share, rate * share)?);
    }
    let mut report = report(plan, &loaded, &points);
    report.notes.extend(headroom(&floor, rate));
    if !is_at_rest {
        report.notes.push(format!(
            "the servers still worked {} s after the load: more --time tells more",
            IDLE_WITHIN.as_secs()
        ));
    }
    report.notes.extend(meter.and_then(Meter::loss));
    report.notes.extend(crate::build_note());
    Ok(KvFindings { report, fault: fault(&points) })
}

/// The keys, and what is done to them.
struct KvBench<'a> {
    plan: &'a KvPlan,
    versions: KeyVersions,
    watch: &'a dyn Watch,
}

impl KvBench<'_> {
    fn capacity(&self) -> Result<KvPoint, LoadgenError> {
        let load = &self.plan.load;
        // A plug that somebody has read shows one load: with others, the joules are not those of the capacity.
        let is_by_hand = |meter: &Meter| meter.info().kind == MeterKind::Hand;
        let is_of_another =
            load.meter.as_ref().is_some_and(is_by_hand) && self.plan.loads.iter().any(|load| *load < 1.0);
        let meter = load.meter.clone().filter(|_| !is_of_another);
        let result = self.carry_out(LoadPlan { meter, ..load.clone() }, None, "as fast as it goes")?;
        Ok(KvPoint { load: None, rate: None, result, threads: load.threads })
    }

    fn point(&self, share: f64, rate: f64) -> Result<KvPoint, LoadgenError> {
        let pace = LoadPace { rate: rate.max(1.0), spacing: Spacing::Poisson };
        let load = LoadPlan { depth: self.plan.open_depth, ..self.plan.load.clone() };
        let threads = load.threads;
        let result = self.carry_out(load, Some(pace), "at a share of the capacity")?;
        Ok(KvPoint { load: Some(share), rate: Some(pace.rate), result, threads })
    }

    fn carry_out(
        &self,
        load: LoadPlan,
        pace: Option<LoadPace>,
        what: &'static str,
    ) -> Result<PhaseResult, LoadgenError> {
        let grace = self.plan.objectives.last().copied().unwrap_or_default().max(LEAST_GRACE);
        let phase = LoadPhase {
            is_load: false,
            operations: None,
            warm_up: load.warm_up,
            time: load.time,
            pace,
            shown: None,
            grace: Some(grace),
            follows_idle: true,
            what,
        };
        // A connection that falls silent costs its answers, and a server its run only if it answers on none.
        let timeout = load.timeout.max(load.warm_up + load.time + 2 * grace);
        carry_out(&LoadPlan { timeout, ..load }, phase, &self.versions, self.watch)
    }
}

/// Right answers per second.
fn answered_a_second(result: &PhaseResult) -> f64 {
    result.stats.right() as f64 / result.seconds.max(1e-9)
}

/// The report.
fn report(plan: &KvPlan, loaded: &PhaseResult, points: &[KvPoint]) -> BenchReport {
    let mut report = BenchReport::new("kv");
    let load = &plan.load;
    let us = |time: &Duration| time.as_nanos() as f64 / 1e3;
    report.parameter("servers", plan.servers.clone());
    report.parameter("keys", load.keys);
    report.parameter("value_bytes", load.value_bytes);
    report.parameter("sets", load.mix.sets);
    report.parameter("distribution", load.distribution.to_string());
    report.parameter("protocol", load.protocol.name());
    report.parameter("threads", load.threads);
    report.parameter("connections", load.connections);
    report.parameter("depth", load.depth);
    report.parameter("open_depth", plan.open_depth);
    report.parameter("seconds_a_point", load.time.as_secs_f64());
    report.parameter("warm_up_seconds", load.warm_up.as_secs_f64());
    report.parameter("loads", json!(plan.loads));
    report.parameter("objectives_us", json!(plan.objectives.iter().map(us).collect::<Vec<_>>()));
    report.parameter("load_sets_a_second", answered_a_second(loaded));
    report.parameter("cpu_of_servers_is_counted", !load.server_pids.is_empty());
    let objective = plan.common_objective();
    for point in points {
        report.rows.push(point.row(objective));
    }
    for point in points.iter().filter(|point| point.load.is_some()) {
        report.rows.extend(point.objective_rows(&plan.objectives));
    }
    let energies: Vec<&Energy> = points.iter().filter_map(|point| point.result.energy.as_ref()).collect();
    let energy = fawn_meter::sum(energies.iter().map(|energy| Some(*energy)));
    report.metered(provenance_without_idle(&report.rows, energy.as_ref()));
    report.notes.extend(notes(plan, points, energy.as_ref()));
    report
}

fn notes(plan: &KvPlan, points: &[KvPoint], energy: Option<&Energy>) -> Vec<String> {
    let mut notes = Vec::new();
    let pids = plan.load.server_pids.len() as u64;
    let cores = counted(fawn_machine::cores().0.get() as u64, "core", "cores");
    notes.push(if pids > 0 {
        format!(
            "CPU time is that of {}, without the load generator, which shares the {cores} of this machine with it",
            counted(pids, "server process", "server processes")
        )
    } else {
        "the CPU time of the servers is not counted: name their processes with --server-pid if they run here".to_owned()
    });
    if energy.is_some_and(|energy| energy.kind.is_of_this_machine()) {
        notes.push(
            "joules are those of everything on this machine: of the load generator, and of servers that run here"
                .to_owned(),
        );
    }
    let delayed = |who: ScheduleDelay| {
        let at = points.iter().filter(|point| point.delay() == Some(who));
        at.filter_map(|point| point.load).map(percent).collect::<Vec<_>>().join(", ")
    };
    let (ours, theirs) = (delayed(ScheduleDelay::Generator), delayed(ScheduleDelay::Servers));
    if !ours.is_empty() {
        notes.push(format!(
            "at {ours} load the generator, or the machine under it, did not keep to the schedule, although there was room \
             for more requests: latencies there are also its own; give it a machine of its own or more --threads"
        ));
    }
    if !theirs.is_empty() {
        notes.push(format!(
            "at {theirs} load all connections had {} requests in flight, and others waited for room: the servers do \
             not keep up, and latencies grow as long as this lasts",
            plan.open_depth
        ));
    }
    notes.push(
        "latencies count from when a request was due; idle stretches are from the last answer to the next request, as \
         the generator sees them"
            .to_owned(),
    );
    if points.iter().any(|point| point.result.server_cpu_us == Some(0.0)) {
        notes.push("some points took less CPU time than the system counts: give more --time".to_owned());
    }
    notes
}

/// What the generator could do beside what the servers did.
fn headroom(floor: &PhaseResult, rate: f64) -> Option<String> {
    let headroom = answered_a_second(floor) / rate.max(1e-9);
    (headroom < LEAST_HEADROOM).then(|| {
        format!(
            "the generator asked a server that does nothing only {} times as often: it, or the machine that both share, \
             limits the capacity",
            digits(headroom)
        )
    })
}

/// How many answers were wrong in any way, and the first of them.
fn fault(points: &[KvPoint]) -> Option<(u64, String)> {
    let wrong = points.iter().map(|point| point.tally().wrong).sum();
    let told = points.iter().find_map(|point| {
        let stats = &point.result.stats;
        let first = stats.wrong.first.as_ref().or(stats.refused.first.as_ref()).cloned();
        let lost = (stats.shortfall.not_found > 0).then(|| "a key that was loaded was not found".to_owned());
        first.or(lost)
    });
    told.filter(|_| wrong > 0).map(|told| (wrong, told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_compared_by_a_millisecond_or_what_is_nearest() {
        let of = |us: &[u64]| common(us.iter().map(|us| Duration::from_micros(*us))).unwrap().as_micros();
        assert_eq!(of(&[100, 1000, 5000]), 1000);
        assert_eq!(of(&[100, 2000, 50_000]), 2000);
        assert_eq!(of(&[50_000]), 50_000);
        assert_eq!(common(std::iter::empty()), None);
    }
}
