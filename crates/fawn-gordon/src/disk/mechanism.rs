//! The arm and the platters: how long it takes to reach a sector, and to transfer some.

use super::geometry::{Layout, SectorPlace};
use super::model::{DiskModel, ModelError};
use super::seek::SeekCurve;

/// A sector that the head misses by so little is not missed: times are rounded to nanoseconds.
const ROUNDING_NS: f64 = 1000.0;

/// Nanoseconds of a millisecond.
const MS_NS: f64 = 1e6;

/// Where the arm is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// The cylinder.
    pub cylinder: u32,
    /// The head.
    pub head: u32,
}

/// How long a head takes to a sector, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Positioning {
    /// The arm's way, a switch of heads, and rest before a write.
    pub seek_ns: u64,
    /// Until the sector comes round.
    pub rotation_ns: u64,
}

impl Positioning {
    /// Both.
    pub fn total_ns(&self) -> u64 {
        self.seek_ns + self.rotation_ns
    }
}

/// A transfer between platters and buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaTransfer {
    /// When its last sector is done.
    pub end_ns: u64,
    /// Where the arm is then.
    pub arm: Arm,
    /// How many sectors there were.
    pub sectors: u64,
}

/// The mechanical half of a disk. It has no state: time and the arm's place are arguments.
#[derive(Clone, Debug)]
pub struct Mechanism {
    layout: Layout,
    seek: SeekCurve,
    revolution_ns: u64,
    head_switch_ns: u64,
    write_settle_ns: u64,
}

impl Mechanism {
    /// The mechanism of a model.
    ///
    /// # Errors
    /// What of the model makes no sense.
    pub fn new(model: &DiskModel) -> Result<Self, ModelError> {
        Ok(Self {
            layout: model.layout()?,
            seek: model.seek.clone(),
            revolution_ns: (model.revolution_ms() * MS_NS).round() as u64,
            head_switch_ns: (model.head_switch_ms * MS_NS).round() as u64,
            write_settle_ns: (model.write_settle_ms * MS_NS).round() as u64,
        })
    }

    /// Where sectors are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many cylinders are between the arm and a sector.
    pub fn distance(&self, arm: Arm, sector: u64) -> u32 {
        self.layout.place(sector).cylinder.abs_diff(arm.cylinder)
    }

    /// How long it takes from `start_ns` until `sector` is under the head.
    pub fn positioning(&self, arm: Arm, start_ns: u64, sector: u64, is_write: bool) -> Positioning {
        self.positioning_to(arm, start_ns, &self.layout.place(sector), is_write)
    }

    fn positioning_to(&self, arm: Arm, start_ns: u64, place: &SectorPlace, is_write: bool) -> Positioning {
        let distance = place.cylinder.abs_diff(arm.cylinder);
        let way_ns = (self.seek.time_ms(distance) * MS_NS).round() as u64;
        let switch_ns = if place.head == arm.head { 0 } else { self.head_switch_ns };
        let settle_ns = if is_write && (distance > 0 || place.head != arm.head) { self.write_settle_ns } else { 0 };
        let seek_ns = way_ns.max(switch_ns) + settle_ns;
        Positioning { seek_ns, rotation_ns: self.rotation_ns(start_ns + seek_ns, place.angle) }
    }

    /// How long it takes from `at_ns` until `angle` is under the head.
    fn rotation_ns(&self, at_ns: u64, angle: f64) -> u64 {
        let revolution = self.revolution_ns as f64;
        let passed = (at_ns % self.revolution_ns) as f64;
        let wait = (angle * revolution - passed).rem_euclid(revolution);
        if wait > revolution - ROUNDING_NS { 0 } else { wait.round() as u64 }
    }

    /// Transfers sectors from `begin_ns` on, when the first of them is under the head. Tracks are switched as needed.
    pub fn transfer(&self, begin_ns: u64, sector: u64, sectors: u64, is_write: bool) -> MediaTransfer {
        self.transfer_until(begin_ns, sector, sectors, is_write, u64::MAX)
    }

    /// As [`transfer`](Self::transfer), and stops with the last sector that is whole by `until_ns`.
    pub fn transfer_until(
        &self,
        begin_ns: u64,
        sector: u64,
        sectors: u64,
        is_write: bool,
        until_ns: u64,
    ) -> MediaTransfer {
        let mut place = self.layout.place(sector);
        let mut arm = Arm { cylinder: place.cylinder, head: place.head };
        let (mut now_ns, mut done) = (begin_ns, 0);
        loop {
            let run = u64::from(place.left).min(sectors - done);
            let end_ns = now_ns + self.sectors_ns(run, place.track_sectors);
            if end_ns > until_ns {
                let track_sectors = u64::from(place.track_sectors);
                let whole = until_ns.saturating_sub(now_ns) * track_sectors / self.revolution_ns;
                let whole = whole.min(run);
                return MediaTransfer { end_ns: until_ns, arm, sectors: done + whole };
            }
            done += run;
            now_ns = end_ns;
            if done == sectors {
                return MediaTransfer { end_ns, arm, sectors: done };
            }
            place = self.layout.place(sector + done);
            let switch = self.positioning_to(arm, now_ns, &place, is_write);
            arm = Arm { cylinder: place.cylinder, head: place.head };
            now_ns += switch.total_ns();
        }
    }

    /// How long so many sectors of one track take.
    fn sectors_ns(&self, sectors: u64, track_sectors: u32) -> u64 {
        (sectors * self.revolution_ns).div_ceil(u64::from(track_sectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::presets;

    fn mechanism() -> Mechanism {
        Mechanism::new(&presets::hp_97560()).unwrap()
    }

    #[test]
    fn rotation_is_by_angle() {
        let mechanism = mechanism();
        let revolution = mechanism.revolution_ns;
        assert_eq!(revolution, 14_992_504);
        let arm = Arm::default();
        for (sector, start_ns) in
            [(0, 0), (36, 0), (71, 0), (0, 1), (36, revolution / 2 + 9000), (5, revolution * 1000)]
        {
            let Positioning { seek_ns, rotation_ns } = mechanism.positioning(arm, start_ns, sector, false);
            let angle = (start_ns + rotation_ns) % revolution;
            let expected = sector * revolution / 72;
            let off = angle.abs_diff(expected).min(revolution - angle.abs_diff(expected));
            assert!(
                seek_ns == 0 && off <= ROUNDING_NS as u64,
                "sector {sector} at {start_ns}: {angle}, not {expected}"
            );
        }
        // The mean over a revolution is half of it.
        let waits = (0..1000).map(|n| mechanism.positioning(arm, n * revolution / 1000, 0, false).rotation_ns);
        assert!((waits.sum::<u64>() as f64 / 1000.0 / revolution as f64 - 0.5).abs() < 0.002);
    }

    #[test]
    fn a_transfer_loses_no_revolution_at_track_and_cylinder_switches() {
        let mechanism = mechanism();
        let cylinder = 72 * 19;
        let MediaTransfer { end_ns, arm, sectors } = mechanism.transfer(0, 0, 3 * cylinder, false);
        assert_eq!((arm, sectors), (Arm { cylinder: 2, head: 18 }, 3 * cylinder));
        // 57 tracks, 54 head switches of 9 sectors (1.6 ms is 7.7) and 2 cylinder switches of 19 (3.64 ms is 17.5).
        let sectors = (57 * 72 + 54 * 9 + 2 * 19) as f64;
        let expected = sectors / 72.0 * mechanism.revolution_ns as f64;
        assert!((end_ns as f64 / expected - 1.0).abs() < 1e-4, "{end_ns} {expected}");
    }

    #[test]
    fn a_transfer_that_is_cut_off_has_its_whole_sectors() {
        let mechanism = mechanism();
        let sector_ns = mechanism.revolution_ns / 72;
        let cut = |until_ns| mechanism.transfer_until(0, 0, 1000, false, until_ns).sectors;
        assert_eq!([0, sector_ns - 10, sector_ns + 10, 71 * sector_ns + 100].map(cut), [0, 0, 1, 71]);
        // During a head switch nothing is read.
        assert_eq!(cut(mechanism.revolution_ns + 5 * sector_ns), 72);
        assert_eq!(cut(u64::MAX), 1000);
    }

    #[test]
    fn writes_come_to_rest_longer() {
        let mut model = presets::hp_97560();
        model.write_settle_ms = 0.5;
        let mechanism = Mechanism::new(&model).unwrap();
        let seek = |sector, is_write| mechanism.positioning(Arm::default(), 0, sector, is_write).seek_ns;
        assert_eq!(seek(72 * 19, true) - seek(72 * 19, false), 500_000);
        assert_eq!((seek(7, true), seek(72, false), seek(72, true)), (0, 1_600_000, 2_100_000));
    }
}
