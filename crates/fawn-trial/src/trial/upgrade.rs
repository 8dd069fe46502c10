//! The end of an upgrade: whoever still runs the older release is restarted, and then everybody speaks a newer version.

use std::time::{Duration, Instant};

use super::{TICK, Trial};
use crate::fault::FaultKind;
use crate::plan::PlannedFault;
use crate::status::ClientPace;

/// Managers decide within this time that everybody speaks a newer version.
const DECIDED: Duration = Duration::from_secs(20);

impl Trial<'_> {
    /// What everybody speaks, as the managers say.
    pub(super) fn version(&self) -> Option<u8> {
        self.cluster.status().ok().and_then(|status| status.version)
    }

    /// Restarts everything, with the newer release.
    pub(super) fn upgrade_the_rest(&mut self, before: Option<u8>) -> anyhow::Result<()> {
        if !self.cluster.members.iter().all(|member| member.is_upgraded) {
            self.expect_level(ClientPace::Busy);
            if self.version() > before {
                self.fail("a newer version was decided while some processes did not speak it".to_owned());
            }
            let kind = FaultKind::Rolling;
            let last = PlannedFault { at: Duration::ZERO, kind, hold: Duration::ZERO, draw: 0, overlaps: false };
            self.inject(&last)?;
        }
        let deadline = Instant::now() + DECIDED;
        while self.version() <= before && Instant::now() < deadline {
            std::thread::sleep(TICK);
        }
        let after = self.version();
        if after <= before {
            self.fail(format!("all processes are upgraded, but the version is still {after:?}"));
        }
        self.report.upgraded = Some([before, after]);
        Ok(())
    }
}
