//! Years of the drives: by hand, with a rating of the catalogue, one of the user, and none.

use fawn_plan::drive_wear::{MEASURED, amplification};
use fawn_plan::store::record_bytes;
use fawn_plan::tables::{wear, wear_notes};
use fawn_plan::{Assumptions, Catalogue, Index, PurchasePlan, Quantity};

use crate::{assumptions, plan, workload};

const RATED: &str = r#"
name = "rated"
title = "A board with two disks that have a rating"
[sources.shop]
title = "a shop"
date = "2026-01"
[machines.board]
name = "Board"
price_dollars = { value = 100, kind = "vendor", source = "shop" }
watts_stress = { value = 10, kind = "vendor", source = "shop" }
network_mbit = { value = 1000, kind = "vendor", source = "shop" }
dram_gib = { value = 8, kind = "vendor", source = "shop" }
read_4k_per_second = { value = 90000, kind = "measured", source = "shop" }
[drives.disk]
name = "Disk"
price_dollars = { value = 50, kind = "vendor", source = "shop" }
gb = { value = 1000, kind = "vendor", source = "shop" }
tb_written = { value = 600, kind = "vendor", source = "shop" }
[[options]]
name = "Board + 2 disks"
machine = "board"
drive = "disk"
drives = 2
"#;

#[test]
fn years_are_the_rating_over_what_store_and_drive_write() {
    let catalogue = Catalogue::parse(RATED).unwrap();
    let assumptions = Assumptions { utilisation: 0.5, ..assumptions(&catalogue) };
    let plan = PurchasePlan::of(&catalogue, &workload(10e12, 1e5, 3), &assumptions);
    assert_eq!((plan.puts_per_second, plan.ranked[0].drive_wear), (None, None), "nobody has asked");
    let plan = plan.with_puts(20_000.0, Some(1.0));
    let choice = &plan.ranked[0];
    let found = choice.drive_wear.unwrap();
    let nodes = choice.sizing.nodes as f64;
    let full = 10e12 * 3.0 * record_bytes(1e3) / 1e3 / (nodes * 2e12);
    assert!((found.full - full).abs() < 1e-9 && (found.puts_a_node - 60_000.0 / nodes).abs() < 1e-9);
    let (store, ftl) = amplification(choice.sizing.index.unwrap(), full).unwrap();
    let rate = 60_000.0 / nodes * record_bytes(1e3) * store * ftl;
    assert_eq!(found.rating_bytes, Some(1200e12), "two disks; the catalogue's rating comes first");
    assert!((found.years.unwrap() * rate * 31_557_600.0 / 1200e12 - 1.0).abs() < 1e-9);
    let table = wear(&plan);
    assert!(table.rows[0][8].starts_with("≥ ") && table.rows[0][7] == "1.2 PB", "{table:?}");
    assert_eq!(wear_notes(&plan).len(), 3);
    let page = fawn_plan::page(&plan, None);
    assert!(page.contains("<h2>Years of the drives</h2>") && page.contains("1.2 PB"));
}

#[test]
fn each_row_says_whether_its_store_was_measured_indexed_or_drained() {
    let plan = plan("today", &workload(10e12, 1e6, 3), 0.75).with_puts(1e4, None);
    let rows = wear(&plan).rows;
    let of = |name: &str| rows.iter().find(|row| row[0] == name).unwrap();
    let (drained, indexed) = (of("Raspberry Pi 5 8 GB + NVMe 2 TB"), of("Raspberry Pi 5 8 GB + NVMe 1 TB"));
    assert_eq!((drained[2].as_str(), indexed[2].as_str()), ("drained", "indexed"));
    for choice in &plan.ranked {
        let found = choice.drive_wear.unwrap();
        assert_eq!(Some(found.index), choice.sizing.index);
        let measured = amplification(found.index, found.full).map(|(store, _)| store);
        assert_eq!(found.store_amplification, measured, "the word is of what was measured");
    }
    let notes = wear_notes(&plan);
    for word in ["indexed: ", "drained: "] {
        assert!(notes.iter().any(|note| note.starts_with(word)), "{word}: {notes:?}");
    }
}

#[test]
fn a_drive_without_a_rating_lasts_nobody_knows_how_long() {
    let of_today = plan("today", &workload(10e12, 1e6, 3), 0.5);
    assert!(of_today.ranked.iter().all(|choice| !choice.figures.contains_key(&Quantity::TbWritten)));
    let unknown = of_today.clone().with_puts(1e5, None);
    let choice = &unknown.ranked[0];
    assert!(choice.drive_wear.unwrap().programmed_bytes_per_second.is_some());
    assert_eq!(choice.drive_wear.unwrap().years, None);
    assert_eq!(wear(&unknown).rows[0][8], "not known");
    assert!(wear_notes(&unknown).iter().any(|note| note.contains("give it with --tbw")));
    let given = of_today.with_puts(1e5, Some(600.0));
    assert!(given.ranked.iter().all(|choice| choice.drive_wear.unwrap().years.is_some_and(|years| years > 0.0)));
}

#[test]
fn a_catalogue_of_stated_rates_has_no_store_of_ours() {
    let stated = plan("paper-2009", &workload(10e12, 1e6, 1), 1.0).with_puts(1e5, Some(600.0));
    assert_eq!(stated.puts_per_second, None);
    assert!(stated.ranked.iter().all(|choice| choice.drive_wear.is_none()));
    assert!(wear_notes(&stated).is_empty() && wear(&stated).rows.is_empty());
}

#[test]
fn a_fuller_drive_and_a_drained_store_write_more() {
    for pair in MEASURED.windows(2).filter(|pair| pair[0].index == pair[1].index) {
        assert!(0.98 * pair[0].store * pair[0].ftl <= pair[1].store * pair[1].ftl, "{pair:?}");
    }
    assert!(amplification(Index::Indexed, 0.7).is_some() && amplification(Index::Indexed, 0.76).is_none());
    let crammed = plan("today", &workload(10e12, 1e6, 3), 0.95).with_puts(1e5, Some(600.0));
    let wear = crammed.ranked[0].drive_wear.unwrap();
    assert!(wear.full > 0.75 && wear.years.is_none(), "nothing was measured of drives so full: {wear:?}");
    assert!(wear_notes(&crammed).iter().any(|note| note.contains("give a lower --util")));
    let product = |index, full| amplification(index, full).map(|(store, ftl)| store * ftl);
    assert!(product(Index::Drained, 0.5) > product(Index::Indexed, 0.5));
}
