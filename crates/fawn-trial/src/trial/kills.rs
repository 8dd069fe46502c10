//! Nodes killed one after the other, to see for how long keys are out of reach.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fawn_check::random::Random;

use super::Trial;
use crate::breakage::Breakage;
use crate::cluster::ProcessRole;
use crate::fault::FaultKind;
use crate::outage::PastFault;
use crate::status::ClientPace;
use crate::timeline;

/// A node that was killed comes back after so long: its ranges have gone on without it.
const HOLD: Duration = Duration::from_secs(5);

/// Between a range that is whole and the next kill, at least; a kill comes at any time between two heartbeats.
const CALM_MS: (u64, u64) = (500, 1500);

impl Trial<'_> {
    /// Kills so many nodes.
    pub(super) fn kill_nodes(&mut self, seed: u64, kills: u32) -> anyhow::Result<()> {
        let mut random = Random::new(seed ^ 0x6b69_6c6c);
        let mut killed = Vec::new();
        for _ in 0..kills {
            self.expect_level(ClientPace::Busy);
            self.wait(Instant::now() + Duration::from_millis(random.within(CALM_MS.0, CALM_MS.1)))?;
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            killed.push(self.kill_node(*random.pick(&self.cluster.up(ProcessRole::Node))));
            self.wait_for_mended()?;
        }
        self.report.phases = Some(timeline::phases(&killed, &timeline::read(&self.cluster.logs())?));
        Ok(())
    }

    /// Kills a node, for a while; the Unix time in microseconds.
    fn kill_node(&mut self, at: usize) -> u64 {
        let name = self.cluster.members[at].name.clone();
        let from_us = self.ledger.now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64);
        self.cluster.kill(at);
        let what = format!("{name} is killed");
        (self.tell)(&format!("{:9.3} s  {what}", from_us as f64 / 1e6));
        let happened = PastFault { kind: FaultKind::Kill, what, from_us, to_us: self.ledger.now() };
        self.in_force.push(super::InForce {
            broken: Breakage::Down(vec![name]),
            until: Instant::now() + HOLD,
            happened,
        });
        now
    }
}
