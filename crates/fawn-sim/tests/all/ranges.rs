//! A node's store of replicated ranges, against a model, with crashes.

use fawn_check::random::Random;
use fawn_kv::ids::RangeId;
use fawn_kv::store::{FlashStore, OpenedStore, RangeStore};
use fawn_ring::{Interval, Secret};
use fawn_sim::flash::{PowerCut, SimFlash};
use fawn_sim::ranges::{MachineCounts, RangeMachine};
use fawn_store::Options;
use fawn_store::work::MaintenanceWork;

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
