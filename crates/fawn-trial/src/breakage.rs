//! Faults at work: what each breaks, and how it is mended.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::cluster::{Condition, ProcessRole, TrialCluster};
use crate::disk;
use crate::fault::FaultKind;
use crate::net::weather::Weather;
use crate::net::{FaultState, Host};
use crate::plan::PlannedFault;
use crate::status::ClientPace;

/// What is broken.
#[derive(Debug)]
pub enum Breakage {
    /// Nothing any more: the fault mended itself.
    Nothing,
    /// These do not run: their names.
    Down(Vec<String>),
    /// It stands still.
    Paused(String),
    /// Nobody reaches it.
    Isolated(Host),
    /// What the first says to the second is lost.
    Cut(Vec<(Host, Host)>),
    /// Its packets are delayed, lost or doubled.
    Disturbed(Host),
    /// Its disk is full.
    Full(String),
}

impl Breakage {
    /// Whether it lies between clients and a member.
    pub fn is_between_clients_and(&self, name: &str) -> bool {
        let Self::Cut(pairs) = self else { return false };
        pairs.iter().any(|(from, to)| (from.number == 0 && to.name == name) || (to.number == 0 && from.name == name))
    }

    /// Whether it is broken itself, so that it is better left alone.
    pub fn touches(&self, name: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Down(names) => names.iter().any(|other| other == name),
            Self::Paused(other) | Self::Full(other) => other == name,
            Self::Isolated(host) | Self::Disturbed(host) => host.name == name,
            Self::Cut(pairs) => pairs.iter().any(|(from, to)| from.name == name || to.name == name),
        }
    }
}

/// What a fault has come to.
#[derive(Debug)]
pub enum FaultOutcome {
    /// This is broken: in words, and to be mended.
    Broken(String, Breakage),
    /// There was nothing for it to break: why.
    Skipped(String),
}

/// A process that is started is ready within this time, at the very worst.
const READY: Duration = Duration::from_mins(1);

/// A node that is drained has nothing left within this time.
const DRAINED: Duration = Duration::from_mins(2);

/// Every range is whole within this time after one process was stopped and started.
const WHOLE: Duration = Duration::from_mins(1);

/// How often it is looked whether something has come about.
const LOOK: Duration = Duration::from_millis(200);

/// More nodes than there are to be at most.
const EXTRA_NODES: usize = 2;

/// Whether a fault of this kind can be made here; otherwise why not.
pub fn obstacle(cluster: &TrialCluster, kind: FaultKind) -> Option<String> {
    let is_single = cluster.members.iter().any(|member| member.role == ProcessRole::Single);
    if is_single && !kind.suits_single() {
        return Some("one process alone has none".to_owned());
    }
    match kind {
        FaultKind::Slow | FaultKind::Lossy => cluster.network.without_weather().map(ToOwned::to_owned),
        FaultKind::DiskFull if !cluster.members.iter().any(|member| member.has_small_disk) => {
            Some("no small file system can be mounted".to_owned())
        }
        _ => None,
    }
}

/// What a fault may hit beside the ones that are in force.
struct Targets<'a> {
    cluster: &'a TrialCluster,
    in_force: &'a [&'a Breakage],
    draw: u64,
}

impl Targets<'_> {
    fn is_whole(&self, at: usize) -> bool {
        let member = &self.cluster.members[at];
        let is_touched = self.in_force.iter().any(|broken| broken.touches(&member.name));
        // One manager at a time, so that a majority stays.
        let is_manager = |at: &usize| self.cluster.members[*at].role == ProcessRole::Manager;
        let touched = |at: &usize| self.in_force.iter().any(|broken| broken.touches(&self.cluster.members[*at].name));
        let managers = (0..self.cluster.members.len()).filter(is_manager).filter(touched).count();
        member.condition == Condition::Up && !is_touched && (member.role != ProcessRole::Manager || managers == 0)
    }

    fn pick(&self, suits: impl Fn(usize) -> bool, draw: u64) -> Option<usize> {
        let whole = (0..self.cluster.members.len()).filter(|&at| self.is_whole(at) && suits(at));
        let whole: Vec<usize> = whole.collect();
        (!whole.is_empty()).then(|| whole[(draw % whole.len() as u64) as usize])
    }

    fn any(&self) -> Option<usize> {
        self.pick(|_| true, self.draw)
    }

    fn pair(&self, suits: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
        let first = self.pick(&suits, self.draw)?;
        Some((first, self.pick(|at| suits(at) && at != first, self.draw >> 32)?))
    }
}

/// Breaks what a fault breaks.
///
/// # Errors
/// Something does not work that has to: a process does not start, or does not stop when asked, or `ip` fails.
pub fn inject(
    cluster: &mut TrialCluster,
    fault: &PlannedFault,
    in_force: &[&Breakage],
) -> anyhow::Result<FaultOutcome> {
    let targets = Targets { cluster, in_force, draw: fault.draw };
    let role = |at: usize| targets.cluster.members[at].role;
    let target = match fault.kind {
        FaultKind::RestartAll => return restart_all(cluster, fault.hold),
        FaultKind::Rolling => return rolling(cluster),
        FaultKind::Leader => {
            let leader = cluster.leader()?;
            return Ok(kill(cluster, leader, "the leading manager "));
        }
        FaultKind::LeaderJoin => return join(cluster, Some(fault.hold)),
        FaultKind::Join => return join(cluster, None),
        FaultKind::Leave => return leave(cluster, fault.draw),
        FaultKind::Partial | FaultKind::OneWay | FaultKind::Severed => {
            let is_member = |at: usize| fault.kind == FaultKind::OneWay || role(at) != ProcessRole::Manager;
            let is_one_way = match fault.kind {
                FaultKind::Severed => fault.draw & 1 == 0,
                kind => kind == FaultKind::OneWay,
            };
            return match targets.pair(is_member) {
                Some((first, second)) => cut(cluster, [first, second].map(|at| host(cluster, at)), is_one_way),
                None => Ok(FaultOutcome::Skipped("no two processes are healthy".to_owned())),
            };
        }
        FaultKind::LeaderLink => {
            let leader = cluster.leader()?;
            let targets = Targets { cluster, in_force, draw: fault.draw };
            let member = targets.pick(|at| targets.cluster.members[at].role != ProcessRole::Manager, fault.draw >> 2);
            return match member
                .filter(|_| targets.is_whole(leader) && targets.cluster.up(ProcessRole::Manager).len() > 2)
            {
                Some(member) => cut_either_way(cluster, [member, leader].map(|at| host(cluster, at)), fault.draw),
                None => {
                    Ok(FaultOutcome::Skipped("no member and the leader are healthy, beside two managers".to_owned()))
                }
            };
        }
        FaultKind::ClientLink => {
            return match targets.pick(|_| true, fault.draw >> 2) {
                Some(at) => cut_either_way(cluster, [cluster.network.clients(), host(cluster, at)], fault.draw),
                None => Ok(FaultOutcome::Skipped("no process is healthy".to_owned())),
            };
        }
        FaultKind::DiskFull => targets.pick(|at| targets.cluster.members[at].has_small_disk, fault.draw),
        FaultKind::Wipe => targets.pick(|at| role(at) == ProcessRole::Node, fault.draw),
        FaultKind::Kill | FaultKind::Pause | FaultKind::Partition | FaultKind::Slow | FaultKind::Lossy => targets.any(),
    };
    let Some(at) = target else { return Ok(FaultOutcome::Skipped("no suitable process is healthy".to_owned())) };
    hit(cluster, fault, at)
}

/// The faults that hit one member.
fn hit(cluster: &mut TrialCluster, fault: &PlannedFault, at: usize) -> anyhow::Result<FaultOutcome> {
    let (name, host) = (cluster.members[at].name.clone(), cluster.members[at].host.clone());
    Ok(match fault.kind {
        FaultKind::Kill => kill(cluster, at, ""),
        FaultKind::Pause => {
            cluster.pause(at, Condition::Paused);
            FaultOutcome::Broken(format!("{name} is stopped (SIGSTOP)"), Breakage::Paused(name))
        }
        FaultKind::Partition => {
            cluster.network.isolate(&host, FaultState::Broken)?;
            FaultOutcome::Broken(format!("{name} is partitioned from all others"), Breakage::Isolated(host))
        }
        FaultKind::Slow => {
            let ms = 10 + fault.draw % 90;
            cluster.network.disturb(&host, Weather::slow(ms), FaultState::Broken)?;
            FaultOutcome::Broken(format!("{name} is {ms} ms away"), Breakage::Disturbed(host))
        }
        FaultKind::Lossy => {
            let percent = 2 + fault.draw % 18;
            cluster.network.disturb(&host, Weather::lossy(percent), FaultState::Broken)?;
            FaultOutcome::Broken(format!("{percent} % of {name}'s packets are lost"), Breakage::Disturbed(host))
        }
        FaultKind::DiskFull => {
            disk::fill(&cluster.disk(at)).context("the ballast cannot be written")?;
            FaultOutcome::Broken(format!("{name}'s disk is full"), Breakage::Full(name))
        }
        FaultKind::Wipe => {
            cluster.kill(at);
            cluster.wipe(at)?;
            FaultOutcome::Broken(format!("{name} has lost its disk"), Breakage::Down(vec![name]))
        }
        other => unreachable!("{other} affects more than one member"),
    })
}

fn kill(cluster: &mut TrialCluster, at: usize, what: &str) -> FaultOutcome {
    let name = cluster.members[at].name.clone();
    cluster.kill(at);
    FaultOutcome::Broken(format!("{what}{name} is killed"), Breakage::Down(vec![name]))
}

fn host(cluster: &TrialCluster, at: usize) -> Host {
    cluster.members[at].host.clone()
}

/// Cuts both ways between two hosts, or one of them.
fn cut_either_way(cluster: &TrialCluster, [first, second]: [Host; 2], draw: u64) -> anyhow::Result<FaultOutcome> {
    let hosts = if draw & 2 == 0 { [first, second] } else { [second, first] };
    cut(cluster, hosts, draw & 1 == 0)
}

fn cut(cluster: &TrialCluster, [first, second]: [Host; 2], is_one_way: bool) -> anyhow::Result<FaultOutcome> {
    let (from, to) = (&first.name, &second.name);
    let (words, pairs) = if is_one_way {
        (format!("{to} receives nothing from {from}"), vec![(first.clone(), second)])
    } else {
        let words = format!("{from} and {to} are partitioned from each other");
        (words, vec![(first.clone(), second.clone()), (second, first)])
    };
    for (from, to) in &pairs {
        cluster.network.cut(from, to, FaultState::Broken)?;
    }
    Ok(FaultOutcome::Broken(words, Breakage::Cut(pairs)))
}

fn restart_all(cluster: &mut TrialCluster, hold: Duration) -> anyhow::Result<FaultOutcome> {
    for at in 0..cluster.members.len() {
        cluster.kill(at);
    }
    std::thread::sleep(hold);
    cluster.start_all(READY)?;
    Ok(FaultOutcome::Broken(
        format!("all processes are killed, and start after {} ms", hold.as_millis()),
        Breakage::Nothing,
    ))
}

fn rolling(cluster: &mut TrialCluster) -> anyhow::Result<FaultOutcome> {
    for at in 0..cluster.members.len() {
        cluster.stop(at)?;
        cluster.members[at].is_upgraded = true;
        cluster.start(at)?;
        cluster.await_ready(at, READY)?;
        await_whole(cluster)?;
    }
    Ok(FaultOutcome::Broken("all processes are stopped and started, one after the other".to_owned(), Breakage::Nothing))
}

/// Waits as an operator would before the next process is stopped.
fn await_whole(cluster: &TrialCluster) -> anyhow::Result<()> {
    if cluster.members.iter().any(|member| member.role == ProcessRole::Single) {
        return Ok(());
    }
    let (deadline, replicas) = (Instant::now() + WHOLE, usize::from(cluster.sizes().replicas));
    loop {
        let complaint = match cluster.status() {
            Ok(status) => status.complaint(replicas, ClientPace::Busy),
            Err(error) => Some(format!("{error:#}")),
        };
        let Some(complaint) = complaint else { return Ok(()) };
        ensure!(Instant::now() < deadline, "not healthy {} s after a restart: {complaint}", WHOLE.as_secs());
        std::thread::sleep(LOOK);
    }
}

fn nodes(cluster: &TrialCluster) -> usize {
    cluster.members.iter().filter(|member| member.role == ProcessRole::Node).count()
}

/// A node joins; with a time, the leading manager is killed so long after it has asked.
fn join(cluster: &mut TrialCluster, kill_after: Option<Duration>) -> anyhow::Result<FaultOutcome> {
    if nodes(cluster) >= usize::from(cluster.sizes().nodes) + EXTRA_NODES {
        return Ok(FaultOutcome::Skipped("there are already enough nodes".to_owned()));
    }
    let leader = kill_after.map(|_| cluster.leader()).transpose()?;
    let at = cluster.add_node()?;
    let name = cluster.members[at].name.clone();
    cluster.start(at)?;
    match (kill_after, leader) {
        (Some(after), Some(leader)) => {
            std::thread::sleep(after);
            let words = format!("{name} joins, and {} ms later the leading manager ", after.as_millis());
            Ok(kill(cluster, leader, &words))
        }
        _ => Ok(FaultOutcome::Broken(format!("{name} joins"), Breakage::Nothing)),
    }
}

fn leave(cluster: &mut TrialCluster, draw: u64) -> anyhow::Result<FaultOutcome> {
    let nodes = cluster.up(ProcessRole::Node);
    if nodes.len() <= usize::from(cluster.sizes().replicas) {
        return Ok(FaultOutcome::Skipped("there are only as many nodes as needed".to_owned()));
    }
    let at = nodes[(draw % nodes.len() as u64) as usize];
    let name = cluster.members[at].name.clone();
    cluster.operate(&["node", "drain", &name], DRAINED)?;
    let deadline = Instant::now() + DRAINED;
    while cluster.status().map_or(true, |status| status.has_ranges(&name)) {
        ensure!(Instant::now() < deadline, "{name} still has ranges {} s after it was drained", DRAINED.as_secs());
        std::thread::sleep(LOOK);
    }
    cluster.stop(at)?;
    // It counts as alive until managers have not heard it for a while.
    while let Err(error) = cluster.operate(&["node", "remove", &name], DRAINED) {
        ensure!(Instant::now() < deadline, "{name} was drained and stopped, and cannot be removed: {error:#}");
        std::thread::sleep(LOOK);
    }
    cluster.forget(at);
    Ok(FaultOutcome::Broken(format!("{name} is drained and removed"), Breakage::Nothing))
}

/// Mends what was broken. Processes that are started need not be ready yet.
///
/// # Errors
/// Something cannot be mended.
pub fn mend(cluster: &mut TrialCluster, broken: &Breakage) -> anyhow::Result<()> {
    let place = |cluster: &TrialCluster, name: &str| cluster.members.iter().position(|member| member.name == name);
    match broken {
        Breakage::Nothing => Ok(()),
        Breakage::Down(names) => {
            let places: Vec<usize> = names.iter().filter_map(|name| place(cluster, name)).collect();
            ensure!(places.len() == names.len(), "who was killed has left");
            places.into_iter().try_for_each(|at| {
                cluster.members[at].is_upgraded = true;
                cluster.start(at)
            })
        }
        Breakage::Paused(name) => {
            if let Some(at) = place(cluster, name) {
                cluster.pause(at, Condition::Up);
            }
            Ok(())
        }
        Breakage::Isolated(host) => cluster.network.isolate(host, FaultState::Mended),
        Breakage::Cut(pairs) => {
            pairs.iter().try_for_each(|(from, to)| cluster.network.cut(from, to, FaultState::Mended))
        }
        Breakage::Disturbed(host) => cluster.network.disturb(host, Weather::slow(0), FaultState::Mended),
        Breakage::Full(name) => {
            let at = place(cluster, name).context("a disk that is full is there")?;
            disk::free(&cluster.disk(at)).context("the ballast cannot be removed")
        }
    }
}
