//! Tables 7 and 8, and §6.3, as printed and as they come out.

use fawn_gordon::survey::catalogue::SurveyRatings;
use fawn_gordon::survey::cost::copies::{CopiedData, FlashNode, NodeDemand, SleepingServer};
use fawn_gordon::survey::cost::petabyte::{
    DIMM, FLASH_CARD, PETABYTE_GB, PRINTED_TABLE_8, PROCESSOR, PetabyteCost, SATA_DISK, StorageServer, TABLE_7,
    catalogue_costs, servers,
};
use fawn_gordon::survey::cost::report::{CostQuestion, CostReport};
use fawn_gordon::survey::cost::schedule::{DaySchedule, ScheduleError};
use fawn_gordon::survey::cost::sleeping::{all_in_flash, one_in_flash};
use fawn_gordon::survey::cost::slices::{PAPER_SLICE, SliceJob, hiding_seconds_per_gb, run_jobs};
use fawn_gordon::survey::cost::tables::{self, copies, nodes_copies, nodes_slices, slices, table_7, table_8};
use fawn_plan::Catalogue;

fn ours() -> [PetabyteCost; 4] {
    servers().map(|server| PetabyteCost::of(&server, PETABYTE_GB))
}

#[test]
fn table_7_has_its_parts() {
    assert_eq!(TABLE_7.len(), 8);
    assert_eq!((SATA_DISK.dollars, DIMM.gb, PROCESSOR.watts), (129.0, Some(4.0), 60.0));
    assert_eq!(table_7().rows.len(), 8);
}

#[test]
fn table_8_servers_come_out_with_2_to_the_20_gigabytes_and_rounding() {
    let is = ours().map(|cost| cost.servers);
    let up = is.map(f64::ceil);
    let near = is.map(f64::round);
    let printed = PRINTED_TABLE_8.map(|row| f64::from(row.servers));
    assert_eq!([up[0], up[1], near[2], near[3]], printed, "memory and flash are rounded up, SAS disks to the nearest");
    assert!((is[2] - 218.45).abs() < 0.01, "218 servers do not quite hold the petabyte");
}

/// Documented difference: four slots for flash cards are stated, and three are in the printed numbers.
#[test]
fn four_cards_a_server_as_stated_give_1638_servers() {
    let four = StorageServer { media: 4, ..servers()[1] };
    assert_eq!(PetabyteCost::of(&four, PETABYTE_GB).servers.round(), 1638.0);
}

#[test]
fn table_8_non_media_costs_come_out_with_these_processors_and_modules() {
    let costs = ours().map(|cost| cost.other_dollars);
    assert!((costs[0] / 41.45e6 - 1.0).abs() < 1e-3, "{costs:?}");
    assert!((costs[2] / 627.4e3 - 1.0).abs() < 1e-3 && (costs[3] / 125.5e3 - 1.0).abs() < 1e-3, "{costs:?}");
    let shares = ours().map(|cost| cost.other_cost_share());
    assert!((shares[0] - 0.450).abs() < 0.001 && (shares[1] - 0.223).abs() < 0.001, "{shares:?}");
    assert!((shares[2] - 0.35).abs() < 0.005, "{shares:?}");
    // $3.75 M of flash servers are printed as $3M: truncated, as $41.45 M and $125.5 K are.
    assert!((costs[1] / 3.754e6 - 1.0).abs() < 1e-3, "{costs:?}");
}

#[test]
fn table_8_media_costs_come_out_but_for_sata_disks() {
    let media = ours().map(|cost| cost.media_dollars);
    assert!((media[0] / 50.6e6 - 1.0).abs() < 1e-3 && (media[1] / 13.1e6 - 1.0).abs() < 1e-3, "{media:?}");
    assert!((media[2] / 1.2e6 - 1.0).abs() < 0.02, "{media:?}");
    // Documented difference: 44 servers full of 16 disks at $129 are $90.8 K; $100 K is printed.
    assert!((44.0 * 16.0 * SATA_DISK.dollars - 90_816.0).abs() < 1e-6);
    assert!((media[3] / 90.2e3 - 1.0).abs() < 1e-3 && media[3] < 0.91 * PRINTED_TABLE_8[3].media_dollars);
    // With the printed $100 K the share would be 56 %; 54 % is printed.
    let share = ours()[3].other_dollars / (ours()[3].other_dollars + 100e3);
    assert!((share - 0.556).abs() < 0.001 && (ours()[3].other_cost_share() - 0.582).abs() < 0.001);
}

/// Documented difference: by Table 7's watts, the servers whose costs come out do not have the printed shares of power.
/// For flash and disks no other number of processors and modules gives a row's share of cost and of power at once. For
/// memory one does, and its cost is another than the printed $41 M.
#[test]
fn the_printed_shares_of_power_do_not_come_out() {
    let powers = ours().map(|cost| cost.other_power_share());
    let expected = [0.709, 0.852, 0.420, 0.390];
    for (at, power) in powers.into_iter().enumerate() {
        assert!((power - expected[at]).abs() < 0.001, "{powers:?}");
        assert!((power - PRINTED_TABLE_8[at].other_power_share).abs() > 0.025, "{powers:?}");
    }
    for (server, printed) in servers().into_iter().zip(PRINTED_TABLE_8) {
        let mut found = Vec::new();
        for processors in 0..=8 {
            for modules in 0..=24 {
                let other = StorageServer { processors, modules, ..server };
                let cost = PetabyteCost::of(&other, PETABYTE_GB);
                let cost_fits = (cost.other_cost_share() - printed.other_cost_share).abs() <= 0.006;
                let power_fits = (cost.other_power_share() - printed.other_power_share).abs() <= 0.006;
                if cost_fits && power_fits {
                    found.push((processors, modules, cost.other_dollars));
                }
            }
        }
        let is_memory = printed.medium == "4GB DIMMs";
        assert_eq!(found.len(), usize::from(is_memory), "{}: {found:?}", printed.medium);
    }
}

/// The question of the paper: a petabyte, three copies, slices of 64 nodes over two links of 1 Gbit/s.
fn question(bytes: f64) -> CostQuestion {
    CostQuestion {
        data: CopiedData { bytes, copies: 3, changed_bytes_per_day: 0.0, wakes_per_day: 1.0 },
        server: SleepingServer {
            watts_asleep: 5.0,
            wake_seconds: 30.0,
            ..SleepingServer::of(&servers()[3], 80e6, 125e6)
        },
        losses_per_year: 0.04,
        activity: 0.0,
        slice_nodes: 64,
        link_bytes_per_second: 250e6,
        job: SliceJob { input_bytes: 5e12, output_bytes: 0.0, scratch_bytes: 4e12, compute_seconds: 20_000.0 },
    }
}

fn report(bytes: f64) -> CostReport {
    answer(&question(bytes)).unwrap()
}

fn answer(question: &CostQuestion) -> Result<CostReport, ScheduleError> {
    CostReport::of(question, &Catalogue::built_in("today").unwrap(), &SurveyRatings::today())
}

#[test]
fn tables_show_the_paper_beside_ours() {
    let table = table_8(&report(PETABYTE_GB * 1e9).table_8);
    assert_eq!(table.rows.len(), 8);
    assert_eq!(table.rows[2][2..5], ["2,185", "$13,000,000", "$3,000,000"]);
    assert_eq!(table.rows[3][2..5], ["2,184.5", "$13,107,200", "$3,753,028"]);
    assert_eq!(FLASH_CARD.gb, Some(160.0));
    let table = table_8(&report(1e12).table_8);
    assert_eq!(table.rows.len(), 4, "nothing is printed for another amount");
    assert_eq!(table.rows[3][..3], ["SATA Disks", "computed", "0.0"]);
}

#[test]
fn copies_and_slices_are_reckoned_for_the_papers_node_and_for_todays() {
    let report = report(PETABYTE_GB * 1e9);
    let names: Vec<&str> = report.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names[..2], ["Gordon node (paper)", "Raspberry Pi 5 8 GB + NVMe 1 TB"]);
    for node in &report.nodes {
        assert!(node.one_in_flash.joules_per_year < 0.6 * node.all_in_flash.joules_per_year, "{}", node.name);
        assert!(
            node.one_in_flash.recovery_seconds - node.all_in_flash.recovery_seconds <= 30.0 + 1e-9,
            "{}",
            node.name
        );
    }
    let (gordon, pi) = (&report.nodes[0], &report.nodes[1]);
    assert_eq!(gordon.all_in_flash.flash_nodes, 12_288, "4,096 nodes of 256 GB for each copy");
    assert_eq!((gordon.all_in_flash.dollars, pi.all_in_flash.flash_nodes), (None, 3146));
    assert_eq!(gordon.overlapped.compute_share, 1.0, "4 s for each GB");
    assert!((gordon.slice.watts / (64.0 * 19.0) - 1.0).abs() < 1e-9 && report.hiding_seconds_per_gb == 4.0);
    assert!(report.left_out.iter().any(|it| it.name == "Thelio Astra + NVMe 1 TB"));
    assert_eq!(nodes_copies(&report.nodes).rows.len(), 2 * report.nodes.len());
    assert_eq!(nodes_slices(&report.nodes).rows[1][0], "  overlapped");
}

#[test]
fn what_is_not_answered_by_the_data_alone_is_noted() {
    let asked = question(1e12);
    let has = |report: &CostReport, what: &str| report.notes.iter().any(|note| note.contains(what));
    let report = answer(&asked).unwrap();
    assert!(report.nodes.iter().all(|node| node.all_in_flash.flash_nodes >= 3), "a terabyte fits on one node");
    assert!(!has(&report, "nothing recovers") && has(&report, "fewer disk servers would hold the data"), "{report:?}");
    let kinds = "each copy is on another one: Raspberry Pi 5 8 GB + NVMe 2 TB; Compute Module 5 4 GB + NVMe 2 TB";
    assert!(has(&report, kinds), "a 1 TB node holds one copy: {:?}", report.notes);
    let alone = CostQuestion { data: CopiedData { copies: 1, ..asked.data }, ..asked };
    let report = answer(&alone).unwrap();
    assert!(has(&report, "with one copy nothing recovers") && !has(&report, "fewer"), "{:?}", report.notes);
    assert_eq!(nodes_copies(&report.nodes).rows.len(), report.nodes.len(), "none is asleep");
    assert_eq!(nodes_copies(&report.nodes).rows[0][6], "impossible");
    // Two disk servers take 10.8 TB a day, and four of these nodes write three copies of it.
    let busy = CopiedData { changed_bytes_per_day: 10.7e12, ..asked.data };
    let report = answer(&CostQuestion { data: busy, ..asked }).unwrap();
    assert_eq!(report.nodes[2].all_in_flash.flash_demand, NodeDemand::Writes, "{:?}", report.nodes[2]);
    assert!(has(&report, "could not write what changes: Raspberry Pi 5 8 GB + NVMe 1 TB"), "{:?}", report.notes);
    let lost = CostQuestion { losses_per_year: 1.0, ..question(1e18) };
    assert!(has(&answer(&lost).unwrap(), "keep the disks awake all the time: every kind of node"));
    let report = answer(&question(1e15)).unwrap();
    assert!(!has(&report, "fewer") && !has(&report, "awake all") && !has(&report, "with one copy"), "{report:?}");
}

#[test]
fn a_question_whose_day_is_too_long_has_no_answer() {
    let asked = question(1e15);
    let data = CopiedData { changed_bytes_per_day: 100e15, ..asked.data };
    let refused = answer(&CostQuestion { data, ..asked }).unwrap_err();
    assert!(matches!(refused, ScheduleError::Taking { servers: 84.0, .. }), "{refused:?}");
    let alone = CopiedData { copies: 1, ..data };
    assert!(answer(&CostQuestion { data: alone, ..asked }).is_ok(), "nothing goes to disks");
}

#[test]
fn a_petabyte_on_todays_nodes_has_its_price_or_says_that_it_is_unknown() {
    let catalogue = Catalogue::built_in("today").unwrap();
    let costs = catalogue_costs(&catalogue, 1e6);
    let pi = costs.iter().find(|cost| cost.name == "Raspberry Pi 5 8 GB + NVMe 1 TB").unwrap();
    assert_eq!((pi.nodes, pi.dollars, pi.lacks_drive_watts), (1000, Some(245_000.0), true));
    assert!((pi.watts_idle.unwrap() - 2800.0).abs() < 1e-6);
    assert!(costs.iter().any(|cost| cost.name == "AWS i4i.large" && cost.dollars.is_none()));
    let table = tables::catalogue(&costs);
    assert_eq!(table.rows[0][0], "Orange Pi 5 + NVMe 1 TB", "the cheapest first");
    assert_eq!(table.rows.last().unwrap()[2], "unknown");
    assert!(table.rows[0][3].ends_with("without drives"));
}

#[test]
fn sleeping_copies_and_slices_are_shown() {
    let data = CopiedData { bytes: 64e12, copies: 3, changed_bytes_per_day: 1e12, wakes_per_day: 1.0 };
    let node = FlashNode {
        bytes: 256e9,
        write_bytes_per_second: 900e6,
        network_bytes_per_second: 125e6,
        watts: 6.0,
        dollars: None,
        losses_per_year: 0.04,
    };
    let server =
        SleepingServer { watts_asleep: 5.0, wake_seconds: 30.0, ..SleepingServer::of(&servers()[3], 80e6, 125e6) };
    let schedule = DaySchedule::of(&data, &server).unwrap();
    let (flash, disk) = (all_in_flash(&data, &node), one_in_flash(&data, &node, &server, &schedule));
    let table = copies(&[("all in flash", flash), ("one in flash", disk)]);
    assert_eq!((table.rows[0][1].as_str(), table.rows[1][2].as_str()), ("750", "6"));
    assert_eq!(table.rows[1][5], "unknown");
    assert!(disk.joules_per_year < 0.5 * flash.joules_per_year);
    let job = SliceJob { input_bytes: 10e12, output_bytes: 1e12, scratch_bytes: 1e12, compute_seconds: 36_000.0 };
    let table =
        slices(&[("in turn", run_jobs(&PAPER_SLICE, &job, false)), ("overlapped", run_jobs(&PAPER_SLICE, &job, true))]);
    assert_eq!(table.rows[0][1], "11.1 h");
    assert!(table.rows[1][7].ends_with("does not fit"));
}

#[test]
fn slices_load_for_11_hours_and_hide_it_behind_4_seconds_a_gigabyte() {
    assert!((PAPER_SLICE.bytes() / 16e12 - 1.0).abs() < 0.03, "16 TB");
    let job = SliceJob { input_bytes: 10e12, output_bytes: 0.0, scratch_bytes: 4e12, compute_seconds: 20_000.0 };
    let run = run_jobs(&PAPER_SLICE, &job, false);
    assert!((run.load_seconds / 3600.0 - 11.1).abs() < 0.02 && run.fits);
    assert_eq!((hiding_seconds_per_gb(&PAPER_SLICE), run.seconds_per_job), (4.0, 60_000.0));
    assert!((PAPER_SLICE.link_share() - 0.0043).abs() < 0.0001, "0.4 % of the bandwidth");
    // Two jobs of 10 TB do not fit at once; of half the size they do.
    assert!(!run_jobs(&PAPER_SLICE, &job, true).fits);
    let half = SliceJob { input_bytes: 5e12, compute_seconds: 20_000.0, ..job };
    let overlapped = run_jobs(&PAPER_SLICE, &half, true);
    assert!(overlapped.fits && overlapped.compute_share == 1.0, "4 s for each GB hide the load: {overlapped:?}");
    assert_eq!(overlapped.joules_per_job, 64.0 * 19.0 * 20_000.0);
    let idle = run_jobs(&PAPER_SLICE, &SliceJob { compute_seconds: 10_000.0, ..half }, true);
    assert_eq!((idle.seconds_per_job, idle.compute_share), (20_000.0, 0.5));
}

/// Documented difference: 112 GB/s are printed for a slice of 64 nodes; 900 MB/s a node give 57.6.
#[test]
fn a_slice_of_64_nodes_has_57_6_gigabytes_a_second() {
    assert!((PAPER_SLICE.bytes_per_second() / 57.6e9 - 1.0).abs() < 1e-12);
    assert!(112e9 / PAPER_SLICE.bytes_per_second() > 1.9);
}

#[test]
fn flash_of_one_node_costs_1280_dollars_and_disks_of_its_bandwidth_draw_far_more() {
    let flash = fawn_gordon::survey::paper::flash();
    assert_eq!(flash.price_dollars, Some(1280.0));
    // $4,500 of SAS disks are thirteen, 68 MB/s each for 900 MB/s, and draw 198 W; the flash's own dies draw 2.56 W. The
    // paper says 100 times.
    let disks = 4500.0 / 340.0;
    let times = disks * 15.0 / flash.watts.read;
    assert!((70.0..110.0).contains(&times), "{times}");
}
