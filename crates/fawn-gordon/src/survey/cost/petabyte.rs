//! A petabyte in memory modules, flash cards and disks: Tables 7 and 8.
//!
//! Each server holds as much of the medium as fits. Its other parts are an enclosure, processors, and memory modules to
//! run on. The paper states prices and enclosures but neither processors nor modules. [`servers`] has those that
//! reproduce the printed costs.

use fawn_plan::{Catalogue, Quantity};
use serde::Serialize;

/// Gigabytes of a petabyte, as the printed numbers of servers have it: 2^20.
pub const PETABYTE_GB: f64 = 1_048_576.0;

/// A part of Table 7.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostPart {
    /// What it is.
    pub name: &'static str,
    /// Gigabytes that it stores; `None` if it stores nothing.
    pub gb: Option<f64>,
    /// Price.
    pub dollars: f64,
    /// Watts when it works.
    pub watts: f64,
}

const fn part(name: &'static str, gb: Option<f64>, dollars: f64, watts: f64) -> CostPart {
    CostPart { name, gb, dollars, watts }
}

/// A SAS disk.
pub const SAS_DISK: CostPart = part("SAS disk", Some(300.0), 340.0, 15.0);
/// A SATA disk.
pub const SATA_DISK: CostPart = part("SATA disk", Some(1500.0), 129.0, 17.0);
/// A memory module of 4 GB.
pub const DIMM: CostPart = part("4 GB DIMM", Some(4.0), 193.0, 6.0);
/// A flash card. Its retail price was $7,200; the paper estimates what it could cost.
pub const FLASH_CARD: CostPart = part("FusionIO 160 GB SLC", Some(160.0), 2000.0, 9.0);
/// A quad-core processor of 2.6 GHz.
pub const PROCESSOR: CostPart = part("2.6 GHz Intel quad core", None, 500.0, 60.0);
/// A server with 24 slots for memory modules.
pub const MEMORY_ENCLOSURE: CostPart = part("max DRAM enclosure", None, 1795.0, 110.0);
/// A server with slots for flash cards.
pub const FLASH_ENCLOSURE: CostPart = part("max flash enclosure", None, 1025.0, 90.0);
/// A server with 16 bays.
pub const DISK_ENCLOSURE: CostPart = part("max disk enclosure", None, 1600.0, 90.0);

/// Table 7.
pub const TABLE_7: [CostPart; 8] =
    [SAS_DISK, SATA_DISK, DIMM, FLASH_CARD, PROCESSOR, MEMORY_ENCLOSURE, FLASH_ENCLOSURE, DISK_ENCLOSURE];

/// A server full of one medium.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StorageServer {
    /// The medium.
    pub medium: CostPart,
    /// How many of it a server holds.
    pub media: u32,
    /// The enclosure.
    pub enclosure: CostPart,
    /// Processors.
    pub processors: u32,
    /// Memory modules that are no medium.
    pub modules: u32,
}

/// The servers of Table 8 whose costs come out as printed, in its order.
///
/// Four slots for flash cards are stated (§6.2), and three reproduce the printed 2,185 servers; four need 1,638.
pub const fn servers() -> [StorageServer; 4] {
    [
        StorageServer { medium: DIMM, media: 24, enclosure: MEMORY_ENCLOSURE, processors: 4, modules: 0 },
        StorageServer { medium: FLASH_CARD, media: 3, enclosure: FLASH_ENCLOSURE, processors: 1, modules: 1 },
        StorageServer { medium: SAS_DISK, media: 16, enclosure: DISK_ENCLOSURE, processors: 1, modules: 4 },
        StorageServer { medium: SATA_DISK, media: 16, enclosure: DISK_ENCLOSURE, processors: 1, modules: 4 },
    ]
}

/// What a petabyte costs on such servers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PetabyteCost {
    /// Servers, a fraction of one included.
    pub servers: f64,
    /// Dollars of the medium.
    pub media_dollars: f64,
    /// Dollars of everything else.
    pub other_dollars: f64,
    /// Watts of the medium.
    pub media_watts: f64,
    /// Watts of everything else.
    pub other_watts: f64,
}

impl PetabyteCost {
    /// For so many gigabytes.
    pub fn of(server: &StorageServer, gb: f64) -> Self {
        let media = f64::from(server.media);
        let servers = gb / (media * server.medium.gb.unwrap_or(f64::NAN));
        let (processors, modules) = (f64::from(server.processors), f64::from(server.modules));
        let other = |value: fn(&CostPart) -> f64| {
            value(&server.enclosure) + processors * value(&PROCESSOR) + modules * value(&DIMM)
        };
        Self {
            servers,
            media_dollars: servers * media * server.medium.dollars,
            other_dollars: servers * other(|part| part.dollars),
            media_watts: servers * media * server.medium.watts,
            other_watts: servers * other(|part| part.watts),
        }
    }

    /// The share of the cost that is not the medium's.
    pub fn other_cost_share(&self) -> f64 {
        self.other_dollars / (self.media_dollars + self.other_dollars)
    }

    /// The share of the power that is not the medium's.
    pub fn other_power_share(&self) -> f64 {
        self.other_watts / (self.media_watts + self.other_watts)
    }
}

/// A row of Table 8 as it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PrintedCost {
    /// The medium.
    pub medium: &'static str,
    /// Servers.
    pub servers: u32,
    /// Dollars of the medium.
    pub media_dollars: f64,
    /// Dollars of everything else.
    pub other_dollars: f64,
    /// Its share of the cost.
    pub other_cost_share: f64,
    /// Its share of the power.
    pub other_power_share: f64,
}

/// Table 8 as it is printed.
pub const PRINTED_TABLE_8: [PrintedCost; 4] = [
    printed("4GB DIMMs", 10_923, (50e6, 41e6), (0.45, 0.68)),
    printed("NAND", 2185, (13e6, 3e6), (0.22, 0.91)),
    printed("SAS Disks", 218, (1.2e6, 627e3), (0.35, 0.53)),
    printed("SATA Disks", 44, (100e3, 125e3), (0.54, 0.68)),
];

const fn printed(
    medium: &'static str,
    servers: u32,
    (media_dollars, other_dollars): (f64, f64),
    (other_cost_share, other_power_share): (f64, f64),
) -> PrintedCost {
    PrintedCost { medium, servers, media_dollars, other_dollars, other_cost_share, other_power_share }
}

/// Many nodes of a catalogue that store so much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CatalogueCost {
    /// The option.
    pub name: String,
    /// Nodes.
    pub nodes: u64,
    /// Dollars to buy them; `None` if the price is unknown.
    pub dollars: Option<f64>,
    /// Watts at rest, without drives whose power is unknown; `None` if unknown.
    pub watts_idle: Option<f64>,
    /// Whether those watts lack the drives'.
    pub lacks_drive_watts: bool,
}

/// The same question of a catalogue's nodes, for so many gigabytes. Nodes without known space are left out.
pub fn catalogue_costs(catalogue: &Catalogue, gb: f64) -> Vec<CatalogueCost> {
    let cost = |option: &fawn_plan::NodeOption| {
        let nodes = (gb / option.value(Quantity::Gb)?).ceil();
        Some(CatalogueCost {
            name: option.name.clone(),
            nodes: nodes as u64,
            dollars: option.value(Quantity::PriceDollars).map(|price| price * nodes),
            watts_idle: option.value(Quantity::WattsIdle).map(|watts| watts * nodes),
            lacks_drive_watts: option.drive_watts_unknown,
        })
    };
    catalogue.options.iter().filter_map(cost).collect()
}
