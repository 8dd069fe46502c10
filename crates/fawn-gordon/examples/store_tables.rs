//! The tables of the book's page on the store on flash, and the measurements of `fawn plan`'s years of the drives:
//!
//! ```text
//! cargo run --release -p fawn-gordon --example store_tables -- stores|budgets|drives|indexed|drained
//! ```
//!
//! Equal seeds give equal tables. `fawn gordon store` prints the same for any workload.

#![allow(clippy::print_stdout, reason = "this is what it is for")]

use fawn_gordon::flash::presets::preset;
use fawn_gordon::store::{DriveSettings, StoreComparison, StoreDesign, StoreTrialError, StoreWorkload};

fn main() -> Result<(), StoreTrialError> {
    let what = std::env::args().nth(1).unwrap_or_else(|| "stores".to_owned());
    let usual =
        StoreWorkload { records: 100_000, get_share: 0.0, warm_up: 2.0, measured: 0.5, ..StoreWorkload::default() };
    let fawn = |workload: &StoreWorkload, bytes: u64| StoreDesign::Fawn { memory_bytes: workload.records * bytes };
    // 300,000 records where the drive is so full that fixed files would count.
    let of = |full: f64| StoreWorkload { records: if full > 0.7 { 300_000 } else { 100_000 }, ..usual };
    match what.as_str() {
        "stores" => {
            let workload = StoreWorkload { get_share: 0.5, ..usual };
            let lsm = StoreDesign::Lsm { memtable_bytes: workload.live_bytes() / 128 };
            print(&workload, 0.4, &[(true, 0.07)], vec![fawn(&workload, 48), StoreDesign::PageStore, lsm])
        }
        "budgets" => print(&usual, 0.4, &[(true, 0.07)], [48, 16, 8].map(|bytes| fawn(&usual, bytes)).to_vec()),
        "drives" => {
            let drives = [(true, 0.07), (false, 0.07), (true, 0.25), (false, 0.25)];
            print(&usual, 0.4, &drives, vec![fawn(&usual, 48)])
        }
        mode => {
            let only = std::env::args().nth(2).and_then(|full| full.parse::<f64>().ok());
            for full in
                [0.3, 0.45, 0.6, 0.75].into_iter().filter(|full| only.is_none_or(|only| (only - full).abs() < 1e-9))
            {
                let workload = of(full);
                // Both are the same at any number of records: all are indexed, or 0.35 bytes a record go to tables.
                let memory_bytes = if mode == "drained" { 8 * workload.records } else { 4_800_000 };
                print(&workload, full, &[(true, 0.07)], vec![StoreDesign::Fawn { memory_bytes }])?;
            }
            Ok(())
        }
    }
}

fn print(
    workload: &StoreWorkload,
    full: f64,
    drives: &[(bool, f64)],
    designs: Vec<StoreDesign>,
) -> Result<(), StoreTrialError> {
    let preset = preset("femu-default").expect("it is built in");
    let bytes = (workload.live_bytes() as f64 / full) as u64;
    let drives = drives.iter().map(|&(trim, spare_factor)| DriveSettings {
        trim,
        spare_factor,
        rated_erases: Some(3_000),
        ..DriveSettings::of(preset.clone(), bytes)
    });
    let comparison = StoreComparison {
        workload: *workload,
        drives: drives.collect(),
        designs,
        puts_per_s: 1_000.0,
        tbw_bytes: None,
    };
    let report = comparison.run(|_, _| {})?;
    println!("{}\n\n{}\n{}", report.heading(), report.writes().markdown(), report.operations_table().markdown());
    for row in &report.rows {
        let result = &row.result;
        let of_records = result.store_amplification * workload.user_bytes() as f64 / workload.record_bytes() as f64;
        println!(
            "full {:.3}: store {of_records:.3} per byte of a record, FTL {:.3}, {} B of index per record, {:?}",
            result.fill,
            result.ftl_amplification,
            result.index_bytes_per_record.unwrap_or(0.0),
            result.written
        );
    }
    for stuck in &report.stuck {
        println!("note: {stuck}.");
    }
    for note in &report.notes {
        println!("note: {note}");
    }
    Ok(())
}
