//! Where sectors are: zones, cylinders, tracks and angles.

/// Cylinders whose tracks have equally many sectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskZone {
    /// How many cylinders.
    pub cylinders: u32,
    /// Sectors of a track.
    pub track_sectors: u32,
    /// How many sectors a track begins after the one before it on the same cylinder.
    pub track_skew: u32,
    /// How many sectors the first track of a cylinder begins after the last one of the cylinder before.
    pub cylinder_skew: u32,
}

/// Zones as makers choose them: the density falls in equal steps from the outer edge to the inner one.
///
/// Skews cover `head_switch_ms` and `cylinder_switch_ms` at `revolution_ms`, so that long transfers lose no revolution.
pub fn linear_zones(
    count: u32,
    cylinders: u32,
    (outer, inner): (u32, u32),
    revolution_ms: f64,
    (head_switch_ms, cylinder_switch_ms): (f64, f64),
) -> Vec<DiskZone> {
    assert!(count > 0 && cylinders >= count && outer >= inner, "zones have cylinders, and the outer ones more sectors");
    let zone = |number: u32| {
        let from_outer = f64::from(number) / f64::from((count - 1).max(1));
        let track_sectors = (f64::from(outer) - f64::from(outer - inner) * from_outer).round() as u32;
        // One sector more, since the head reads on to the end of the sector in which it switches.
        let skew = |time_ms: f64| (f64::from(track_sectors) * time_ms / revolution_ms).ceil() as u32 + 1;
        let end = |number: u32| u64::from(cylinders) * u64::from(number) / u64::from(count);
        let cylinders = (end(number + 1) - end(number)) as u32;
        let (track_skew, cylinder_skew) = (skew(head_switch_ms), skew(cylinder_switch_ms));
        DiskZone { cylinders, track_sectors, track_skew, cylinder_skew }
    };
    (0..count).map(zone).collect()
}

/// A sector's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SectorPlace {
    /// The cylinder, from 0 at the outer edge.
    pub cylinder: u32,
    /// The head.
    pub head: u32,
    /// Where the sector begins, in revolutions from 0 to 1.
    pub angle: f64,
    /// Sectors of the track.
    pub track_sectors: u32,
    /// Sectors of the track from this one on.
    pub left: u32,
}

/// A zone with what comes before it.
#[derive(Clone, Copy, Debug)]
struct ZoneStart {
    zone: DiskZone,
    sector: u64,
    cylinder: u32,
}

/// The places of a disk's sectors: track by track, cylinder by cylinder, from the outer edge.
#[derive(Clone, Debug)]
pub struct Layout {
    heads: u32,
    zones: Vec<ZoneStart>,
    sectors: u64,
    cylinders: u32,
}

impl Layout {
    /// The layout of these zones. `None` if a number is 0, or the disk is too large for 64 bits.
    pub fn new(heads: u32, zones: &[DiskZone]) -> Option<Self> {
        let mut layout = Self { heads, zones: Vec::new(), sectors: 0, cylinders: 0 };
        for zone in zones {
            if zone.cylinders == 0 || zone.track_sectors == 0 {
                return None;
            }
            layout.zones.push(ZoneStart { zone: *zone, sector: layout.sectors, cylinder: layout.cylinders });
            let tracks = u64::from(zone.cylinders).checked_mul(u64::from(heads))?;
            layout.sectors = layout.sectors.checked_add(tracks.checked_mul(u64::from(zone.track_sectors))?)?;
            layout.cylinders = layout.cylinders.checked_add(zone.cylinders)?;
        }
        (layout.sectors > 0).then_some(layout)
    }

    /// How many sectors there are.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// How many cylinders there are.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// The place of a sector that exists.
    pub fn place(&self, sector: u64) -> SectorPlace {
        assert!(sector < self.sectors, "a sector is on the disk");
        let index = self.zones.partition_point(|zone| zone.sector <= sector) - 1;
        let ZoneStart { zone, sector: first, cylinder } = self.zones[index];
        let track_sectors = u64::from(zone.track_sectors);
        let (track, in_track) = ((sector - first) / track_sectors, (sector - first) % track_sectors);
        let (in_zone, head) = (track / u64::from(self.heads), track % u64::from(self.heads));
        let skew = (track - in_zone) * u64::from(zone.track_skew) + in_zone * u64::from(zone.cylinder_skew);
        let angle = (in_track + skew) % track_sectors;
        SectorPlace {
            cylinder: cylinder + in_zone as u32,
            head: head as u32,
            angle: angle as f64 / track_sectors as f64,
            track_sectors: zone.track_sectors,
            left: (track_sectors - in_track) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_fill_tracks_cylinders_and_zones_in_turn() {
        let outer = DiskZone { cylinders: 2, track_sectors: 10, track_skew: 2, cylinder_skew: 3 };
        let inner = DiskZone { cylinders: 1, track_sectors: 5, track_skew: 1, cylinder_skew: 1 };
        let layout = Layout::new(2, &[outer, inner]).unwrap();
        assert_eq!((layout.sectors(), layout.cylinders()), (50, 3));
        let place = |sector| {
            let SectorPlace { cylinder, head, angle, left, .. } = layout.place(sector);
            (cylinder, head, (angle * 10.0).round() as u32, left)
        };
        assert_eq!(place(0), (0, 0, 0, 10));
        assert_eq!(place(9), (0, 0, 9, 1));
        assert_eq!(place(10), (0, 1, 2, 10));
        assert_eq!(place(18), (0, 1, 0, 2));
        // The second cylinder: one head switch and one cylinder switch of skew.
        assert_eq!(place(20), (1, 0, 5, 10));
        assert_eq!(place(40), (2, 0, 0, 5));
        assert_eq!(place(49), (2, 1, 0, 1));
    }

    #[test]
    fn zones_thin_out_in_equal_steps_and_hold_all_cylinders() {
        let zones = linear_zones(5, 1003, (1000, 500), 8.0, (0.8, 1.0));
        let sectors: Vec<u32> = zones.iter().map(|zone| zone.track_sectors).collect();
        assert_eq!(sectors, [1000, 875, 750, 625, 500]);
        assert_eq!(zones.iter().map(|zone| zone.cylinders).sum::<u32>(), 1003);
        assert_eq!((zones[0].track_skew, zones[0].cylinder_skew), (101, 126));
    }

    #[test]
    fn a_disk_without_sectors_has_no_layout() {
        let zone = DiskZone { cylinders: 1, track_sectors: 1, track_skew: 0, cylinder_skew: 0 };
        assert!(Layout::new(0, &[zone]).is_none());
        assert!(Layout::new(1, &[]).is_none());
        assert!(Layout::new(1, &[DiskZone { cylinders: 0, ..zone }]).is_none());
        assert!(Layout::new(u32::MAX, &[DiskZone { cylinders: u32::MAX, track_sectors: u32::MAX, ..zone }]).is_none());
    }
}
