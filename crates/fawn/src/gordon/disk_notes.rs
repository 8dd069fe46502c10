//! What is said of a simulated disk, alone or beside other devices.

use fawn_gordon::measure::DiskReport;

/// The disk that the paper compares with.
pub const PAPER_DISK: &str = "sata-1tb-2008";

/// What is to be known about a report besides its figures.
pub fn notes(report: &DiskReport) -> Vec<String> {
    let energy = report.energy.as_ref();
    let told = energy.map_or_else(
        || format!("Energy of {} is not modelled, since its source states no power.", report.name),
        |energy| format!("Energy of {} is modelled: {}.", report.name, energy.model),
    );
    vec![told]
}
