//! Costs as rows of text.

use fawn_report::TextTable;
use fawn_report::amount::{bytes, digits, dollars, grouped, number, percent, seconds};

use super::petabyte::{CatalogueCost, TABLE_7};
use super::report::{NodeCosts, Table8Row};
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

/// Table 8, each row of the paper above ours where there is one.
pub fn table_8(rows: &[Table8Row]) -> TextTable {
    let head = ["medium", "", "servers", "media cost", "non-media cost", "of cost", "of power"];
    let lines = rows.iter().flat_map(|row| {
        let paper = row.printed.map(|printed| {
            vec![
                printed.medium.to_owned(),
                "paper".to_owned(),
                grouped(printed.servers.into()),
                dollars(printed.media_dollars),
                dollars(printed.other_dollars),
                percent(printed.other_cost_share),
                percent(printed.other_power_share),
            ]
        });
        let cost = row.computed;
        let ours = vec![
            if paper.is_some() { String::new() } else { row.medium.to_owned() },
            "computed".to_owned(),
            number(cost.servers, 1),
            dollars(cost.media_dollars),
            dollars(cost.other_dollars),
            percent(cost.other_cost_share()),
            percent(cost.other_power_share()),
        ];
        paper.into_iter().chain([ours])
    });
    TextTable::of(&head, &[1], lines)
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

/// §6.1 for several kinds of nodes. Where there is one copy, none is asleep.
pub fn nodes_copies(nodes: &[NodeCosts]) -> TextTable {
    let ways = nodes.iter().flat_map(|node| {
        let asleep = ("  one in flash, others asleep".to_owned(), node.one_in_flash);
        let has_others = node.one_in_flash.disk_servers > 0;
        [(format!("{}: all in flash", node.name), node.all_in_flash)].into_iter().chain(has_others.then_some(asleep))
    });
    let ways: Vec<(String, CopiesCost)> = ways.collect();
    copies(&ways.iter().map(|(name, cost)| (name.as_str(), *cost)).collect::<Vec<_>>())
}

/// §6.3 for several kinds of nodes.
pub fn nodes_slices(nodes: &[NodeCosts]) -> TextTable {
    let ways = nodes.iter().flat_map(|node| {
        [(format!("{}: in turn", node.name), node.in_turn), ("  overlapped".to_owned(), node.overlapped)]
    });
    let ways: Vec<(String, SliceRun)> = ways.collect();
    slices(&ways.iter().map(|(name, run)| (name.as_str(), *run)).collect::<Vec<_>>())
}
