//! Disks whose figures are public.

use std::borrow::Cow;

use super::geometry::{DiskZone, linear_zones};
use super::model::{BufferModel, CommandOverheads, DiskModel, QueueModel, QueuePolicy};
use super::seek::SeekCurve;
use crate::node::DeviceWatts;

/// A disk whose figures are public.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPreset {
    /// Its name on the command line.
    pub name: &'static str,
    /// The disk.
    pub model: DiskModel,
    /// Its power, if a source states it.
    pub power: Option<DiskPower>,
}

/// Power of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskPower {
    /// Watts.
    pub watts: DeviceWatts,
    /// Who states them.
    pub source: Cow<'static, str>,
}

/// The HP 97560 of 1991: the disk whose seek curve is known best. Without buffer and overheads, which the source gives
/// for a whole system.
pub fn hp_97560() -> DiskModel {
    // Skews are ours: the least that cover a switch.
    let zone = DiskZone { cylinders: 1962, track_sectors: 72, track_skew: 9, cylinder_skew: 19 };
    DiskModel {
        name: "HP 97560".into(),
        source: "Ruemmler & Wilkes, An introduction to disk drive modeling, IEEE Computer, March 1994, Table 1".into(),
        rpm: 4002,
        heads: 19,
        zones: vec![zone],
        seek: SeekCurve::hp_97560(),
        head_switch_ms: 1.6,
        write_settle_ms: 0.0,
        overheads: CommandOverheads::default(),
        interface_bytes_per_s: 10e6,
        buffer: BufferModel::default(),
        queue: QueueModel { depth: 1, policy: QueuePolicy::FirstCome, longest_wait_ms: 2000.0 },
    }
}

/// A disk of 1 TB of 2008 with 32 MB of buffer, as the Gordon paper simulates it (ASPLOS 2009, §5.2). The paper's own
/// parameters are not public.
///
/// From data sheets of such disks: 7,200 rpm, mean seek of a read 8.5 ms, to the next track 0.8 ms for a read and 1.0 ms
/// for a write, 105 MB/s sustained at the outer edge, SATA at 300 MB/s, 32 commands. Ours: a full seek takes twice the
/// mean one, a head switch as long as a seek to the next track, the inner edge has half the outer one's sectors, and a
/// command takes 0.1 ms.
pub fn sata_1tb_2008() -> DiskModel {
    DiskModel {
        name: "SATA disk of 1 TB, 2008".into(),
        source: "data sheets of 7,200 rpm disks of 1 TB and 32 MB (Seagate ST31000340AS and its like)".into(),
        // 105 MB/s are left of 118 MB/s after head switches.
        ..sata(170_000, 8, (1915, 958), 32)
    }
}

/// A disk of 2 TB of 2010 with 64 MB of buffer: Seagate's Barracuda XT.
///
/// From its data sheet: 7,200 rpm, 138 MB/s sustained at the outer edge. All else as of [`sata_1tb_2008`].
pub fn sata_2tb_2010() -> DiskModel {
    DiskModel {
        name: "SATA disk of 2 TB, 2010".into(),
        source: "data sheet of the Seagate Barracuda XT (ST32000641AS)".into(),
        interface_bytes_per_s: 600e6,
        ..sata(258_700, 8, (2517, 1259), 64)
    }
}

/// What SATA disks of 7,200 rpm have in common. `buffer_mib`: half for reads, in 16 segments, half for writes.
fn sata(cylinders: u32, heads: u32, track_sectors: (u32, u32), buffer_mib: u32) -> DiskModel {
    let (single_ms, mean_ms, write_settle_ms) = (0.8, 8.5, 0.2);
    let switch_ms = single_ms + write_settle_ms;
    let half_sectors = buffer_mib * 1024;
    DiskModel {
        name: Cow::default(),
        source: Cow::default(),
        rpm: 7200,
        heads,
        zones: linear_zones(16, cylinders, track_sectors, 60_000.0 / 7200.0, (switch_ms, switch_ms)),
        seek: SeekCurve::ThreePoints { cylinders, single_ms, mean_ms, full_ms: 2.0 * mean_ms },
        head_switch_ms: single_ms,
        write_settle_ms,
        overheads: CommandOverheads { read_hit_ms: 0.1, read_miss_ms: 0.1, write_hit_ms: 0.1, write_miss_ms: 0.1 },
        interface_bytes_per_s: 300e6,
        buffer: BufferModel {
            segments: 16,
            segment_sectors: half_sectors / 16,
            read_ahead_sectors: half_sectors / 32,
            read_watermark: 0.0,
            write_sectors: half_sectors,
            write_extents: 1024,
        },
        queue: QueueModel::default(),
    }
}

/// The HP C2247A of 1992, one of the ten disks on which `DiskSim` was validated.
///
/// `DiskSim`'s overheads that always follow each other are added up: of a write, the command, the least delay before a seek,
/// reselection and completion. Left out: slipped sectors, and the second disconnection of some writes.
pub fn hp_c2247a() -> DiskModel {
    DiskModel {
        name: "HP C2247A".into(),
        source: "DiskSim's valid/hp_c2247a.diskspecs and hp_c2247a_validate.model (Carnegie Mellon University)".into(),
        rpm: 5400,
        heads: 13,
        zones: vec![
            zone(559, 96, 14, 32),
            zone(202, 92, 13, 30),
            zone(141, 88, 13, 29),
            zone(150, 84, 12, 28),
            zone(142, 80, 12, 27),
            zone(326, 72, 11, 24),
            zone(274, 64, 10, 22),
            zone(257, 56, 9, 19),
        ],
        seek: SeekCurve::RootAndLine {
            threshold: 300,
            root_ms: (3.81, 0.33),
            line_ms: (7.75, 0.0059),
            first_ms: vec![2.89, 3.68, 3.81, 3.98, 4.27, 4.65, 4.52, 4.65, 4.82, 4.99],
        },
        head_switch_ms: 0.89,
        write_settle_ms: 0.65,
        overheads: CommandOverheads {
            read_hit_ms: 1.035,
            read_miss_ms: 0.825,
            write_hit_ms: 0.824,
            write_miss_ms: 1.637,
        },
        interface_bytes_per_s: 512.0 / 170.1e-6,
        buffer: BufferModel {
            segments: 1,
            segment_sectors: 256,
            read_ahead_sectors: 128,
            read_watermark: 0.75,
            ..BufferModel::default()
        },
        queue: QueueModel { depth: 1, policy: QueuePolicy::FirstCome, longest_wait_ms: 2000.0 },
    }
}

/// The Seagate Cheetah 9LP of 1998 (ST39102LW), another one of `DiskSim`'s ten.
///
/// `DiskSim` has overheads after reads and after writes: here are their means, weighted by two reads a write.
pub fn cheetah_9lp() -> DiskModel {
    DiskModel {
        name: "Seagate Cheetah 9LP".into(),
        source:
            "DiskSim's valid/cheetah9LP.diskspecs, cheetah9LP.model and cheetah9LP.seek (Carnegie Mellon University)"
                .into(),
        rpm: 10_045,
        heads: 12,
        zones: vec![
            zone(848, 254, 97, 133),
            zone(797, 245, 97, 133),
            zone(749, 238, 97, 117),
            zone(704, 227, 97, 116),
            zone(661, 217, 97, 108),
            zone(622, 209, 97, 108),
            zone(585, 201, 97, 108),
            zone(550, 189, 88, 94),
            zone(516, 181, 88, 93),
            zone(486, 174, 88, 93),
            zone(444, 167, 88, 80),
        ],
        seek: SeekCurve::Table(CHEETAH_9LP_SEEKS.to_vec()),
        head_switch_ms: 0.03,
        write_settle_ms: 0.461,
        overheads: CommandOverheads {
            read_hit_ms: 0.136,
            read_miss_ms: 0.217,
            write_hit_ms: 0.664,
            write_miss_ms: 0.903,
        },
        interface_bytes_per_s: 512.0 / 105e-6,
        buffer: BufferModel {
            segments: 3,
            segment_sectors: 561,
            read_ahead_sectors: 561,
            read_watermark: 0.0,
            write_sectors: 1683,
            write_extents: 3,
        },
        queue: QueueModel { depth: 1, policy: QueuePolicy::FirstCome, longest_wait_ms: 2000.0 },
    }
}

/// Measured seek times of the Cheetah 9LP: cylinders, milliseconds.
const CHEETAH_9LP_SEEKS: [(u32, f64); 106] = [
    (1, 0.831),
    (2, 1.003),
    (3, 1.089),
    (4, 1.092),
    (5, 1.268),
    (6, 1.263),
    (7, 1.271),
    (8, 1.439),
    (9, 1.433),
    (10, 1.448),
    (12, 1.449),
    (14, 1.447),
    (16, 1.453),
    (18, 1.533),
    (20, 1.534),
    (25, 1.625),
    (30, 1.624),
    (35, 1.712),
    (40, 1.715),
    (45, 1.765),
    (50, 1.804),
    (60, 1.893),
    (70, 1.945),
    (80, 1.983),
    (90, 2.072),
    (100, 2.145),
    (125, 2.161),
    (150, 2.259),
    (175, 2.51),
    (200, 2.517),
    (225, 2.519),
    (250, 2.607),
    (275, 2.701),
    (300, 2.699),
    (325, 2.841),
    (350, 2.874),
    (375, 2.962),
    (400, 3.051),
    (425, 3.014),
    (450, 3.104),
    (475, 3.098),
    (500, 3.23),
    (600, 3.399),
    (700, 3.638),
    (800, 3.823),
    (900, 3.995),
    (1000, 4.118),
    (1100, 4.271),
    (1200, 4.397),
    (1300, 4.427),
    (1400, 4.573),
    (1500, 4.757),
    (1600, 4.833),
    (1700, 4.93),
    (1800, 4.993),
    (1900, 5.19),
    (2000, 5.282),
    (2100, 5.428),
    (2200, 5.541),
    (2300, 5.624),
    (2400, 5.726),
    (2500, 5.815),
    (2600, 5.963),
    (2700, 6.082),
    (2800, 6.163),
    (2900, 6.245),
    (3000, 6.345),
    (3100, 6.423),
    (3200, 6.665),
    (3300, 6.737),
    (3400, 6.847),
    (3500, 6.887),
    (3600, 6.977),
    (3700, 7.068),
    (3800, 7.164),
    (3900, 7.328),
    (4000, 7.419),
    (4100, 7.507),
    (4200, 7.649),
    (4300, 7.691),
    (4400, 7.831),
    (4500, 7.959),
    (4600, 8.087),
    (4700, 8.135),
    (4800, 8.223),
    (4900, 8.311),
    (5000, 8.492),
    (5100, 8.626),
    (5200, 8.659),
    (5300, 8.805),
    (5400, 8.987),
    (5500, 8.962),
    (5600, 9.106),
    (5700, 9.201),
    (5800, 9.296),
    (5900, 9.524),
    (6000, 9.698),
    (6100, 9.702),
    (6200, 9.83),
    (6300, 9.878),
    (6400, 10.009),
    (6500, 10.147),
    (6600, 10.23),
    (6700, 10.363),
    (6800, 10.54),
    (6894, 10.627),
];

/// All presets.
pub fn all() -> Vec<DiskModel> {
    named().into_iter().map(|preset| preset.model).collect()
}

/// All presets with their names on the command line and their power.
pub fn named() -> Vec<DiskPreset> {
    let watts = |idle, read, write, source: &'static str| {
        Some(DiskPower { watts: DeviceWatts { idle, read, write }, source: source.into() })
    };
    let preset = |name, model, power| DiskPreset { name, model, power };
    vec![
        preset("hp-97560", hp_97560(), None),
        preset("hp-c2247a", hp_c2247a(), None),
        preset("cheetah-9lp", cheetah_9lp(), None),
        preset("sata-1tb-2008", sata_1tb_2008(), watts(9.0, 13.0, 17.0, "Gordon (ASPLOS 2009) Table 3")),
        preset("sata-2tb-2010", sata_2tb_2010(), watts(6.39, 9.23, 9.23, "data sheet of the Barracuda XT")),
    ]
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<DiskPreset> {
    named().into_iter().find(|preset| preset.name == name)
}

/// A zone, with its tracks' sectors and skews.
fn zone(cylinders: u32, track_sectors: u32, track_skew: u32, cylinder_skew: u32) -> DiskZone {
    DiskZone { cylinders, track_sectors, track_skew, cylinder_skew }
}
