//! What changes cost in large clusters, and for how long they stop writes.
//!
//! `cargo xtask sim --scale 10,100,1000` forms clusters of so many nodes, has one node join, one fail for good and one
//! leave, and one front-end fail, and tells what each took and how it grew from size to size; then that the managers' work does not
//! depend on the number of keys. `cargo xtask sim --pauses` tells how long joins and leaves stop the writes of a range.

use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};

use anyhow::{anyhow, ensure};
use fawn_sim::cluster::{Cluster, Pause, Work, pauses as pauses_of};

use crate::ended::TaskEnd;
use crate::seeds::{Stop, on_all_cores};
use crate::tell::say;
use crate::usage::{cpu_s, memory};

/// Keys that are asked for in clusters of all sizes.
const KEYS: u64 = 1000;

/// Nodes, and numbers of keys, of the clusters that differ in keys alone.
const BY_KEYS: (u32, [u64; 2]) = (10, [100, 10_000]);

/// The mean time that the simulated network takes for a message and its answer, in microseconds.
const ROUND_TRIP_US: f64 = 1550.0;

/// A phase with what only the process knows.
struct Phase {
    name: &'static str,
    work: Work,
    cpu_s: f64,
    peak_kib: u64,
}

/// Clusters of all these sizes.
pub fn scale(sizes: &[u32]) -> anyhow::Result<()> {
    let mut before: Option<(u32, Vec<Phase>)> = None;
    for nodes in sizes {
        let phases = changes(*nodes, KEYS)?;
        if let Some((fewer, smaller)) = before {
            say(format_args!("  from {fewer} to {nodes} nodes, times {:.1}:", f64::from(*nodes) / f64::from(fewer)))?;
            for (small, large) in smaller.iter().zip(&phases) {
                grown(small, large)?;
            }
        }
        before = Some((*nodes, phases));
    }
    let (nodes, [few, many]) = BY_KEYS;
    let (few_phases, many_phases) = (changes(nodes, few)?, changes(nodes, many)?);
    say(format_args!("  from {few} to {many} keys:"))?;
    for (small, large) in few_phases.iter().zip(&many_phases) {
        grown(small, large)?;
        let (one, other) = (managers(&small.work), managers(&large.work));
        // Loading is no change of the cluster; the rest may differ by what happens to be sent twice.
        ensure!(
            other <= one + one / 5 + 50,
            "the managers' work for a {} grows with the keys: {one}, {other}",
            small.name
        );
    }
    Ok(())
}

/// Commands and messages of the managers for changes.
fn managers(work: &Work) -> u64 {
    work.commands + work.taken + work.sent
}

fn grown(small: &Phase, large: &Phase) -> Result<(), TaskEnd> {
    let times = |one: u64, other: u64| other as f64 / one.max(1) as f64;
    say(format_args!(
        "  {:<9} time x {:.2}, messages x {:.1}, bytes x {:.1}, managers x {:.1}, views' bytes x {:.1}, CPU x {:.1}",
        small.name,
        times(small.work.simulated_us, large.work.simulated_us),
        times(small.work.messages, large.work.messages),
        times(small.work.bytes, large.work.bytes),
        times(managers(&small.work), managers(&large.work)),
        times(small.work.view_bytes, large.work.view_bytes),
        large.cpu_s / small.cpu_s.max(0.01),
    ))
}

/// Forms a cluster and changes it.
fn changes(nodes: u32, keys: u64) -> anyhow::Result<Vec<Phase>> {
    let began_kib = memory("VmRSS:")?;
    let mut cluster = Cluster::new(nodes, keys);
    let steps: [(&str, ScalePhase); 6] = [
        ("form", Cluster::form),
        ("load", Cluster::load),
        ("join", Cluster::join),
        ("failure", Cluster::fail),
        ("drain", Cluster::drain),
        ("front-end", Cluster::fail_front),
    ];
    say(format_args!("{nodes} nodes, {keys} keys"))?;
    say(format_args!(
        "  {:<9} {:>9} {:>9} {:>7} {:>8} {:>7} {:>7} {:>7} {:>6} {:>8} {:>7} {:>8} {:>6} {:>8}",
        "phase",
        "simulated",
        "messages",
        "MB",
        "commands",
        "taken",
        "sent",
        "beats",
        "views",
        "views KB",
        "fences",
        "forwards",
        "CPU s",
        "peak MiB"
    ))?;
    let mut phases = Vec::new();
    for (name, step) in steps {
        // The peak of what follows.
        std::fs::write("/proc/self/clear_refs", "5")?;
        let began = cpu_s()?;
        let work = step(&mut cluster).map_err(|why| anyhow!("{name} of {nodes} nodes: {why}"))?;
        let phase = Phase { name, work, cpu_s: cpu_s()? - began, peak_kib: memory("VmHWM:")? };
        show_phase(&phase)?;
        if name == "form" {
            let (ranges, replicas) = cluster.size();
            // Of a cluster that is not larger than one before, the process has the memory already.
            let grown_kib = memory("VmRSS:")?.saturating_sub(began_kib) as f64;
            say(format_args!(
                "  {ranges} ranges, {replicas} replicas; the process grew by {:.1} KiB a replica",
                grown_kib / replicas as f64
            ))?;
        }
        phases.push(phase);
    }
    Ok(phases)
}

fn show_phase(phase: &Phase) -> Result<(), TaskEnd> {
    let Phase { name, work, cpu_s, peak_kib } = phase;
    say(format_args!(
        "  {name:<9} {:>7.1} s {:>9} {:>7.1} {:>8} {:>7} {:>7} {:>7} {:>6} {:>8.1} {:>7} {:>8} {cpu_s:>6.2} {:>8}",
        work.simulated_us as f64 / 1e6,
        work.messages,
        work.bytes as f64 / 1e6,
        work.commands,
        work.taken,
        work.sent,
        work.beats,
        work.views,
        work.view_bytes as f64 / 1e3,
        work.fences,
        work.forwards,
        peak_kib / 1024,
    ))
}

/// A part of a pause, in microseconds.
type PartOf = fn(&Pause) -> u64;

/// A phase of a cluster.
type ScalePhase = fn(&mut Cluster) -> Result<Work, String>;

/// For how long joins and leaves stop writes, in runs without faults.
pub fn pauses(seeds: Range<u64>) -> anyhow::Result<()> {
    let found = Mutex::new((Vec::new(), 0));
    let course = on_all_cores(&Stop::on_interrupt()?, seeds, None, |seed, _| {
        let (pauses, superseded) = pauses_of(seed)?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.0.extend(pauses);
        found.1 += superseded;
        Ok(ControlFlow::Continue(()))
    })?;
    let (all, again) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (runs, changes) = (course.ran, all.len());
    say(format_args!(
        "{runs} joins and {runs} leaves: {changes} changes stopped writes, {again} more were begun again"
    ))?;
    if all.is_empty() {
        course.or_stopped()?;
    }
    ensure!(!all.is_empty(), "no change stopped writes: give more seeds");
    say(format_args!(
        "{:<10} {:>7} {:>8} {:>8} {:>8}  round trips of {ROUND_TRIP_US} us",
        "ms", "changes", "p50", "p99", "max"
    ))?;
    for kind in ["members", "split", "merge"] {
        show(kind, all.iter().filter(|pause| pause.kind == kind).map(|pause| pause.whole_us).collect())?;
    }
    let parts: [(&str, PartOf); 5] = [
        ("all", |pause| pause.whole_us),
        ("  seal", |pause| pause.seal_us),
        ("  level", |pause| pause.level_us),
        ("  log", |pause| pause.log_us),
        ("  activate", |pause| pause.active_us),
    ];
    for (name, part) in parts {
        show(name, all.iter().map(part).collect())?;
    }
    Ok(course.or_stopped()?)
}

fn show(name: &str, mut times: Vec<u64>) -> Result<(), TaskEnd> {
    times.sort_unstable();
    let (count, max) = (times.len(), times.last().copied().unwrap_or(0));
    let at = |percent: usize| times.get(count * percent / 100).copied().unwrap_or(max);
    let ms = |us: u64| us as f64 / 1000.0;
    let trips = |us: u64| us as f64 / ROUND_TRIP_US;
    say(format_args!(
        "{name:<10} {count:>7} {:>8.2} {:>8.2} {:>8.2}  {:.1}, {:.1}, {:.1}",
        ms(at(50)),
        ms(at(99)),
        ms(max),
        trips(at(50)),
        trips(at(99)),
        trips(max)
    ))
}
