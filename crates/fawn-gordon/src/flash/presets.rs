//! Designs that are published, each with its source.

use super::design::FlashDesign;
use super::geometry::Geometry;
use super::timing::{BusTiming, CellTiming, DieOptions};
use super::usage::DiePower;
use crate::time::SimTime;

/// A published design.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashPreset {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where its values are from, and which of them are ours.
    pub source: &'static str,
    /// The design.
    pub design: FlashDesign,
    /// Spare factor that the source states or implies.
    pub spare_factor: f64,
    /// Power of a die, if the source states it.
    pub power: Option<DiePower>,
    /// Erases that a block is rated for, if the source states them.
    pub rated_erases: Option<u32>,
}

/// Cells of the paper's array (Gordon, Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GordonCells {
    /// One bit a cell: 200 us a program, 64 pages a block, 4 GB a die.
    Slc,
    /// Two bits a cell: 800 us a program, 128 pages a block, 8 GB a die.
    Mlc,
}

/// The paper's array: four 16-bit buses, four packages of four dies on each, two planes a die.
///
/// Gordon prints 2,048 + 32 bytes a page for SLC in Table 1 and 2,112 bytes in §4.1. Its bandwidths need the latter. Two planes
/// follow from the same table; the paper names two or four.
pub fn gordon(cells: GordonCells, mega_transfers: f64) -> FlashDesign {
    let (program, pages_per_block, die_bytes) = match cells {
        GordonCells::Slc => (200, 64, 4_u64 << 30),
        GordonCells::Mlc => (800, 128, 8_u64 << 30),
    };
    let blocks = die_bytes / (2 * 2_048 * u64::from(pages_per_block));
    FlashDesign {
        geometry: Geometry {
            buses: 4,
            packages_per_bus: 4,
            dies_per_package: 4,
            planes_per_die: 2,
            blocks_per_plane: blocks as u32,
            pages_per_block,
            page_bytes: 2_048,
            spare_bytes: 64,
        },
        cells: CellTiming::uniform_us(25, program, 2_000),
        bus: BusTiming { width_bits: 16, mega_transfers, command_cycles: 7 },
        die: DieOptions { cache_register: true },
    }
}

fn modern(
    channels: [u32; 4],
    blocks: [u32; 4],
    cells: CellTiming,
    width_bits: u32,
    mega_transfers: f64,
) -> FlashDesign {
    let [buses, packages_per_bus, dies_per_package, planes_per_die] = channels;
    let [blocks_per_plane, pages_per_block, page_bytes, spare_bytes] = blocks;
    FlashDesign {
        geometry: Geometry {
            buses,
            packages_per_bus,
            dies_per_package,
            planes_per_die,
            blocks_per_plane,
            pages_per_block,
            page_bytes,
            spare_bytes,
        },
        cells,
        bus: BusTiming { width_bits, mega_transfers, command_cycles: 7 },
        die: DieOptions { cache_register: true },
    }
}

/// Every preset.
pub fn presets() -> Vec<FlashPreset> {
    // Erases after §4.2.2 (SLC) and the ten times fewer of MLC. Table 3's power is of a die of 4 GB, which is SLC's.
    let gordon_preset = |name, source, cells, rate| {
        let (power, rated_erases) = match cells {
            GordonCells::Slc => (Some(DiePower::GORDON_SLC), 100_000),
            GordonCells::Mlc => (None, 10_000),
        };
        let rated_erases = Some(rated_erases);
        FlashPreset { name, source, design: gordon(cells, rate), spare_factor: 0.07, power, rated_erases }
    };
    let two_bits = CellTiming {
        reads: vec![SimTime::from_us(40), SimTime::from_us(65)],
        programs: vec![SimTime::from_us(500), SimTime::from_us(1_300)],
        erase: SimTime::from_us(3_500),
    };
    let pro = CellTiming {
        reads: vec![SimTime::from_ns(35_760)],
        programs: vec![SimTime::from_us(185)],
        erase: SimTime::ZERO,
    };
    vec![
        gordon_preset(
            "gordon-slc-40",
            "Gordon (ASPLOS 2009) Table 1, SLC, 40 MHz bus; spare factor ours",
            GordonCells::Slc,
            40.0,
        ),
        gordon_preset(
            "gordon-slc-133",
            "Gordon (ASPLOS 2009) Table 1 and §4.2, SLC, 133 MHz bus: the paper's design; spare factor ours",
            GordonCells::Slc,
            133.0,
        ),
        gordon_preset(
            "gordon-slc-400",
            "Gordon (ASPLOS 2009) Table 1, SLC, 400 MHz bus; spare factor ours",
            GordonCells::Slc,
            400.0,
        ),
        gordon_preset(
            "gordon-mlc-133",
            "Gordon (ASPLOS 2009) Table 1, MLC, 133 MHz bus; spare factor ours",
            GordonCells::Mlc,
            133.0,
        ),
        FlashPreset {
            name: "mqsim-default",
            source: "CMU-SAFARI/MQSim ssdconfig.xml: 8 channels x 4 chips x 2 dies x 2 planes, 8 KiB pages, read and \
                     program 75 us, erase 3.8 ms, 333 MT/s, over-provisioning 7 %",
            design: modern([8, 4, 2, 2], [2_048, 256, 8_192, 448], CellTiming::uniform_us(75, 75, 3_800), 8, 333.0),
            spare_factor: 0.07,
            power: None,
            rated_erases: None,
        },
        FlashPreset {
            name: "simplessd-sample",
            source: "SimpleSSD/SimpleSSD config/sample.cfg: 8 x 4 x 2 x 2, 512 pages of 16 KiB a block, MLC read 40/65 us, \
                     program 500/1,300 us, erase 3.5 ms, 400 MT/s; blocks a plane, spare bytes and spare factor ours",
            design: modern([8, 4, 2, 2], [512, 512, 16_384, 1_024], two_bits, 8, 400.0),
            spare_factor: 0.07,
            power: None,
            rated_erases: None,
        },
        FlashPreset {
            name: "femu-default",
            source: "MoatLab/FEMU README.md: read 40 us, program 200 us, erase 2 ms, 4 KiB pages, one plane a LUN; 8 channels \
                     x 8 LUNs, 256 pages a block, bus and spare factor ours",
            design: modern([8, 8, 1, 1], [256, 256, 4_096, 128], CellTiming::uniform_us(40, 200, 2_000), 8, 800.0),
            spare_factor: 0.07,
            power: None,
            rated_erases: None,
        },
        FlashPreset {
            name: "samsung-970-pro",
            source: "snu-csl/nvmevirt ssd_config.h, its model of a Samsung 970 Pro: 8 channels x 2 LUNs, 32 KiB pages, 800 MB/s \
                     a channel, read 35.76 us, program 185 us, erase 0, spare 7 %; blocks (512 GB in all) ours; no PCIe link, \
                     firmware or write buffer here",
            design: modern([8, 1, 2, 1], [2_048, 512, 32_768, 2_048], pro, 8, 800.0),
            spare_factor: 0.07,
            power: None,
            rated_erases: None,
        },
    ]
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<FlashPreset> {
    presets().into_iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_names_of_their_own_and_a_geometry_that_can_be_simulated() {
        let all = presets();
        for (at, preset) in all.iter().enumerate() {
            assert!(preset.design.geometry.check().is_ok(), "{}", preset.name);
            assert!(all[..at].iter().all(|other| other.name != preset.name), "{}", preset.name);
        }
        assert!(super::preset("gordon-slc-133").is_some());
    }

    #[test]
    fn the_paper_s_array_holds_256_gb() {
        assert_eq!(gordon(GordonCells::Slc, 133.0).geometry.bytes(), 256 << 30);
        assert_eq!(gordon(GordonCells::Mlc, 133.0).geometry.bytes(), 512 << 30);
    }

    #[test]
    fn the_970_pro_holds_512_gb() {
        assert_eq!(preset("samsung-970-pro").unwrap().design.geometry.bytes(), 512 << 30);
    }
}
