//! The bandwidths of one die and of all of an array: in closed form and simulated, beside what the paper prints (Gordon, Table 1).

use fawn_report::TextTable;
use fawn_report::amount::number;
use serde::Serialize;

use super::array::{FlashArray, Step};
use super::ceilings;
use super::command::{Command, CommandKind};
use super::design::FlashDesign;
use super::geometry::GeometryError;
use super::presets::{GordonCells, gordon};
use crate::time::SimTime;

/// Bytes of a MB as 004 counts them in Table 1.
const PAPER_MB: f64 = 1_048_576.0;

/// Commands of a simulated stream.
const STREAM: u64 = 400;

/// Bandwidths of an array, in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RawBandwidth {
    /// Of which array.
    pub name: String,
    /// Reads of one die, in closed form.
    pub die_read_bytes_per_s: f64,
    /// The same, simulated.
    pub simulated_read_bytes_per_s: f64,
    /// What 004 prints.
    pub printed_read_bytes_per_s: Option<f64>,
    /// Programs of one die, erases not counted.
    pub die_program_bytes_per_s: f64,
    /// The same, simulated.
    pub simulated_program_bytes_per_s: f64,
    /// What 004 prints.
    pub printed_program_bytes_per_s: Option<f64>,
    /// Data bytes that one die erases. Infinite, thus absent, if an erase takes no time.
    pub die_erase_bytes_per_s: Option<f64>,
    /// What all buses carry.
    pub buses_bytes_per_s: f64,
    /// What all dies program.
    pub dies_program_bytes_per_s: f64,
}

impl RawBandwidth {
    /// Of an array.
    ///
    /// # Errors
    /// It cannot be simulated.
    pub fn of(name: &str, design: &FlashDesign) -> Result<Self, GeometryError> {
        Ok(Self {
            name: name.to_owned(),
            die_read_bytes_per_s: ceilings::die_read(design),
            simulated_read_bytes_per_s: stream(design, CommandKind::Read)?,
            printed_read_bytes_per_s: None,
            die_program_bytes_per_s: ceilings::die_program(design),
            simulated_program_bytes_per_s: stream(design, CommandKind::Program)?,
            printed_program_bytes_per_s: None,
            die_erase_bytes_per_s: Some(ceilings::die_erase(design)).filter(|rate| rate.is_finite()),
            buses_bytes_per_s: ceilings::all_buses(design),
            dies_program_bytes_per_s: ceilings::all_dies_program(design),
        })
    }
}

/// Table 1: SLC and MLC on one die at three rates. It needs 2 bytes a transfer at 40 MHz and 1 byte at 133 MHz; at 400 MHz the
/// cells are the bound either way.
///
/// # Errors
/// None of these arrays gives any.
pub fn table_1() -> Result<Vec<RawBandwidth>, GeometryError> {
    let mut rows = Vec::new();
    for (cells, kind, program) in [(GordonCells::Slc, "SLC", 20.1), (GordonCells::Mlc, "MLC", 5.0)] {
        for (rate, read) in [(40.0, 75.8), (133.0, 126.4), (400.0, 161.1)] {
            let mut design = gordon(cells, rate);
            design.bus.width_bits = if rate < 100.0 { 16 } else { 8 };
            let mut row = RawBandwidth::of(&format!("{kind}, {rate} MHz, {} bits", design.bus.width_bits), &design)?;
            row.printed_read_bytes_per_s = Some(read * PAPER_MB);
            row.printed_program_bytes_per_s = Some(program * PAPER_MB);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The table of bandwidths in the paper's MB, which are 2^20 bytes.
pub fn table(rows: &[RawBandwidth]) -> TextTable {
    let head = [
        "one die, in MB of 2^20 bytes per second",
        "read",
        "simulated",
        "printed",
        "program",
        "simulated",
        "printed",
        "erase",
        "all buses",
        "all dies program",
    ];
    let mb = |rate: f64| number(rate / PAPER_MB, 1);
    let printed = |rate: Option<f64>| rate.map_or_else(String::new, mb);
    let cells = rows.iter().map(|row| {
        vec![
            row.name.clone(),
            mb(row.die_read_bytes_per_s),
            mb(row.simulated_read_bytes_per_s),
            printed(row.printed_read_bytes_per_s),
            mb(row.die_program_bytes_per_s),
            mb(row.simulated_program_bytes_per_s),
            printed(row.printed_program_bytes_per_s),
            row.die_erase_bytes_per_s.map_or_else(|| "at once".to_owned(), mb),
            mb(row.buses_bytes_per_s),
            mb(row.dies_program_bytes_per_s),
        ]
    });
    TextTable::of(&head, &[], cells)
}

/// Bytes per second of one die, all planes at once, between the first of many commands and the last.
fn stream(design: &FlashDesign, kind: CommandKind) -> Result<f64, GeometryError> {
    let mut array = FlashArray::new(design)?;
    let geometry = &design.geometry;
    let planes = geometry.planes_per_die;
    let bytes = (geometry.page_bytes + geometry.spare_bytes) * planes;
    for page in 0..STREAM as u32 {
        let page = page % geometry.pages_per_block;
        let overhead = SimTime::ZERO;
        array.submit(Command { die: 0, kind, page, planes, bytes, overhead, cleaning: false, tag: 0 });
    }
    let mut ends = Vec::new();
    while let Some(step) = array.step() {
        if let Step::Finished(finished) = step {
            ends.push(finished.at);
        }
    }
    let (first, last) = (ends[0], ends[ends.len() - 1]);
    Ok(f64::from(bytes) * (STREAM - 1) as f64 / (last - first).seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_1_comes_out_within_one_percent() {
        let rows = table_1().unwrap();
        assert_eq!(rows.len(), 6);
        for row in &rows {
            let pairs = [
                (row.simulated_read_bytes_per_s, row.printed_read_bytes_per_s, row.die_read_bytes_per_s),
                (row.simulated_program_bytes_per_s, row.printed_program_bytes_per_s, row.die_program_bytes_per_s),
            ];
            for (simulated, printed, closed) in pairs {
                assert!((simulated / printed.unwrap() - 1.0).abs() < 0.01, "{}: {simulated}", row.name);
                assert!((simulated / closed - 1.0).abs() < 0.005, "{}: {simulated} {closed}", row.name);
            }
        }
        assert_eq!(table(&rows).rows[1][..4], ["SLC, 133 MHz, 8 bits", "126.4", "126.4", "126.4"].map(str::to_owned));
    }

    #[test]
    fn an_erase_without_time_is_told() {
        let design = super::super::presets::preset("samsung-970-pro").unwrap().design;
        let row = RawBandwidth::of("970", &design).unwrap();
        assert_eq!((row.die_erase_bytes_per_s, table(&[row]).rows[0][7].as_str()), (None, "at once"));
    }
}
