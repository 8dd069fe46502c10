//! Costs as rows of text.

use fawn_report::TextTable;
use fawn_report::amount::{bytes, digits, dollars, grouped, percent, seconds};

use super::petabyte::{CatalogueCost, PRINTED_TABLE_8, PetabyteCost, TABLE_7, servers};
use super::sleeping::CopiesCost;
use super::slices::SliceRun;

/// Table 7.
pub fn table_7() -> TextTable {
    let rows = TABLE_7.iter().map(|part| {
        let gb = part.gb.map_or_else(|| "n/a".to_owned(), |gb| format!("{gb} GB"));
        vec![part.name.to_owned(), gb, dollars(part.dollars), digits(part.watts)]
    });
    TextTable::of(&["part", "capacity", "cost", "active watts"], &[], rows)
}

/// Table 8, each row of the paper above ours.
pub fn table_8(gb: f64) -> TextTable {
    let head = ["medium", "", "servers", "media cost", "non-media cost", "of cost", "of power"];
    let rows = PRINTED_TABLE_8.iter().zip(servers()).flat_map(|(printed, server)| {
        let cost = PetabyteCost::of(&server, gb);
        let paper = vec![
            printed.medium.to_owned(),
            "paper".to_owned(),
            printed.servers.to_string(),
            dollars(printed.media_dollars),
            dollars(printed.other_dollars),
            percent(printed.other_cost_share),
            percent(printed.other_power_share),
        ];
        let ours = vec![
            String::new(),
            "ours".to_owned(),
            format!("{:.1}", cost.servers),
            dollars(cost.media_dollars),
            dollars(cost.other_dollars),
            percent(cost.other_cost_share()),
            percent(cost.other_power_share()),
        ];
        [paper, ours]
    });
    TextTable::of(&head, &[1], rows)
}

/// So many gigabytes on a catalogue's nodes, the cheapest first and unknown prices last.
pub fn catalogue(costs: &[CatalogueCost]) -> TextTable {
    let unknown = || "unknown".to_owned();
    let mut costs: Vec<&CatalogueCost> = costs.iter().collect();
    costs.sort_by(|a, b| a.dollars.unwrap_or(f64::INFINITY).total_cmp(&b.dollars.unwrap_or(f64::INFINITY)));
    let rows = costs.into_iter().map(|cost| {
        let mark = if cost.lacks_drive_watts { " without drives" } else { "" };
        vec![
            cost.name.clone(),
            grouped(cost.nodes),
            cost.dollars.map_or_else(unknown, dollars),
            cost.watts_idle.map_or_else(unknown, |watts| format!("{}{mark}", digits(watts))),
        ]
    });
    TextTable::of(&["option", "nodes", "cost", "watts at rest"], &[], rows)
}

/// Ways to keep copies (§6.1), each with its name.
pub fn copies(ways: &[(&str, CopiesCost)]) -> TextTable {
    let head =
        ["copies", "flash nodes", "disk servers", "MJ per year", "of it disks", "cost", "recovery", "disks awake"];
    let rows = ways.iter().map(|(name, cost)| {
        let recovery =
            if cost.recovery_seconds.is_finite() { seconds(cost.recovery_seconds) } else { "impossible".to_owned() };
        vec![
            (*name).to_owned(),
            grouped(cost.flash_nodes),
            grouped(cost.disk_servers),
            digits(cost.joules_per_year / 1e6),
            digits(cost.disk_joules_per_year / 1e6),
            cost.dollars.map_or_else(|| "unknown".to_owned(), dollars),
            recovery,
            percent(cost.awake_share),
        ]
    });
    TextTable::of(&head, &[], rows)
}

/// Ways to run jobs on a slice (§6.3), each with its name.
pub fn slices(ways: &[(&str, SliceRun)]) -> TextTable {
    let head = ["jobs", "load", "compute", "store", "each job", "kJ each", "computing", "holds"];
    let rows = ways.iter().map(|(name, run)| {
        let fits = if run.fits { "" } else { ", does not fit" };
        vec![
            (*name).to_owned(),
            seconds(run.load_seconds),
            seconds(run.compute_seconds),
            seconds(run.store_seconds),
            seconds(run.seconds_per_job),
            digits(run.joules_per_job / 1e3),
            percent(run.compute_share),
            format!("{}{fits}", bytes(run.bytes)),
        ]
    });
    TextTable::of(&head, &[], rows)
}
