//! The DRAM that an FTL needs in its controller.

use serde::{Deserialize, Serialize};

use super::settings::FtlSettings;
use super::striping::Layout;

/// Bytes of the controller's DRAM by use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramNeed {
    /// The LBA table: four bytes for each super-page of the array, as the paper reckons.
    pub table: u64,
    /// Sixteen bytes for each super-block: sequence number, valid pages, erases. Without the sequence rule eight more, and
    /// eight for each page of an open one.
    pub blocks: u64,
    /// A super-page for each program that may be under way, and one for the last read.
    pub buffers: u64,
}

impl DramNeed {
    /// Of an FTL with these settings.
    pub fn of(layout: &Layout, settings: &FtlSettings) -> Self {
        let points = u64::from(layout.sets) * u64::from(settings.write_points_per_set);
        let numbers = if settings.sequence_rule {
            0
        } else {
            8 * (u64::from(layout.blocks()) + points * u64::from(layout.data_pages()))
        };
        Self {
            table: u64::from(layout.pages()) * 4,
            blocks: u64::from(layout.blocks()) * 16 + numbers,
            buffers: (points * u64::from(settings.programs_ahead) + 1) * u64::from(layout.page_bytes),
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.table + self.blocks + self.buffers
    }
}

#[cfg(test)]
mod tests {
    use super::super::striping::Stripe;
    use super::*;
    use crate::flash::presets::{GordonCells, gordon};

    fn need(buses: u32, dies: u32, planes: u32) -> DramNeed {
        let stripe = Stripe { buses, dies, planes };
        let layout = Layout::new(gordon(GordonCells::Slc, 133.0).geometry, stripe).unwrap();
        DramNeed::of(&layout, &FtlSettings { stripe, ..FtlSettings::gordon() })
    }

    #[test]
    fn the_table_of_256_gb_takes_512_256_and_16_mib_with_pages_of_2_4_and_64_kb() {
        assert_eq!(need(1, 1, 1).table, 512 << 20);
        assert_eq!(need(1, 1, 2).table, 256 << 20);
        assert_eq!(need(4, 4, 2).table, 16 << 20);
    }

    /// §4.2.2: with 512 MB of DRAM super-pages must have 4 KB at least, which leaves space for other data.
    #[test]
    fn super_pages_of_2_kb_do_not_fit_512_mb_of_dram_and_those_of_4_kb_do() {
        assert!(need(1, 1, 1).total() > 512 << 20);
        assert!(need(1, 1, 2).total() < 512 << 20);
    }
}
