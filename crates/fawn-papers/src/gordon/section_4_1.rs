//! Gordon, §4.1 and §4.2: single-chip bandwidths, and figures that follow from the array's parts.

use fawn_gordon::flash::presets::{GordonCells, gordon};
use fawn_gordon::flash::streaming::{single_plane, stream_die};
use fawn_gordon::flash::{CommandKind, ceilings};
use fawn_gordon::ftl::memory::DramNeed;
use fawn_gordon::ftl::wear::{gordon_survival, write_budget_bytes};
use fawn_gordon::ftl::{FtlError, FtlSettings, Layout, Stripe};
use serde_json::json;

use super::{MIB, simulated};
use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;

/// Simulates what a chip does, and computes the rest.
///
/// # Errors
/// [`Error`].
pub fn run(_: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = simulated(&[
        ("what", "what", None),
        ("value", "value", Some(3)),
        ("unit", "", None),
        ("note", "reading", None),
    ]);
    let mut add = |what: &str, unit: &str, value: f64, printed: f64, note: &str| {
        finding.row(json!({ "what": what, "value": value, "unit": unit, "note": note }));
        finding.printed(json!({ "what": what, "value": printed, "unit": unit }));
    };
    let plane = single_plane();
    let stream = |kind, bytes| stream_die(&plane, kind, 1, bytes).map_err(FtlError::from);
    let bare = "pages of 4,096 bytes, 40 MB/s, one register";
    add("read of one plane", "MiB/s", stream(CommandKind::Read, 4_096)? / MIB, 30.7, bare);
    add("program of one plane", "MiB/s", stream(CommandKind::Program, 4_096)? / MIB, 12.9, bare);
    let erase = stream(CommandKind::Erase, 64 * 4_096)? / MIB;
    add("erase of one plane", "MiB/s", erase, 166.0, "64 pages in 1.5 ms; Table 1 has 2 ms");
    let array = gordon(GordonCells::Slc, 133.0);
    let transfer_us = 16_384.0 / (array.bus.bytes_per_second() / 1e6 * MIB) * 1e6;
    add("64 KB over four buses", "us", transfer_us, 58.0, "in MiB; 61.6 us in MB");
    add("the same as a share of a program", "", transfer_us / 200.0, 0.29, "");
    for (kilobytes, stripe, printed) in [
        (2, Stripe { buses: 1, dies: 1, planes: 1 }, 512.0),
        (4, Stripe { buses: 1, dies: 1, planes: 2 }, 256.0),
        (64, Stripe { buses: 4, dies: 4, planes: 2 }, 16.0),
    ] {
        let layout = Layout::new(array.geometry, stripe).map_err(FtlError::from)?;
        let need = DramNeed::of(&layout, &FtlSettings { stripe, ..FtlSettings::gordon() });
        add(&format!("LBA table with super-pages of {kilobytes} KB"), "MiB", need.table as f64 / MIB, printed, "");
    }
    let (whole, twice) = (gordon_survival(1), gordon_survival(64));
    add("super-blocks of 2 KB pages that last", "%", 100.0 * whole, 99.9, "0.98 to the power of 1/32");
    add("those of 128 KB pages", "%", 100.0 * twice, 96.0, "");
    let budget = write_budget_bytes(256e9, 100_000);
    add("bytes that 256 GB can take", "PB", budget / 1e15, 25.6, "");
    add("at 900 MB/s", "days", budget / 900e6 / 86_400.0, 365.0, "the paper says one year");
    let pins = array.geometry.buses * (24 + 2 * array.geometry.dies_per_bus()) + 150 + 105 + 41;
    add("signal pins of the controller", "", f64::from(pins), 304.0, "a difference: the parts that the paper names");
    let programs = ceilings::all_dies_program(&array) / MIB;
    finding.note(format!(
        "ceilings of the array: four 16-bit buses carry {:.0} MB/s at 133 MHz, and 64 dies program {programs:.0} MiB/s",
        ceilings::all_buses(&array) / 1e6
    ));
    Ok(finding)
}
