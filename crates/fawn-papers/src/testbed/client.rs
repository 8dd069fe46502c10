//! Load on servers, by the generator of [`net`](fawn_loadgen): one ledger for all that is done to them, so that every value that is
//! read is verified by what this program has put.

use std::cell::Cell;
use std::io::BufRead as _;
use std::net::SocketAddr;
use std::time::Duration;

use fawn_loadgen::phase::{LoadPhase, PhaseResult, carry_out};
use fawn_loadgen::run::version_base;
use fawn_loadgen::system::wait_until_idle;
use fawn_loadgen::versions::KeyVersions;
use fawn_loadgen::{Distribution, LoadPace, LoadPlan, LoadProtocol, LoadTarget, Mix, Spacing};
use fawn_meter::Meter;
use fawn_report::Watch;

use crate::error::Error;
use crate::finding::Finding;
use crate::testbed::servers::ask;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// Requests in flight on each of 32 connections while keys are put.
const LOAD_DEPTH: usize = 8;

/// The longest that is waited until servers have nothing left to do.
const IDLE_WITHIN: Duration = Duration::from_mins(3);

/// A rate is told of no shorter stretch: what is under way at its ends would be most of it.
const LEAST_STRETCH_SECONDS: f64 = 0.02;

/// Keys that a server has, and who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerKeys {
    /// Keys, at least 1.
    pub count: u64,
    /// Bytes of each value, at least 8.
    pub value_bytes: usize,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientWork {
    /// Connections.
    pub connections: usize,
    /// Requests in flight on each.
    pub depth: usize,
    /// Share of sets among the operations.
    pub puts: f64,
    /// Which keys.
    pub distribution: Distribution,
    /// Operations a second; `None`: as fast as they are answered.
    pub rate: Option<f64>,
    /// How long the same is done before.
    pub warm_up: Duration,
    /// How long it is measured.
    pub time: Duration,
}

impl ClientWork {
    /// Gets of any keys as fast as they are answered, by 32 connections with 16 requests in flight each.
    pub fn gets(time: Duration) -> Self {
        Self {
            connections: 32,
            depth: 16,
            puts: 0.0,
            distribution: Distribution::Uniform,
            rate: None,
            warm_up: time / 10,
            time,
        }
    }

    /// Says in a finding what was done.
    pub fn tell(&self, finding: &mut Finding) {
        finding.parameter("connections", self.connections);
        finding.parameter("requests_in_flight_each", self.depth);
        finding.parameter("seconds", self.time.as_secs_f64());
    }
}

/// Whether operations may be refused, or worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusals {
    /// One is an error.
    Fail,
    /// They are counted.
    Count,
    /// So are values that are older than they should be, or gone: of servers that may lose some when one fails.
    CountLosses,
}

/// A client of servers that have its keys.
pub struct TestbedClient<'w> {
    keys: ServerKeys,
    ledger: KeyVersions,
    addresses: Vec<SocketAddr>,
    pids: Vec<u32>,
    watch: &'w dyn Watch,
    refusals: Cell<Refusals>,
    meter: Option<Meter>,
}

impl<'w> TestbedClient<'w> {
    /// Puts all keys, as fast as they are acknowledged, and waits until the servers are done with them; also what the puts took.
    ///
    /// # Errors
    /// [`Error::Load`], [`Error::WrongOverNetwork`]; [`Error::Server`]: they are not done within minutes.
    pub fn load(
        addresses: &[SocketAddr],
        pids: Vec<u32>,
        keys: ServerKeys,
        watch: &'w dyn Watch,
    ) -> Result<(Self, PhaseResult), Error> {
        let base = version_base();
        let ledger = KeyVersions::new(keys.count, base, true, true);
        let (addresses, refusals) = (addresses.to_vec(), Cell::new(Refusals::Fail));
        let client = Self { keys, ledger, addresses, pids, watch, refusals, meter: None };
        let blank = KeyVersions::new(client.keys.count, base, false, false);
        let phase = LoadPhase {
            is_load: true,
            warm_up: Duration::ZERO,
            time: Duration::MAX,
            operations: None,
            pace: None,
            shown: None,
            grace: None,
            follows_idle: false,
            what: "loading",
        };
        let work = ClientWork { puts: 1.0, depth: LOAD_DEPTH, ..ClientWork::gets(Duration::MAX) };
        let loaded = carry_out(&client.plan(&work), phase, &blank, watch)?;
        client.check(&loaded, phase.what)?;
        client.settle()?;
        Ok((client, loaded))
    }

    /// From now on, so.
    pub fn set_refusals(&self, refusals: Refusals) {
        self.refusals.set(refusals);
    }

    /// From now on these are the servers' processes.
    pub fn set_pids(&mut self, pids: Vec<u32>) {
        self.pids = pids;
    }

    /// From now on what is drawn is metered, where there is a meter.
    pub fn set_meter(&mut self, meter: Option<Meter>) {
        self.meter = meter;
    }

    /// Servers have come or gone.
    pub fn set_servers(&mut self, addresses: &[SocketAddr], pids: Vec<u32>) {
        self.addresses = addresses.to_vec();
        self.pids = pids;
    }

    /// Waits until the servers rest: a load leaves seals and merges behind.
    fn settle(&self) -> Result<(), Error> {
        if wait_until_idle(&self.pids, IDLE_WITHIN, self.watch)? {
            return Ok(());
        }
        let what = format!("still work {} s after a load", IDLE_WITHIN.as_secs());
        Err(Error::Server { name: "the servers".to_owned(), what })
    }

    /// Warms up, does it, and tells which share of the gets no flash was read for; `None`: the servers do not say.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_telling_dram(&self, work: &ClientWork, what: &'static str) -> Result<(PhaseResult, Option<f64>), Error> {
        if !work.warm_up.is_zero() {
            self.run(&ClientWork { time: work.warm_up, warm_up: Duration::ZERO, ..*work }, "warming up")?;
        }
        let before = self.flash_reads();
        let measured = self.run(&ClientWork { warm_up: Duration::ZERO, ..*work }, what)?;
        let reads = before.zip(self.flash_reads()).map(|(before, after)| after.saturating_sub(before) as f64);
        // What was answered past the end was read for, too.
        let gets = measured.stats.gets().latencies.count() - measured.stats.unsent;
        Ok((measured, reads.map(|reads| (1.0 - reads / gets.max(1) as f64).clamp(0.0, 1.0))))
    }

    /// Reads of flash for lookups so far, of all servers; `None`: one does not say.
    fn flash_reads(&self) -> Option<u64> {
        self.addresses.iter().map(|address| stat(*address, "fawn_reads").ok().flatten()).sum()
    }

    /// Does it, and looks at every value.
    ///
    /// # Errors
    /// [`Error::Load`]; [`Error::WrongOverNetwork`]: a value was wrong, a key was not there, or an operation was refused.
    pub fn run(&self, work: &ClientWork, what: &'static str) -> Result<PhaseResult, Error> {
        let pace = work.rate.map(|rate| LoadPace { rate, spacing: Spacing::Poisson });
        let phase = LoadPhase {
            is_load: false,
            warm_up: work.warm_up,
            time: work.time,
            operations: None,
            pace,
            shown: None,
            grace: None,
            follows_idle: false,
            what,
        };
        let measured = carry_out(&self.plan(work), phase, &self.ledger, self.watch)?;
        self.check(&measured, what)?;
        Ok(measured)
    }

    fn check(&self, measured: &PhaseResult, phase: &'static str) -> Result<(), Error> {
        let tally = &measured.stats;
        if self.refusals.get() == Refusals::CountLosses {
            return Ok(());
        }
        let refused = Some(&tally.refused).filter(|_| self.refusals.get() == Refusals::Fail);
        for faults in [Some(&tally.wrong), refused].into_iter().flatten() {
            if let Some(first) = &faults.first {
                return Err(Error::WrongOverNetwork { phase, count: faults.count, first: first.clone() });
            }
        }
        if tally.misses > 0 {
            let first = "a key that was put was not found".to_owned();
            return Err(Error::WrongOverNetwork { phase, count: tally.misses, first });
        }
        Ok(())
    }

    fn plan(&self, work: &ClientWork) -> LoadPlan {
        LoadPlan {
            targets: self.addresses.iter().map(|address| LoadTarget::from(*address)).collect(),
            threads: 1,
            connections: work.connections,
            depth: work.depth,
            protocol: LoadProtocol::Text,
            keys: self.keys.count,
            value_bytes: self.keys.value_bytes,
            mix: Mix::of_sets(work.puts),
            workload: None,
            operations: None,
            distribution: work.distribution,
            time: work.time,
            warm_up: work.warm_up,
            pace: None,
            load: false,
            load_rate: None,
            server_pids: self.pids.clone(),
            secret: None,
            timeout: PATIENCE,
            calibrate: false,
            meter: self.meter.clone(),
        }
    }
}

/// A number that a server tells among its `stats`; `None`: it does not.
fn stat(address: SocketAddr, name: &str) -> std::io::Result<Option<u64>> {
    for line in ask(address, b"stats\r\n", PATIENCE)?.lines() {
        let line = line?;
        if line == "END" {
            break;
        }
        if let Some(value) = line.strip_prefix("STAT ").and_then(|line| line.strip_prefix(name)?.strip_prefix(' ')) {
            return Ok(value.parse().ok());
        }
    }
    Ok(None)
}

/// Operations a second of what was measured.
pub fn a_second(measured: &PhaseResult) -> f64 {
    measured.stats.answered() as f64 / measured.seconds.max(1e-9)
}

/// Operations a second by time: the middle of each stretch, in seconds from the beginning, and the rate in it.
pub fn by_time(measured: &PhaseResult) -> Vec<(f64, f64)> {
    let pairs = measured.samples.windows(2);
    let rate = |pair: &[(u64, u64)]| {
        let [(before_ns, before), (now_ns, now)] = *pair else { return None };
        let seconds = now_ns.saturating_sub(before_ns) as f64 / 1e9;
        (seconds >= LEAST_STRETCH_SECONDS).then(|| ((before_ns + now_ns) as f64 / 2e9, (now - before) as f64 / seconds))
    };
    pairs.filter_map(rate).collect()
}
