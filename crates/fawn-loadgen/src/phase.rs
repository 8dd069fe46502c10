//! A phase of a run, on threads of its own: a load, or operations for a time.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fawn_meter::{Energy, Metering};
use fawn_report::Watch;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::choice::Chooser;
use crate::context::PhaseContext;
use crate::dial::LoadTarget;
use crate::error::LoadgenError;
use crate::idle::{IdleStats, IdleTracker};
use crate::newest::Newest;
use crate::plan::{LoadPace, LoadPlan};
use crate::schedule::Schedule;
use crate::stats::OperationStats;
use crate::system::{HostCpu, processes_cpu_us};
use crate::versions::KeyVersions;
use crate::worker::{KeyLoad, OperationSource, Worker};

/// How often it is told how far a phase is.
const TELL: Duration = Duration::from_millis(200);

/// A phase.
#[derive(Clone, Copy, Debug)]
pub struct LoadPhase {
    /// Set every key once, instead of drawing operations for a time.
    pub is_load: bool,
    /// Draw so many operations, instead of for a time.
    pub operations: Option<u64>,
    /// How long the same is done before it is measured.
    pub warm_up: Duration,
    /// How long it is measured; a load, and a number of operations, end by themselves.
    pub time: Duration,
    /// By the clock.
    pub pace: Option<LoadPace>,
    /// The entry whose value the server shows for every key, with its version.
    pub shown: Option<(u64, u32)>,
    /// How long requests that were due are still sent after the end, and answers awaited; those that have not come by then count as
    /// [`Shortfall::unanswered`]. `None`: nothing is sent then, and answers are awaited until a server is silent for too long.
    ///
    /// [`Shortfall::unanswered`]: crate::stats::Shortfall::unanswered
    pub grace: Option<Duration>,
    /// Whether idle stretches are measured.
    pub follows_idle: bool,
    /// For people.
    pub what: &'static str,
}

/// What a phase took.
#[derive(Clone, Debug)]
pub struct PhaseResult {
    /// What the loops counted.
    pub stats: OperationStats,
    /// The time that was measured.
    pub seconds: f64,
    /// CPU time of the servers' processes in it, microseconds; none: no process was named.
    pub server_cpu_us: Option<f64>,
    /// CPU time of the whole machine in it, microseconds, and the share of all time that others of the host took.
    pub machine: Option<(f64, f64)>,
    /// Several times a second, nanoseconds from the beginning and operations answered by then; those of the warm-up do not count.
    pub samples: Vec<(u64, u64)>,
    /// What was drawn meanwhile; none: nothing meters it.
    pub energy: Option<Energy>,
    /// When no request was under way; `None`: that was not measured.
    pub idle: Option<IdleStats>,
}

/// Runs a phase on threads of its own.
///
/// # Errors
/// What the servers or the system do that ends it.
pub fn carry_out(
    plan: &LoadPlan,
    phase: LoadPhase,
    versions: &KeyVersions,
    watch: &dyn Watch,
) -> Result<PhaseResult, LoadgenError> {
    // So that what is wrong with a process is said before anything is done.
    processes_cpu_us(&plan.server_pids)?;
    let mut sockets = dial_all(plan)?;
    let start = phase.warm_up.as_nanos() as u64;
    let end = u64::try_from(phase.time.as_nanos()).map_or(u64::MAX, |time| time.saturating_add(start));
    let shared = PhaseContext {
        plan,
        versions,
        newest: Newest::new(plan.keys),
        began: Instant::now(),
        window: start..end,
        shown: phase.shown,
        answered: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        last_answer_ns: phase.grace.map_or(u64::MAX, |grace| end.saturating_add(grace.as_nanos() as u64)),
        idle: phase.follows_idle.then(|| Mutex::new(IdleTracker::new(start..end))),
    };
    let main = thread::current();
    let workers = (0..plan.threads).rev().map(|number| {
        let source = if phase.is_load {
            OperationSource::Load(KeyLoad::new(number, plan.threads))
        } else {
            let chooser = Chooser::new(plan.distribution, plan.keys, plan.mix, &shared.newest, seed(number));
            OperationSource::Mix {
                chooser,
                left: phase.operations.map_or(u64::MAX, |all| part(all, number, plan.threads)),
            }
        };
        let schedule = phase.pace.map(|pace| Schedule::new(pace, number, plan.threads));
        let mine = sockets.split_off(sockets.len() * number / (number + 1));
        Worker::new(&shared, mine, source, schedule)
    });
    let workers = workers.collect::<Result<Vec<_>, _>>()?;
    let (stats, usage, samples) = thread::scope(|scope| {
        let mut handles = Vec::new();
        for worker in workers {
            let main = &main;
            handles.push(scope.spawn(move || {
                let stats = worker.run();
                main.unpark();
                stats
            }));
        }
        let all_ended = || handles.iter().all(thread::ScopedJoinHandle::is_finished);
        let mut samples = Vec::new();
        let watched = observe(&shared, &phase, watch, &mut samples, all_ended);
        if watched.is_err() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        let mut stats = OperationStats::default();
        let mut failure = None;
        for worker in handles {
            match worker.join() {
                Ok(Ok(more)) => stats.merge(more),
                Ok(Err(error)) => failure = failure.or(Some(error)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        Ok((stats, watched?, samples))
    })?;
    if phase.grace.is_some()
        && let Some((target, unanswered)) = stats.servers.silent()
    {
        let waited = shared.began.elapsed().saturating_sub(phase.warm_up);
        return Err(LoadgenError::NoReplies { target: plan.targets[target].to_string(), unanswered, waited });
    }
    let PhaseUsage { server_cpu_us, machine, energy } = usage;
    let ended_ns = if end == u64::MAX { stats.ended_ns } else { end };
    let seconds = ended_ns.saturating_sub(start) as f64 / 1e9;
    Ok(PhaseResult { stats, seconds, server_cpu_us, machine, samples, energy, idle: shared.idle_stats() })
}

/// The operations of loop `number` of `loops`, of so many.
fn part(all: u64, number: usize, loops: usize) -> u64 {
    all / loops as u64 + u64::from((number as u64) < all % loops as u64)
}

fn seed(number: usize) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    fawn_workload::mix(now ^ number as u64)
}

/// A socket for each connection, with the number of its server: to all servers in turn.
fn dial_all(plan: &LoadPlan) -> Result<Vec<(usize, OwnedFd)>, LoadgenError> {
    raise_descriptor_limit(plan.connections)?;
    let dial = |at: usize| {
        let target = at % plan.targets.len();
        let socket = LoadTarget::dial(&plan.targets[target], plan.secret.as_deref(), plan.protocol, plan.timeout)?;
        Ok((target, socket))
    };
    (0..plan.connections).map(dial).collect()
}

/// Descriptors beside the connections.
const OTHER_DESCRIPTORS: u64 = 64;

/// Lets the process have so many connections.
///
/// # Errors
/// [`LoadgenError::Descriptors`]: it may not have them.
pub fn raise_descriptor_limit(connections: usize) -> Result<(), LoadgenError> {
    let limit = getrlimit(Resource::Nofile);
    let needed = connections as u64 + OTHER_DESCRIPTORS;
    if let Some(most) = limit.maximum.filter(|most| *most < needed) {
        return Err(LoadgenError::Descriptors { connections, needed, most });
    }
    if limit.current.is_some_and(|current| current < needed) {
        // If it is refused all the same, connecting will say so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(needed), ..limit });
    }
    Ok(())
}

/// As [`PhaseResult`] has them.
struct PhaseUsage {
    server_cpu_us: Option<f64>,
    machine: Option<(f64, f64)>,
    energy: Option<Energy>,
}

/// Takes the CPU time of servers and machine, and the energy, over the time that is measured, or until the last answer that is
/// waited for after it, and tells how far it is meanwhile.
fn observe(
    shared: &PhaseContext<'_>,
    phase: &LoadPhase,
    watch: &dyn Watch,
    samples: &mut Vec<(u64, u64)>,
    all_ended: impl Fn() -> bool,
) -> Result<PhaseUsage, LoadgenError> {
    let pids = &shared.plan.server_pids;
    let Range { start, end } = shared.window;
    let told = PhaseWatch { shared, phase, watch };
    told.wait_until(start, None, samples, &all_ended);
    let before = (processes_cpu_us(pids)?, HostCpu::now());
    let metering = fawn_meter::start(shared.plan.meter.as_ref())?;
    // What is answered after the end costs something too.
    let until = if shared.has_grace() { shared.last_answer_ns } else { end };
    told.wait_until(until, metering.as_ref(), samples, &all_ended);
    let server = if pids.is_empty() { None } else { Some(processes_cpu_us(pids)? - before.0) };
    let machine = before.1.and_then(|before| Some(HostCpu::now()?.since(&before)));
    Ok(PhaseUsage { server_cpu_us: server, machine, energy: fawn_meter::stop(metering)? })
}

/// A phase, and who is told how far it is.
struct PhaseWatch<'t> {
    shared: &'t PhaseContext<'t>,
    phase: &'t LoadPhase,
    watch: &'t dyn Watch,
}

impl PhaseWatch<'_> {
    /// Waits until then; meanwhile it is sampled how many operations were answered.
    fn wait_until(
        &self,
        at_ns: u64,
        metering: Option<&Metering>,
        samples: &mut Vec<(u64, u64)>,
        all_ended: impl Fn() -> bool,
    ) {
        let Self { shared, phase, watch } = self;
        let (mut told_ns, mut told) = (0, 0);
        loop {
            let now = shared.began.elapsed().as_nanos() as u64;
            if now >= at_ns || shared.stop.load(Ordering::Relaxed) || all_ended() {
                return;
            }
            let answered = shared.answered.load(Ordering::Relaxed);
            samples.push((now, answered));
            if now.saturating_sub(told_ns) >= TELL.as_nanos() as u64 {
                let rate = (answered - told) as f64 * 1e9 / (now - told_ns) as f64;
                let (done, total) = match phase.operations {
                    Some(operations) => (answered, operations),
                    None if phase.is_load => (answered, shared.plan.keys),
                    None => (now, shared.window.end),
                };
                let watts =
                    metering.and_then(Metering::watts).map_or_else(String::new, |watts| format!(", {watts:.1} W"));
                watch.progress(done, total, &format!("{}: {rate:.0} operations/s{watts}", phase.what));
                (told_ns, told) = (now, answered);
            }
            thread::park_timeout(TELL.min(Duration::from_nanos(at_ns - now)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LoadgenError, part, raise_descriptor_limit};

    #[test]
    fn more_connections_than_the_system_gives_are_refused_before_one_is_made() {
        let error = raise_descriptor_limit(usize::MAX >> 1);
        // Where there is no limit, there is nothing to refuse.
        let Err(error) = error else { return };
        assert!(matches!(error, LoadgenError::Descriptors { .. }), "{error}");
        assert!(error.to_string().contains("give fewer --connections"), "{error}");
        raise_descriptor_limit(1).unwrap();
    }

    #[test]
    fn the_parts_of_all_loops_are_all_operations() {
        for (all, loops) in [(0, 3), (1, 3), (1000, 1), (1000, 7), (1001, 2)] {
            let parts: Vec<u64> = (0..loops).map(|number| part(all, number, loops)).collect();
            assert_eq!(parts.iter().sum::<u64>(), all, "{parts:?}");
            assert!(parts[0] - parts[loops - 1] <= 1, "{parts:?}");
        }
    }
}
