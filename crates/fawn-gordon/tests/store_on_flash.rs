//! Stores on a simulated drive: what FAWN's store reads back is right, after power cuts too; amplification within stated bounds.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::rc::Rc;

use fawn_gordon::flash::presets::preset;
use fawn_gordon::store::clients::{Clients, TrialPhase};
use fawn_gordon::store::disk::SimulatedDisk;
use fawn_gordon::store::fawn::{FawnRun, FawnServer};
use fawn_gordon::store::settings::store_options;
use fawn_gordon::store::store_run::StoreRun;
use fawn_gordon::store::{DriveSettings, StoreDesign, StoreResult, StoreWorkload, run};
use fawn_plan::Index;
use fawn_plan::drive_wear::amplification;
use fawn_store::Options;

fn drive(bytes: u64) -> DriveSettings {
    DriveSettings::of(preset("femu-default").unwrap(), bytes)
}

fn small() -> StoreWorkload {
    StoreWorkload { records: 40_000, value_bytes: 200, warm_up: 2.0, measured: 0.5, ..StoreWorkload::default() }
}

fn tried(workload: &StoreWorkload, drive: &DriveSettings, design: StoreDesign) -> StoreResult {
    run(workload, drive, design, &mut |_| {}).unwrap()
}

fn fawn(workload: &StoreWorkload, bytes_a_record: u64) -> StoreDesign {
    StoreDesign::Fawn { memory_bytes: workload.records * bytes_a_record }
}

/// A store whose segments seal and whose slices merge every few hundred puts.
fn tiny_options() -> Options {
    let mut options = store_options(1 << 20);
    (options.segment_bytes, options.log_pages, options.slices, options.slice_bytes) = (32 << 10, 48, 3, 96 << 10);
    options
}

/// Opens the store on what a power cut left, and compares each record with what was acknowledged and issued.
fn check_after_cut(disk: SimulatedDisk, clients: &Clients, records: u64) -> Vec<u32> {
    let mut recovered = FawnRun::open(disk, tiny_options(), Clients::new(*clients.workload())).unwrap();
    let found = (0..records).map(|index| {
        let found = recovered.version(index).unwrap_or_else(|error| panic!("record {index}: {error}")).unwrap_or(0);
        let (acknowledged, issued) = (clients.acknowledged(index), clients.issued(index));
        assert!(
            (acknowledged..=issued).contains(&found),
            "record {index} has version {found}; {acknowledged} was acknowledged, {issued} issued"
        );
        found
    });
    found.collect()
}

/// FTL recovery and then the store's recovery, at many events of a run with seals, merges and cleaning under way.
#[test]
fn what_was_acknowledged_is_found_after_a_power_cut_of_the_drive() {
    let workload = StoreWorkload {
        records: 1_500,
        value_bytes: 100,
        get_share: 0.2,
        warm_up: 4.0,
        measured: 4.0,
        ..StoreWorkload::default()
    };
    for trim in [true, false] {
        survives(&workload, trim);
    }
}

fn survives(workload: &StoreWorkload, trim: bool) {
    let disk = SimulatedDisk::new(&DriveSettings { trim, ..drive(6 << 20) }, true, true).unwrap();
    let mut running = FawnRun::open(disk, tiny_options(), Clients::new(*workload)).unwrap();
    let cuts = Rc::new(RefCell::new((0_u64, 0_u64)));
    let counted = Rc::clone(&cuts);
    running.world().set_probe(Box::new(move |disk: &SimulatedDisk, server: &Option<FawnServer>| {
        let (events, cuts) = &mut *counted.borrow_mut();
        *events += 1;
        if let Some(server) = server
            && events.is_multiple_of(499)
        {
            *cuts += 1;
            check_after_cut(disk.after_power_cut(*events).unwrap(), server.clients(), 1_500);
        }
    }));
    for phase in [TrialPhase::Load, TrialPhase::WarmUp, TrialPhase::Measure] {
        running.begin(phase);
        running.run(&mut |_| {}).unwrap();
    }
    let stats = running.store_stats().unwrap();
    let (copied, erased) = running.look(|_, disk| {
        let counts = disk.device().translation().counts();
        (counts.copied, counts.blocks.erased)
    });
    let (events, cuts) = *cuts.borrow();
    println!("{events} events, {cuts} cuts, {:?}, {copied} pages copied, {erased} blocks erased", stats.maintenance);
    assert!(cuts > 40, "{cuts} cuts in {events} events");
    assert!(stats.maintenance.seals > 10 && stats.maintenance.merges > 10, "{:?}", stats.maintenance);
    assert!(erased > 50 && (trim || copied > 50), "{copied} pages copied, {erased} blocks erased");
}

/// Restart after restart, each on what the last power cut left.
#[test]
fn a_store_goes_on_after_power_cuts_in_a_row() {
    let workload =
        StoreWorkload { records: 1_000, value_bytes: 100, get_share: 0.3, warm_up: 1.0, ..StoreWorkload::default() };
    let mut disk = SimulatedDisk::new(&drive(6 << 20), true, true).unwrap();
    let mut clients = Clients::new(workload);
    for round in 0..12_u64 {
        let mut running = FawnRun::open(disk, tiny_options(), clients).unwrap();
        running.begin(if round == 0 { TrialPhase::Load } else { TrialPhase::Measure });
        // So many turns, then the power fails, whatever is under way.
        for _ in 0..300 + 97 * round {
            running.turn().unwrap();
        }
        let (cut, known) = running.look(|clients, disk| {
            let known = Clients::knowing(clients);
            (disk.after_power_cut(round).unwrap(), known)
        });
        let again = running.look(|_, disk| disk.after_power_cut(round).unwrap());
        clients = known;
        for (index, version) in (0..).zip(check_after_cut(again, &clients, workload.records)) {
            clients.found_after_power_cut(index, version);
        }
        disk = cut;
    }
    assert!((0..workload.records).map(|index| u64::from(clients.acknowledged(index))).sum::<u64>() > 2_000);
}

#[test]
fn fawn_s_store_writes_twice_and_what_cleaning_takes_and_every_get_is_right() {
    let workload = small();
    let bytes = workload.live_bytes() * 3;
    let indexed = tried(&workload, &drive(bytes), fawn(&workload, 60));
    assert_eq!(indexed.mode, Some("indexed"));
    let written = indexed.written.unwrap();
    // The log and the seal each write every record once, with page headers and padding.
    assert!(written.log > 1.0 && written.sealed > 0.9 && written.merged > 0.5, "{written:?}");
    assert!((3.0..6.5).contains(&indexed.store_amplification), "{indexed:?}");
    assert!((1.0..1.6).contains(&indexed.ftl_amplification), "{indexed:?}");
    let product = indexed.store_amplification * indexed.ftl_amplification;
    assert!((product / indexed.amplification - 1.0).abs() < 1e-9);
    assert!(indexed.pages_per_get.unwrap() < 1.2, "{indexed:?}");
    assert_eq!(indexed.gets.unwrap().count + indexed.puts.unwrap().count, 40_000);
}

#[test]
fn a_drained_store_takes_less_dram_and_programs_more_flash() {
    let workload = small();
    let bytes = workload.live_bytes() * 3;
    let [indexed, drained] = [60, 10].map(|dram| tried(&workload, &drive(bytes), fawn(&workload, dram)));
    assert_eq!((indexed.mode, drained.mode), (Some("indexed"), Some("drained")));
    assert!(drained.amplification > 1.2 * indexed.amplification, "{drained:?}");
    assert!(drained.index_bytes_per_record.unwrap() < 0.6 * indexed.index_bytes_per_record.unwrap());
}

/// A page of 4 KiB for each put, less those that puts of one page share; the FTL adds what uniform random writes cost.
#[test]
fn pages_in_place_program_a_page_for_each_put() {
    let workload = StoreWorkload { clients: 16, ..small() };
    let result = tried(&workload, &drive(workload.live_bytes() * 3), StoreDesign::PageStore);
    let whole = 4_096.0 / workload.user_bytes() as f64;
    assert!((0.9 * whole..=whole).contains(&result.store_amplification), "{whole} {result:?}");
    assert!((1.0..2.0).contains(&result.ftl_amplification), "{result:?}");
    assert_eq!(result.pages_per_get, Some(1.0));
}

/// The log and the flush once each, then each of the levels rewrites a record some times: at most the size ratio and one, a level.
#[test]
fn leveled_compaction_writes_within_its_bounds() {
    let workload = StoreWorkload { clients: 256, ..small() };
    let bytes = workload.live_bytes() * 5;
    let result = tried(&workload, &drive(bytes), StoreDesign::Lsm { memtable_bytes: 64 << 10 });
    // Three levels below level 0: 400, 4,000 and 40,000 keys.
    assert!((5.0..2.0 + 3.0 * 11.0 + 1.0).contains(&result.store_amplification), "{result:?}");
    let larger = tried(&workload, &drive(bytes), StoreDesign::Lsm { memtable_bytes: 1 << 20 });
    assert!(larger.store_amplification < result.store_amplification, "a larger table saves levels");
    assert!(result.pages_per_get.unwrap() < 1.2, "{result:?}");
}

#[test]
fn trim_and_spare_space_save_what_the_ftl_copies() {
    let workload = StoreWorkload { get_share: 0.0, ..small() };
    let bytes = workload.live_bytes() * 3;
    let of = |spare_factor, trim| {
        let drive = DriveSettings { spare_factor, trim, ..drive(bytes) };
        tried(&workload, &drive, fawn(&workload, 60))
    };
    let (with, without, spacious) = (of(0.07, true), of(0.07, false), of(0.25, false));
    assert!(with.ftl_amplification < without.ftl_amplification, "{with:?} {without:?}");
    assert!(spacious.ftl_amplification < without.ftl_amplification, "{spacious:?} {without:?}");
    assert!(
        (with.store_amplification / without.store_amplification - 1.0).abs() < 0.15,
        "the store writes about the same"
    );
}

/// A row of what `fawn plan` reckons with, as the example `store_tables` measures it.
#[test]
fn a_plan_reckons_with_what_is_simulated() {
    let (index, full) = (Index::Indexed, 0.45);
    let workload =
        StoreWorkload { records: 100_000, get_share: 0.0, warm_up: 2.0, measured: 0.5, ..StoreWorkload::default() };
    let drive = DriveSettings { spare_factor: 0.07, ..drive((workload.live_bytes() as f64 / full) as u64) };
    let result = tried(&workload, &drive, StoreDesign::Fawn { memory_bytes: 4_800_000 });
    let of_a_record = workload.user_bytes() as f64 / workload.record_bytes() as f64;
    let (store, ftl) = amplification(index, full).unwrap();
    let is_near = |found: f64, stated: f64| (found / stated - 1.0).abs() < 0.05;
    assert!(is_near(result.store_amplification * of_a_record, store), "{store}: {result:?}");
    assert!(is_near(result.ftl_amplification, ftl), "{ftl}: {result:?}");
}

#[test]
fn equal_seeds_give_equal_results() {
    let workload = StoreWorkload { records: 20_000, rate_per_s: Some(20_000.0), ..small() };
    let once = || tried(&workload, &drive(workload.live_bytes() * 5), fawn(&workload, 60));
    let (first, second) = (once(), once());
    assert_eq!(first, second);
    assert!(first.operations_per_s < 21_000.0, "{first:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let workload = small();
    let refused = run(&workload, &drive(10_000_000), StoreDesign::PageStore, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.contains("do not fit a drive of 10000000 bytes"), "{refused}");
    let large = StoreWorkload { value_bytes: 65_536, records: 1_000, ..workload };
    let refused = run(&large, &drive(1 << 30), fawn(&large, 16), &mut |_| {}).unwrap_err().to_string();
    assert!(refused.starts_with("the number of bytes of a value is 65536; it must be from 8 to"), "{refused}");
}

#[test]
fn years_follow_from_the_rating_and_are_not_known_without_one() {
    let workload = StoreWorkload { records: 20_000, ..small() };
    let rated = DriveSettings { rated_erases: Some(3_000), ..drive(workload.live_bytes() * 5) };
    let result = tried(&workload, &rated, fawn(&workload, 60));
    let years = result.years(&workload, &rated, 1_000.0, Some(600e12));
    let per_second = 1_000.0 * 220.0 * result.amplification;
    let full = rated.preset.design.geometry.bytes() as f64;
    assert!((years.by_erases.unwrap() * 31_557_600.0 * per_second / (full * 3_000.0) - 1.0).abs() < 1e-9);
    assert!((years.by_tbw.unwrap() * 31_557_600.0 * per_second / 600e12 - 1.0).abs() < 1e-9);
    let unrated = DriveSettings { rated_erases: None, ..rated };
    assert_eq!(result.years(&workload, &unrated, 1_000.0, None).by_erases, None);
}
