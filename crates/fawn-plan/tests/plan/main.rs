//! What the papers print, and what a plan must keep to whatever it is asked.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::float_cmp, reason = "golden values are to the last digit, or compared within bounds")]

mod laws;
mod papers;
mod today;
mod wear;

use fawn_plan::{Assumptions, Catalogue, PurchasePlan, Workload};

/// The assumptions of a catalogue, on a day of 2026.
fn assumptions(catalogue: &Catalogue) -> Assumptions {
    Assumptions::of(catalogue, "2026-11-24".parse().unwrap())
}

fn workload(data_bytes: f64, gets_per_second: f64, replicas: u32) -> Workload {
    Workload { data_bytes, gets_per_second, value_bytes: 1e3, replicas }
}

fn plan(catalogue: &str, workload: &Workload, utilisation: f64) -> PurchasePlan {
    let catalogue = Catalogue::built_in(catalogue).unwrap();
    PurchasePlan::of(&catalogue, workload, &Assumptions { utilisation, ..assumptions(&catalogue) })
}
