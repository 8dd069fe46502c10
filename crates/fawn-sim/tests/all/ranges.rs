//! A node's store of replicated ranges, against a model, with crashes.

use fawn_check::random::Random;
use fawn_kv::ids::{Attempt, Epoch, Position, RangeId, Seq};
use fawn_kv::range::entry::{Kept, Version};
use fawn_kv::store::{FlashStore, OpenedStore, RangeStore};
use fawn_ring::{Interval, Secret};
use fawn_sim::flash::{PowerCut, SimFlash};
use fawn_sim::ranges::{MachineCounts, RangeMachine};
use fawn_store::flash::{FileId, Flash as _};
use fawn_store::work::MaintenanceWork;
use fawn_store::{Options, Step, WrittenBatch};

/// Options under which everything happens often.
fn tiny(random: &mut Random) -> Options {
    Options {
        segment_bytes: (4 << random.below(4)) << 10,
        log_pages: random.within(10, 64),
        slices: random.within(1, 6) as u32,
        slice_bytes: 24 << 10,
        drain: Some(random.chance(1, 2)),
        miss_filter: random.clone().chance(1, 2),
        ..Options::new(Secret([7; 32]), 4 << 20)
    }
}

/// A number from the environment.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.replace('_', "").parse().expect("a number"))
}

#[test]
fn what_a_restart_finds_is_a_state_between_the_last_durable_write_and_the_last() {
    let mut all = MachineCounts::default();
    // In 680 a merge of records that are gone is taken back.
    for seed in (0..number("FAWN_RANGE_SEEDS", 200)).chain([680]) {
        let random = &mut Random::new(seed);
        let mut machine = RangeMachine::new(tiny(random), seed).unwrap();
        for _ in 0..8 {
            for _ in 0..random.below(400) {
                machine.step();
            }
            let restarted = match random.below(4) {
                0 => machine.stop(),
                1 => machine.crash(PowerCut::Lost),
                2 => machine.crash(PowerCut::Kept),
                _ => machine.crash(PowerCut::Torn),
            };
            restarted.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
        let seen = machine.seen();
        (all.seals, all.merges) = (all.seals + seen.seals, all.merges + seen.merges);
        all.waits += seen.waits;
    }
    assert!(all.seals > 1000 && all.merges > 200 && all.waits > 100, "everything happens: {all:?}");
}

#[test]
fn a_power_cut_at_every_write_point_leaves_what_was_durable() {
    let mut machine = RangeMachine::new(tiny(&mut Random::new(1)), 1).unwrap();
    machine.cut_everywhere();
    for _ in 0..number("FAWN_RANGE_OPERATIONS", 1200) {
        machine.step();
    }
    let points = machine.seen().points_cut;
    assert!(points > 300, "the trace has many write points: {points}");
}

#[test]
fn a_store_looks_after_itself_while_its_log_is_not_durable() {
    let flash = SimFlash::new(1);
    let OpenedStore { mut store, .. } = FlashStore::open(tiny(&mut Random::new(1)), &flash).unwrap();
    store.create(RangeId(1), Interval::ALL);
    for tick in 0..3 {
        store.tick();
        let mut looks = 0;
        while let Some(work) = store.take_work() {
            looks += u32::from(matches!(work, MaintenanceWork::Space { .. }));
        }
        assert_eq!(looks, 1, "tick {tick} looks at the device's space");
    }
    assert!(store.durable() < store.written());
}

#[test]
fn a_part_of_a_copy_that_finds_no_room_in_the_log_does_not_wait_for_the_end_of_a_rest() {
    let flash = SimFlash::new(1);
    let options = Options { rest_ms: 3_600_000, log_pages: 16, ..tiny(&mut Random::new(1)) };
    let OpenedStore { mut store, mut maintenance, .. } = FlashStore::open(options, &flash).unwrap();
    let (range, position) = (RangeId(1), Position { epoch: Epoch(1), seq: Seq(1) });
    store.create(range, Interval::ALL);
    let value = vec![1; store.longest_record() / 16];
    for part in 0..500u32 {
        let version = Version { value: value.clone(), flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
        let kept = [Kept { key: part.to_be_bytes().to_vec(), position, version: Some(version) }];
        // Other ranges write little all the time, so that the log is never at rest with nothing to write.
        let installs = (0..200).any(|round| {
            store.hold(range, Attempt(part * 1000 + round));
            let is_installed = store.install(range, &kept).is_some();
            if let Some(batch) = store.take_batch(1000) {
                let result = flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
                store.committed(WrittenBatch { batch, result });
            }
            while let Some(work) = store.take_work() {
                maintenance.submit(work);
            }
            if let Step::Event(event) = maintenance.step(&flash) {
                store.handle(event);
            }
            store.step(64);
            is_installed
        });
        assert!(installs, "part {part} finds room in an hour");
    }
}
