//! Bandwidths of a chip and of an array in closed form, in bytes a second.

use super::design::FlashDesign;

/// Bytes of one page of all planes of a die, spare area included, as they cross the bus.
fn die_page_bytes(design: &FlashDesign) -> f64 {
    f64::from((design.geometry.page_bytes + design.geometry.spare_bytes) * design.geometry.planes_per_die)
}

/// Seconds for which the pages of all planes of a die hold the bus, commands included.
fn die_page_on_bus(design: &FlashDesign) -> f64 {
    let cycles = f64::from(design.bus.command_cycles * design.geometry.planes_per_die);
    die_page_bytes(design) / design.bus.bytes_per_second() + cycles / (design.bus.mega_transfers * 1e6)
}

fn mean_seconds(times: &[crate::time::SimTime]) -> f64 {
    times.iter().map(|time| time.seconds()).sum::<f64>() / times.len() as f64
}

/// Reads of one die without end: the cells and the bus work at the same time if the die has a cache register.
pub fn die_read(design: &FlashDesign) -> f64 {
    let (cell, bus) = (mean_seconds(&design.cells.reads), die_page_on_bus(design));
    let each = if design.die.cache_register { cell.max(bus) } else { cell + bus };
    die_page_bytes(design) / each
}

/// Programs of one die without end, erases not counted.
pub fn die_program(design: &FlashDesign) -> f64 {
    let (cell, bus) = (mean_seconds(&design.cells.programs), die_page_on_bus(design));
    let each = if design.die.cache_register { cell.max(bus) } else { cell + bus };
    die_page_bytes(design) / each
}

/// Erases of one die without end, in data bytes erased.
pub fn die_erase(design: &FlashDesign) -> f64 {
    let geometry = &design.geometry;
    let bytes = f64::from(geometry.pages_per_block * geometry.page_bytes * geometry.planes_per_die);
    bytes / design.cells.erase.seconds()
}

/// What all buses carry at most.
pub fn all_buses(design: &FlashDesign) -> f64 {
    design.bus.bytes_per_second() * f64::from(design.geometry.buses)
}

/// What all dies program at most if no bus holds them up.
pub fn all_dies_program(design: &FlashDesign) -> f64 {
    die_page_bytes(design) / mean_seconds(&design.cells.programs) * f64::from(design.geometry.dies())
}
