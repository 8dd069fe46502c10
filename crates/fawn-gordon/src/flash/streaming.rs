//! One die that is kept busy: what it reads, programs or erases, as Gordon §4.1 and Table 1 have it.

use super::array::{FlashArray, Step};
use super::command::{Command, CommandKind};
use super::design::FlashDesign;
use super::geometry::GeometryError;
use super::presets::{GordonCells, gordon};
use super::timing::{BusTiming, CellTiming, DieOptions};
use crate::time::SimTime;

/// Commands that are issued at once.
const COMMANDS: u32 = 200;

/// Bytes a second of the first die, from the end of the first of many commands to the end of the last. Each is worth `bytes`,
/// which cross the bus unless it erases or copies.
///
/// # Errors
///
/// The geometry cannot be simulated.
pub fn die_stream(design: &FlashDesign, kind: CommandKind, planes: u32, bytes: u32) -> Result<f64, GeometryError> {
    let mut array = FlashArray::new(design)?;
    let on_bus = if matches!(kind, CommandKind::Read | CommandKind::Program) { bytes } else { 0 };
    for _ in 0..COMMANDS {
        let overhead = SimTime::ZERO;
        array.submit(Command { die: 0, kind, page: 0, planes, bytes: on_bus, overhead, cleaning: false, tag: 0 });
    }
    let (mut first, mut last) = (None, SimTime::ZERO);
    while let Some(step) = array.step() {
        if let Step::Finished(end) = step {
            first.get_or_insert(end.at);
            last = end.at;
        }
    }
    Ok(f64::from(bytes) * f64::from(COMMANDS - 1) / (last - first.unwrap_or_default()).seconds())
}

/// The chip of Table 1 at this bus rate. Its bandwidths need two bytes a cycle at 40 MHz and one at 133 MHz; at 400 MHz the
/// cells are the bound either way.
pub fn table_1_chip(cells: GordonCells, mega_transfers: f64) -> FlashDesign {
    let mut design = gordon(cells, mega_transfers);
    design.bus.width_bits = if mega_transfers < 100.0 { 16 } else { 8 };
    design
}

/// §4.1's single plane: 4,096 bytes a page at 40 MB/s, neither spare area nor command cycles, one register, 1.5 ms an erase.
/// Table 1 has 2 ms.
pub fn single_plane() -> FlashDesign {
    let mut design = gordon(GordonCells::Slc, 40.0);
    (design.geometry.planes_per_die, design.geometry.page_bytes, design.geometry.spare_bytes) = (1, 4_096, 0);
    design.cells = CellTiming::uniform_us(25, 200, 1_500);
    design.bus = BusTiming { width_bits: 8, mega_transfers: 40.0, command_cycles: 0 };
    design.die = DieOptions { cache_register: false };
    design
}
