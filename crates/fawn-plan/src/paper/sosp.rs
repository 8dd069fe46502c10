//! Energy and cost as the SOSP'09 paper has them (CACM 2011 prints the same).

use super::table::{Cell, PaperTable};
use crate::map::Boundary;
use crate::{Assumptions, Catalogue, Cost, Date, Map, Quantity, Workload};

/// Queries a joule: Table 3, and the clusters of §4.2 and §5.1.
pub fn queries_a_joule() -> PaperTable {
    let machine = |name: &str, printed, queries: f64, watts: f64| {
        Cell::of(format!("{name}, queries a joule"), printed, queries / watts)
    };
    // The cluster of §4.2: nodes and switches, watts at rest and under gets.
    let (nodes, node_rest, switches, switch, busy) = (21.0, 3.0, 2.0, 10.0, 99.0);
    let (gets, front_end, shared_by) = (36_000.0, 27.0, 80.0);
    let with_front_end = |share: f64| gets / (busy + nodes * share);
    let three = |gets_a_node: f64| 3.0 * gets_a_node / (3.0 * 3.75 + 10.0);
    PaperTable {
        name: "table-3",
        title: "Queries a joule (SOSP'09 Table 3, sections 4.2 and 5.1)",
        cells: vec![
            machine("Alix3c2 / Sandisk (CF)", "346", 1298.0, 3.75),
            machine("Soekris / Sandisk (CF)", "89", 334.0, 3.75),
            machine("Desktop / Mobi (SSD)", "51.7", 4289.0, 83.0),
            machine("MacBook Pro / HD", "2.3", 66.0, 29.0),
            machine("Desktop / HD", "1.96", 171.0, 87.0),
            Cell::of("cluster at rest, watts", "83", nodes * node_rest + switches * switch),
            Cell::of("cluster without front-end, queries a joule", "364", gets / busy),
            Cell::of(
                "traffic of a front-end for 80 nodes, Mbit/s",
                "937",
                shared_by * 1500.0 * 1024.0 * 8.0 / 1_048_576.0,
            )
            .note("with 1 KB of 1,024 bytes and Mbit of 2^20 bits; 983 with Mbit of 10^6"),
            Cell::of("cluster with front-end, queries a joule", "330", with_front_end(front_end / shared_by))
                .note("27 W for 80 nodes are 0.34 W a node; with the \"nearly 0.5 W\" of the text it is 329"),
            Cell::of("cluster of three nodes and a switch, queries a joule", "240", three(1298.0))
                .note("with the 1,298 queries a second of Table 3; 240 needs the 1,700 a node of section 4.2"),
        ],
    }
}

/// The derived columns of Table 4: 24 cells from the four inputs of each system.
pub fn cost() -> PaperTable {
    /// Queries a joule, GB a watt, dollars a GB, dollars a query a second.
    const PRINTED: [[&str; 4]; 6] = [
        ["6", "40", "0.26", "1.77"],
        ["909", "0.72", "53", "0.04"],
        ["3.5K", "0.23", "59", "0.004"],
        ["12.5", "100", "0.20", "1.61"],
        ["2.3K", "2.1", "16.9", "0.015"],
        ["6.6K", "0.13", "134", "0.003"],
    ];
    let (catalogue, assumptions) = reckoned();
    let mut cells = Vec::new();
    for (option, printed) in catalogue.options.iter().zip(PRINTED) {
        let known = "the built-in catalogue has all inputs of Table 4";
        let value = |quantity| option.value(quantity).expect(known);
        let (queries, gb, watts) =
            (value(Quantity::QueriesPerSecond), value(Quantity::Gb), value(Quantity::WattsStress));
        let dollars = Cost::of_node(option, &assumptions).expect(known).total.value;
        let columns = [
            ("queries a joule", queries / watts),
            ("GB a watt", gb / watts),
            ("dollars a GB", dollars / gb),
            ("dollars a query a second", dollars / queries),
        ];
        for ((column, recomputed), printed) in columns.into_iter().zip(printed) {
            let cell = Cell::of(format!("{}, {column}", option.name), printed, recomputed);
            cells.push(if cell.agrees == Some(false) {
                cell.note("does not follow from price, watts and GB as printed")
            } else {
                cell
            });
        }
    }
    PaperTable { name: "table-4", title: "Cost over three years (SOSP'09 Table 4)", cells }
}

/// Fig. 16: which system is the cheapest on how much of the map, and where one takes over from another. The paper draws it
/// without numbers.
pub fn solution_space() -> PaperTable {
    let map = solution_map();
    let mut cells: Vec<Cell> = map
        .shares
        .iter()
        .map(|share| Cell::drawn(format!("{}, % of the map", share.name), 100.0 * share.share))
        .collect();
    cells.extend(map.never().into_iter().map(|name| Cell::drawn(format!("{name}, % of the map"), 0.0)));
    cells.extend(map.boundaries.iter().map(|boundary| {
        let Boundary { gets_a_gb, below, above } = boundary;
        Cell::drawn(format!("from {below} to {above}, queries a second for each GB"), *gets_a_gb)
    }));
    PaperTable { name: "figure-16", title: "The cheapest system by data and rate (SOSP'09 Fig. 16)", cells }
}

/// The map of Fig. 16.
pub fn solution_map() -> Map {
    let (catalogue, assumptions) = reckoned();
    let workload = Workload { data_bytes: 1e12, gets_per_second: 1e6, value_bytes: 1e3, replicas: 1 };
    Map::of(&catalogue, &workload, &assumptions).expect("the built-in catalogue can be ranked")
}

/// Table 4 as printed, with nodes that are used up to the brim. The age of values does not matter here.
fn reckoned() -> (Catalogue, Assumptions) {
    let catalogue = Catalogue::built_in("paper-2009").expect("it is built in");
    let today = Date::of_unix_days(0).expect("1970 is a year");
    let assumptions = Assumptions { utilisation: 1.0, ..Assumptions::of(&catalogue, today) };
    (catalogue, assumptions)
}
