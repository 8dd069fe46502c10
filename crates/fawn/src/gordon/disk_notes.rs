//! What is said of a simulated disk, alone or beside other devices.

use fawn_gordon::measure::DiskReport;
use fawn_gordon::measure::tables::time;

/// The disk that the paper compares with.
pub const PAPER_DISK: &str = "sata-1tb-2008";

/// What is to be known about a report besides its figures.
pub fn notes(report: &DiskReport) -> Vec<String> {
    let energy = report.energy.as_ref();
    let told = energy.map_or_else(
        || format!("Energy of {} is not modelled, since its source states no power.", report.name),
        |energy| format!("Energy of {} is modelled: {}.", report.name, energy.model),
    );
    let mut notes = vec![told];
    let (replied_s, settled_s) = (report.throughput.elapsed_s, report.settled_s);
    if settled_s > 1.01 * replied_s {
        notes.push(format!(
            "{} had written all to its platters after {}, and replied to the last request after {}. Energy and busy shares \
             are of the longer time.",
            report.name,
            time(settled_s * 1e6),
            time(replied_s * 1e6)
        ));
    }
    notes
}
