//! Gordon, Table 1: peak bandwidth of flash chips by bus rate.

use fawn_gordon::flash::presets::GordonCells;
use fawn_gordon::flash::streaming::{stream_die, table_1_chip};
use fawn_gordon::flash::{CommandKind, ceilings};
use fawn_gordon::ftl::FtlError;
use serde_json::json;

use super::{MIB, simulated};
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;

/// What the paper prints: MHz, read, program of SLC, program of MLC, MB/s.
const PRINTED: [(f64, f64, f64, f64); 3] =
    [(40.0, 75.8, 20.1, 5.0), (133.0, 126.4, 20.1, 5.0), (400.0, 161.1, 20.1, 5.0)];

/// Simulates it.
///
/// # Errors
/// [`Error`].
pub fn run(_: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = simulated(&[
        ("what", "cells, bus, operation", None),
        ("mib_a_second", "MiB/s", Some(1)),
        ("closed_form_mib_a_second", "closed form, MiB/s", Some(1)),
        ("bus_bytes", "bytes a bus cycle", None),
    ]);
    for (cells, name) in [(GordonCells::Slc, "SLC"), (GordonCells::Mlc, "MLC")] {
        for (mhz, read, slc, mlc) in PRINTED {
            let design = table_1_chip(cells, mhz);
            let program = if cells == GordonCells::Slc { slc } else { mlc };
            for (kind, word, printed, closed) in [
                (CommandKind::Read, "read", read, ceilings::die_read(&design)),
                (CommandKind::Program, "program", program, ceilings::die_program(&design)),
            ] {
                let what = format!("{name}, {mhz} MHz, {word}");
                let stream = stream_die(&design, kind, 2, 4_224).map_err(FtlError::from)?;
                finding.row(json!({
                    "what": what, "mib_a_second": stream / MIB, "closed_form_mib_a_second": closed / MIB,
                    "bus_bytes": design.bus.width_bits / 8,
                }));
                finding.printed(json!({ "what": what, "mib_a_second": printed }));
            }
        }
    }
    finding.charts = vec![Chart::bars("Peak bandwidth of a chip", "what", Axis::linear("mib_a_second", "MiB/s"))];
    finding.note(
        "the printed figures follow from two planes of 2,112 bytes, seven command cycles a page, and MiB. They need \
         two bytes a cycle at 40 MHz and one at 133 MHz, although the table has a 16-bit bus",
    );
    Ok(finding)
}
