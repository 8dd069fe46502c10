//! The papers' tables, as printed and as their inputs give them.

use fawn_plan::paper::{self, PaperTable, TwoTiers};
use fawn_plan::{Catalogue, Map, Resource};

use crate::{assumptions, plan, workload};

/// The recomputed value of the cell that begins so.
#[track_caller]
fn cell(table: &PaperTable, begins: &str) -> f64 {
    let mut found = table.cells.iter().filter(|cell| cell.what.starts_with(begins));
    let cell = found.next().unwrap_or_else(|| panic!("{begins}"));
    assert!(found.next().is_none(), "{begins} is one cell");
    cell.recomputed
}

fn discrepancies(table: &PaperTable) -> Vec<&str> {
    table.discrepancies().map(|cell| cell.what.as_str()).collect()
}

#[track_caller]
fn close_to(value: f64, expected: f64, by: f64) {
    assert!((value - expected).abs() <= by, "{value} is not {expected}");
}

#[test]
fn sosp09_table_3_follows_from_its_inputs() {
    let table = paper::queries_a_joule();
    assert_eq!(
        discrepancies(&table),
        ["cluster with front-end, queries a joule", "cluster of three nodes and a switch, queries a joule"]
    );
    close_to(cell(&table, "cluster without front-end"), 363.6, 0.05);
    close_to(cell(&table, "cluster with front-end"), 339.3, 0.05);
    close_to(cell(&table, "cluster of three nodes"), 183.2, 0.05);
    close_to(cell(&table, "Alix3c2"), 346.1, 0.05);
}

#[test]
fn sosp09_table_4_gives_22_of_24_cells() {
    let table = paper::cost();
    assert_eq!(table.cells.len(), 24);
    assert_eq!(discrepancies(&table), ["Traditional+DRAM, dollars a GB", "FAWN+DRAM, dollars a GB"]);
    close_to(cell(&table, "Traditional+DRAM, dollars a GB"), 58.37, 0.005);
    close_to(cell(&table, "FAWN+DRAM, dollars a GB"), 144.71, 0.005);
}

#[test]
fn sosp09_fig_16_is_shared_by_four_of_the_six() {
    let table = paper::solution_space();
    for (name, share) in [("FAWN+SSD", 47.5), ("FAWN+Disk", 23.1), ("FAWN+DRAM", 15.0), ("Traditional+DRAM", 14.3)] {
        close_to(cell(&table, &format!("{name}, %")), share, 0.05);
    }
    assert_eq!((cell(&table, "Traditional+Disk, %"), cell(&table, "Traditional+SSD, %")), (0.0, 0.0));
}

#[test]
fn sosp09_fig_16_has_three_boundaries() {
    let catalogue = Catalogue::built_in("paper-2009").unwrap();
    let assumptions = fawn_plan::Assumptions { utilisation: 1.0, ..assumptions(&catalogue) };
    let map = Map::of(&catalogue, &workload(1e12, 1e6, 1), &assumptions).unwrap();
    let seen: Vec<_> = map.boundaries.iter().map(|it| (it.below.as_str(), it.above.as_str())).collect();
    let expected = [("FAWN+Disk", "FAWN+SSD"), ("FAWN+SSD", "Traditional+DRAM"), ("Traditional+DRAM", "FAWN+DRAM")];
    assert_eq!(seen, expected);
    // From the table's inputs: dollars a GB of one over dollars a query a second of the other.
    let by_hand =
        [(539.42 / 32.0) / (402.56 / 250.0), (3735.84 / 64.0) / (539.42 / 35e3), (289.42 / 2.0) / (3735.84 / 1e6)];
    for (boundary, by_hand) in map.boundaries.iter().zip(by_hand) {
        close_to(boundary.gets_a_gb, by_hand, by_hand * 1e-6);
    }
    assert_eq!(map.boundaries.iter().map(|it| it.gets_a_gb.round()).collect::<Vec<_>>(), [10.0, 3787.0, 38736.0]);
}

#[test]
fn ten_terabytes_at_a_million_queries_cost_what_table_4_makes_of_them() {
    let plan = plan("paper-2009", &workload(10e12, 1e6, 1), 1.0);
    let expected = [
        ("FAWN+SSD", 313, 168_838.0, Resource::Space),
        ("Traditional+SSD", 63, 540_424.0, Resource::Space),
        ("Traditional+DRAM", 157, 586_527.0, Resource::Space),
        ("FAWN+DRAM", 5000, 1_447_100.0, Resource::Space),
        ("FAWN+Disk", 4000, 1_610_240.0, Resource::Device),
        ("Traditional+Disk", 667, 1_772_219.0, Resource::Device),
    ];
    let seen: Vec<_> = plan
        .ranked
        .iter()
        .map(|it| (it.name.as_str(), it.sizing.nodes, it.cost.total.value.round(), it.sizing.binds))
        .collect();
    assert_eq!(seen, expected);
    assert!(plan.unranked.is_empty());
}

#[test]
fn table_4_as_its_text_states_it_differs_in_three_values() {
    let printed = Catalogue::built_in("paper-2009").unwrap();
    let stated = Catalogue::built_in("paper-2009-stated").unwrap();
    let mut differ = Vec::new();
    for (a, b) in printed.options.iter().zip(&stated.options) {
        for (quantity, figure) in &a.figures {
            let other = b.value(*quantity).unwrap();
            if figure.value.to_bits() != other.to_bits() {
                differ.push((a.name.as_str(), quantity.words(), figure.value, other));
            }
        }
    }
    let expected = [
        ("Traditional+Disk", "space", 10_000.0, 25_000.0),
        ("Traditional+SSD", "price", 8000.0, 7000.0),
        ("FAWN+SSD", "price", 500.0, 550.0),
    ];
    assert_eq!(differ, expected);
    let plan = plan("paper-2009-stated", &workload(10e12, 1e6, 1), 1.0);
    assert_eq!((plan.ranked[0].name.as_str(), plan.ranked[0].cost.total.value.round()), ("FAWN+SSD", 184_488.0));
}

#[test]
fn dht_table_2_follows_but_for_the_server() {
    let table = paper::dht_queries_a_joule();
    assert_eq!((discrepancies(&table), cell(&table, "Server")), (vec!["Server, queries a joule"], 1.5));
}

#[test]
fn dht_5_2_sizes_720_nodes() {
    let cluster = TwoTiers::of_720(0);
    assert_eq!((cluster.back_ends_a_front_end(), cluster.front_ends(), cluster.switches()), (115, 7, 45));
    assert_eq!((cluster.network_watts(), cluster.network_dollars()), (133.5, 3675.0));
    assert_eq!((cluster.watts(), cluster.dollars()), (5013.5, 199_395.0));
    assert_eq!((cluster.queries_per_second(), cluster.terabytes()), (506_880.0, 3.84));
    close_to(cluster.queries_per_second() / cluster.watts(), 101.1, 0.05);
    assert_eq!(discrepancies(&paper::dht_cluster()), ["4 TB of DRAM, dollars"]);
    assert_eq!(cell(&paper::dht_cluster(), "4 TB of DRAM"), 200_000.0);
}

#[test]
fn dht_5_2_leaves_its_switches_no_port_for_the_way_up() {
    assert_eq!(TwoTiers::of_720(1).switches(), 48);
    assert_eq!(TwoTiers::of_720(1).dollars(), 199_395.0 + 3.0 * 65.0);
}

#[test]
fn dht_tables_whose_inputs_are_not_there_are_said_to_differ() {
    assert_eq!(discrepancies(&paper::dht_cost()).len(), 2);
    let cache = paper::dht_cache();
    assert_eq!(discrepancies(&cache).len(), 1);
    close_to(cell(&cache, "1000 nodes"), 3536.8, 0.05);
}

#[test]
fn energy10_table_1_follows_from_its_inputs() {
    let table = paper::energy_queries_a_joule();
    assert_eq!((table.cells.len(), discrepancies(&table)), (4, vec![]));
    close_to(cell(&table, "Alix3c2"), 346.1, 0.05);
    close_to(cell(&table, "Server i7"), 317.0, 0.05);
    close_to(cell(&table, "Desktop i7"), 606.6, 0.05);
    close_to(cell(&table, "Atom"), 482.5, 0.05);
}

#[test]
fn energy10_tables_2_and_3_follow_but_for_the_watts_at_rest() {
    let table = paper::energy_joulesort();
    assert_eq!((table.cells.len(), discrepancies(&table)), (29, vec!["watts at rest, by parts"]));
    close_to(cell(&table, "run 1, energy"), 2242.70, 0.005);
    close_to(cell(&table, "run 5, records a joule"), 45_218.2, 0.05);
    close_to(cell(&table, "records a joule, mean"), 44_884.0, 0.05);
    close_to(cell(&table, "input, MB/s, deviation"), 9.626, 0.0005);
    close_to(cell(&table, "output, MB/s, mean"), 1064.6, 0.05);
    // Printed as 0.849: watts are rounded to a tenth.
    close_to(cell(&table, "power, W, deviation"), 0.828, 0.0005);
    close_to(cell(&table, "watts at rest"), 41.0, 1e-9);
    close_to(cell(&table, "seconds of reading and then writing"), 19.70, 0.005);
    let rounded: Vec<_> = table.cells.iter().filter(|cell| cell.agrees == Some(true) && cell.note.is_some()).collect();
    let of = |begins: &str| rounded.iter().filter(|cell| cell.what.starts_with(begins)).count();
    assert_eq!((of("run "), of("power, W, deviation"), rounded.len()), (5, 1, 8), "{rounded:?}");
}

#[test]
fn energy10_table_4_follows_from_its_inputs() {
    let table = paper::energy_cryptography();
    assert_eq!((table.cells.len(), discrepancies(&table)), (8, vec![]));
    close_to(cell(&table, "SHA-1, MB a joule, Atom"), 5.60, 0.005);
    close_to(cell(&table, "RSA, signatures a joule, Core i7"), 70.55, 0.005);
}

#[test]
fn every_cell_that_differs_says_why() {
    let tables = paper::tables();
    assert_eq!(tables.len(), 10);
    for cell in tables.iter().flat_map(PaperTable::discrepancies) {
        assert!(cell.note.is_some(), "{cell:?}");
    }
}
