//! Gordon's design space: Tables 3, 4 and 5 of the paper.

use super::space::{DesignSpace, ProcessorChoice, StorageChoice};
use crate::node::{
    AccessRate, DeviceWatts, MemoryModel, NodeDesign, NodeStorage, ProcessorModel, VoltageRange, WattRange,
};

/// Configurations that §5.4 states. Table 5 gives [`CONFIGURATIONS`], and the budget of 300 W excludes none.
pub const STATED_CONFIGURATIONS: usize = 88;

/// Configurations that Table 5 gives: (3 Atom + 4 Core 2 frequencies) × 3 numbers × (1 flash array + 3 numbers of disks).
pub const CONFIGURATIONS: usize = 84;

/// Dies of the flash array, of 4 GB each.
pub const FLASH_DIES: f64 = 64.0;

/// Overhead as a share of a node's power. The paper says how it was measured, not how much it is. Its Gordon node draws
/// at most 19 W (§3), and the components of Table 3 sum to 13.76 W; the difference is this share.
pub const OVERHEAD_SHARE: f64 = 1.0 - 13.76 / 19.0;

/// Dollars per gigabyte of SLC flash (§6.2).
const FLASH_DOLLARS_PER_GB: f64 = 5.0;

/// One core of a Core 2: Tables 3 and 4, 0.8 to 1.6 V. Its price is a quarter of Table 7's quad core.
pub fn core2() -> ProcessorModel {
    ProcessorModel {
        name: "Core 2".to_owned(),
        instructions_per_cycle: 1.5,
        rated_hz: 2.4e9,
        watts: WattRange::new(12.0, 20.8),
        volts: Some(VoltageRange { low_hz: 0.6e9, low_volts: 0.8, high_hz: 2.4e9, high_volts: 1.6 }),
        price_dollars: Some(500.0 / 4.0),
    }
}

/// An Atom: Tables 3 and 4, 0.75 to 1.2 V. Its frequency in Table 3 is not stated; 1.9 GHz is the highest of Table 5.
/// The paper has no price.
pub fn atom() -> ProcessorModel {
    ProcessorModel {
        name: "Atom".to_owned(),
        instructions_per_cycle: 0.5,
        rated_hz: 1.9e9,
        watts: WattRange::new(0.16, 2.4),
        volts: Some(VoltageRange { low_hz: 0.8e9, low_volts: 0.75, high_hz: 1.9e9, high_volts: 1.2 }),
        price_dollars: None,
    }
}

/// 2 GB of DDR2: Table 3, at half the price of Table 7's module of 4 GB. Its bandwidth is that of DDR2-667 on one
/// channel; the paper does not state it.
pub fn memory() -> MemoryModel {
    MemoryModel {
        bytes: Some(2.0 * f64::from(1 << 30)),
        watts: WattRange::new(3.0, 5.3),
        bytes_per_second: 5.333e9,
        price_dollars: Some(193.0 / 2.0),
    }
}

/// The flash array of 64 dies with 64 KB super-pages: 900 MB/s (§4.2). An access adds its share of 25 us in the cell
/// and 58 us on the buses, as four are under way at a time.
pub fn flash() -> NodeStorage {
    let rate = AccessRate { bytes_per_second: 900e6, seconds_per_access: (25e-6 + 58e-6) / 4.0 };
    let die = DeviceWatts { idle: 0.003, read: 0.04, write: 0.04 };
    NodeStorage {
        name: "flash array".to_owned(),
        devices: 1,
        read: rate,
        write: rate,
        watts: DeviceWatts { idle: die.idle * FLASH_DIES, read: die.read * FLASH_DIES, write: die.write * FLASH_DIES },
        // The controller, and its 512 MB of SDRAM.
        watts_controller: WattRange::new(0.16 + 0.7, 2.3 + 1.2),
        price_dollars: Some(256.0 * FLASH_DOLLARS_PER_GB),
    }
}

/// A disk of 1 TB with 7,200 rpm: power of Table 3, price of Table 7's SATA disk. Its simulated bandwidth and latency are
/// lost. 80 MB/s is the mean between the outer and the inner tracks of such drives. An access of the paper's pattern adds
/// 2 ms: every other one follows its predecessor, and the others wait for 4 ms in a queue of 32 that is served by the
/// shortest positioning.
pub fn disk() -> NodeStorage {
    let rate = AccessRate { bytes_per_second: 80e6, seconds_per_access: 2e-3 };
    NodeStorage {
        name: "disk".to_owned(),
        devices: 1,
        read: rate,
        write: rate,
        watts: DeviceWatts { idle: 9.0, read: 13.0, write: 17.0 },
        watts_controller: WattRange::default(),
        price_dollars: Some(129.0),
    }
}

/// Table 5.
pub fn space() -> DesignSpace {
    space_with(flash(), disk())
}

/// Table 5 with other storage, such as the same array and disk with rates that a simulator measured.
pub fn space_with(flash: NodeStorage, disk: NodeStorage) -> DesignSpace {
    let ghz = |values: &[f64]| values.iter().map(|it| it * 1e9).collect();
    let counts = vec![1, 2, 4];
    DesignSpace {
        processors: vec![
            ProcessorChoice { model: atom(), hz: ghz(&[0.8, 1.5, 1.9]), counts: counts.clone() },
            ProcessorChoice { model: core2(), hz: ghz(&[0.6, 1.2, 1.8, 2.4]), counts: counts.clone() },
        ],
        storages: vec![StorageChoice { storage: flash, counts: vec![1] }, StorageChoice { storage: disk, counts }],
        memory: memory(),
        network_bytes_per_second: vec![1e9 / 8.0],
        overhead_share: OVERHEAD_SHARE,
        base_price_dollars: Some(0.0),
        most_watts: Some(300.0),
        notes: vec!["prices are of processors, memory and storage; the paper has none of a board".to_owned()],
    }
}

fn node(processor: ProcessorModel, processors: u32, hz: f64, storage: NodeStorage) -> NodeDesign {
    let space = DesignSpace {
        processors: vec![ProcessorChoice { model: processor, hz: vec![hz], counts: vec![processors] }],
        storages: vec![StorageChoice { counts: vec![storage.devices], storage }],
        ..space()
    };
    let mut designs = space.designs();
    designs.pop().expect("the power budget excludes none")
}

/// Table 6's most efficient design: one Atom at 1.9 GHz with flash.
pub fn max_efficiency() -> NodeDesign {
    node(atom(), 1, 1.9e9, flash())
}

/// Its most efficient design with disks (§5.4): four Atoms at 1.9 GHz with one disk.
pub fn max_efficiency_disk() -> NodeDesign {
    node(atom(), 4, 1.9e9, disk())
}

/// What Figure 6 is normalised to: four Core 2 at 2.4 GHz with one disk.
pub fn reference() -> NodeDesign {
    node(core2(), 4, 2.4e9, disk())
}
