//! A published design made small, so that a simulation can overwrite it several times.
//!
//! Timings, pages, planes and buses stay. The dies on each bus become fewer, then the pages of a block, and at last the buses,
//! until each die has about 192 blocks: fewer would leave cleaning too little choice.

use crate::flash::FlashDesign;
use crate::ftl::Stripe;

/// Blocks of a die at least, where the size allows it.
const BLOCKS: u64 = 192;
/// Pages of a block at least: one of them is its summary. Drives of one die may have fewer.
const LEAST_PAGES: u32 = 32;
/// And those have so many at least.
const FEWEST_PAGES: u32 = 8;

/// The same design with about so many bytes for the host. A super-page is one page of each plane of a die.
pub fn scaled(design: &FlashDesign, host_bytes: u64, spare_factor: f64) -> FlashDesign {
    let mut small = design.clone();
    let geometry = &mut small.geometry;
    let page = u64::from(geometry.page_bytes) * u64::from(geometry.planes_per_die);
    let raw = |pages: u32| {
        let data_share = f64::from(pages - 1) / f64::from(pages) * (1.0 - spare_factor);
        (host_bytes as f64 / data_share) as u64
    };
    let unit = |dies: u32, pages: u32| u64::from(dies) * page * u64::from(pages);
    while unit(geometry.dies(), LEAST_PAGES) * BLOCKS > raw(LEAST_PAGES) {
        let sides = [&mut geometry.packages_per_bus, &mut geometry.dies_per_package, &mut geometry.buses];
        let Some(side) = sides.into_iter().find(|side| side.is_multiple_of(2)) else { break };
        *side /= 2;
    }
    let least = if geometry.dies() == 1 { FEWEST_PAGES } else { LEAST_PAGES };
    while geometry.pages_per_block / 2 >= least
        && unit(geometry.dies(), geometry.pages_per_block) * BLOCKS > raw(geometry.pages_per_block)
    {
        geometry.pages_per_block /= 2;
    }
    let pages = geometry.pages_per_block;
    geometry.blocks_per_plane = (raw(pages).div_ceil(unit(geometry.dies(), pages)) as u32).max(16);
    small
}

/// The stripe of a super-page: all planes of one die.
pub fn stripe(design: &FlashDesign) -> Stripe {
    Stripe { buses: 1, dies: 1, planes: design.geometry.planes_per_die }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::presets::presets;
    use crate::ftl::{FtlSettings, Translation};

    #[test]
    fn a_scaled_design_has_the_bytes_that_were_asked_for() {
        for preset in presets() {
            for bytes in [256_u64 << 20, 1 << 30] {
                let small = scaled(&preset.design, bytes, 0.07);
                let settings = FtlSettings::plain(stripe(&small), 0.07);
                let ftl = Translation::new(small.geometry, settings, true).unwrap();
                let host = u64::from(ftl.logical_pages()) * u64::from(ftl.layout().page_bytes);
                let ratio = host as f64 / bytes as f64;
                assert!((0.99..1.1).contains(&ratio), "{}: {bytes} bytes became {host}", preset.name);
                assert_eq!(small.cells, preset.design.cells);
            }
        }
    }
}
