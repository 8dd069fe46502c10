//! A device that fails: reads and writes with EIO, syncs that fail, no space, maintenance that cannot keep up.

use fawn_sim::flash::{Fault, PowerCut};
use fawn_sim::store::{Extras, Failure, Machine, Pace};
use fawn_store::{Ack, Options, Refusal};

use crate::common::{for_seeds, machine, tiny, tiny_with, value};

fn fill(machine: &mut Machine, keys: u64, len: usize) {
    for number in 0..keys {
        machine.issue_put(format!("key-{number}").as_bytes(), &value(number, len), Extras::default()).unwrap();
    }
}

#[test]
fn a_read_that_fails_is_an_error_and_the_next_one_works() {
    let mut machine = machine(1);
    fill(&mut machine, 300, 100);
    machine.seal().unwrap();
    machine.restart().stop();
    machine.restart().reopen().unwrap();
    machine.settle();
    let mut failures = 0;
    for number in 0..300u64 {
        let name = format!("key-{number}");
        machine.flash().inject(Fault::Read { nth: 0 });
        match machine.get(name.as_bytes()) {
            Err(Failure::Flash(_)) => failures += 1,
            other => assert!(other.is_ok(), "{other:?}"),
        }
        machine.flash().clear_faults();
        assert_eq!(&*machine.get(name.as_bytes()).unwrap().unwrap().value, value(number, 100));
    }
    assert!(failures > 250, "sealed records are read from flash: {failures}");
    assert_eq!(machine.store().stopped(), None, "a failed read stops nothing");
}

#[test]
fn a_merge_whose_reads_fail_leaves_everything_as_it_was() {
    for nth in 0..40 {
        let mut machine = machine(nth);
        fill(&mut machine, 200, 100);
        machine.seal().unwrap();
        machine.settle();
        machine.flash().inject(Fault::Read { nth });
        machine.compact_and_wait();
        machine.flash().clear_faults();
        assert_eq!(machine.store().stopped(), None, "read {nth}");
        for number in 0..200u64 {
            assert!(machine.get(format!("key-{number}").as_bytes()).unwrap().is_some());
        }
        assert!(machine.compact_and_wait(), "a later merge works");
        machine.restart().after_power_cut(PowerCut::Torn, nth).unwrap();
    }
}

#[test]
fn a_failed_sync_stops_the_store_and_acknowledges_nothing_more() {
    for_seeds("failed syncs", 0, 60, |seed| {
        let mut machine = machine(seed);
        machine.settle();
        machine.flash().inject(Fault::Sync { nth: seed });
        let mut acknowledged = 0;
        let refused = (0..2000u64).any(|number| {
            match machine.put(format!("key-{}", number % 50).as_bytes(), &value(number, 120)) {
                Ok(_) if machine.store().stopped().is_none() => {
                    acknowledged += 1;
                    false
                }
                Ok(_) => true,
                Err(refusal) => {
                    assert!(matches!(refusal, Refusal::Stopped(_)), "{refusal}");
                    true
                }
            }
        });
        assert!(refused, "the {seed}th sync is among those of {acknowledged} puts");
        let why = machine.store().stopped().expect("the store has stopped").to_owned();
        assert!(why.contains("EIO"), "the message names the cause: {why}");
        let durable = machine.store().durable();
        assert!(matches!(machine.put(b"later", b""), Err(Refusal::Stopped(_))));
        assert!(matches!(machine.delete(b"later"), Err(Refusal::Stopped(_))));
        (0..500).for_each(|_| machine.turn());
        assert_eq!(machine.store().durable(), durable, "a failed sync is never tried again");
        machine.restart().after_power_cut(PowerCut::Torn, seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        machine.put(b"later", b"works again").unwrap();
    });
}

#[test]
fn a_failed_write_stops_the_store_and_loses_nothing_acknowledged() {
    for_seeds("failed writes", 0, 60, |seed| {
        let mut machine = machine(seed);
        machine.settle();
        machine.flash().inject(Fault::Write { nth: seed });
        let stopped = (0..2000u64).any(|number| {
            let put = machine.put(format!("key-{}", number % 50).as_bytes(), &value(number, 120));
            put.is_err() || machine.store().stopped().is_some()
        });
        // A write of maintenance that fails may leave the store running; then nothing is lost either.
        if stopped {
            assert!(machine.store().stopped().is_some());
        }
        machine.restart().after_power_cut(PowerCut::Torn, seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    });
}

#[test]
fn failing_syncs_of_names_lose_nothing_acknowledged() {
    for_seeds("failed syncs of names", 0, 20, |seed| {
        let mut machine = machine(seed);
        machine.settle();
        machine.flash().inject(Fault::SyncNames { nth: seed });
        for number in 0..1500u64 {
            if machine.put(format!("key-{}", number % 50).as_bytes(), &value(number, 120)).is_err() {
                break;
            }
        }
        machine.restart().after_power_cut(PowerCut::Torn, seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    });
}

#[test]
fn a_full_device_refuses_puts_and_goes_on_with_reads_and_deletes() {
    let options = Options { segment_bytes: 64 << 10, log_pages: 128, slices: 4, slice_bytes: 256 << 10, ..tiny() };
    let mut machine = Machine::new(options, 1).unwrap();
    machine.settle();
    let capacity = machine.flash().used_bytes() + (5 << 20);
    machine.flash().set_capacity(capacity);
    let mut stored = 0u64;
    let refusal = loop {
        match machine.put(format!("key-{stored}").as_bytes(), &value(stored, 900)) {
            Ok(_) => stored += 1,
            Err(refusal) => break refusal,
        }
        assert!(stored < 20_000, "the device is full at some time");
    };
    assert_eq!(refusal, Refusal::NoSpace);
    assert!(stored * 900 > 2 << 20, "half of the space is used before puts are refused: {stored} values of 900 B");
    machine.settle();
    assert_eq!(machine.store().stopped(), None);
    for number in 0..stored {
        assert_eq!(&*machine.get(format!("key-{number}").as_bytes()).unwrap().unwrap().value, value(number, 900));
    }
    for number in 0..stored / 2 {
        assert!(machine.delete(format!("key-{number}").as_bytes()).unwrap(), "deletes use the reserve");
    }
    assert!(machine.compact_and_wait(), "so do merges: {:?}", machine.store().stopped());
    machine.settle();
    for number in 0..stored / 4 {
        machine
            .put(format!("again-{number}").as_bytes(), &value(number, 900))
            .unwrap_or_else(|refusal| panic!("puts resume when space is back: {refusal} at {number}"));
    }
    machine.restart().after_power_cut(PowerCut::Torn, 1).unwrap();
}

/// A store whose buffers are full of what there is no space to seal; returns how many keys it took.
fn full_to_the_brim(ack: Ack) -> (Machine, u64) {
    let options = Options { segment_bytes: 64 << 10, log_pages: 512, slices: 4, ..tiny_with(ack) };
    let mut machine = Machine::new(options, 1).unwrap();
    let mut stored = 0u64;
    let put = |machine: &mut Machine, number: u64| {
        machine.issue_put(format!("key-{number}").as_bytes(), &value(number, 100), Extras::default())
    };
    while stored < 1000 {
        put(&mut machine, stored).unwrap();
        stored += 1;
    }
    machine.settle();
    let capacity = machine.flash().used_bytes();
    machine.flash().set_capacity(capacity);
    while put(&mut machine, stored).is_ok() {
        stored += 1;
    }
    machine.sync_log();
    machine.settle();
    assert_eq!(machine.store().stopped(), None);
    assert!(machine.store().upkeep().waits_for_space(), "{:?}", machine.stats());
    (machine, stored)
}

fn check_all(machine: &mut Machine, stored: u64) {
    for number in 0..stored {
        assert_eq!(&*machine.get(format!("key-{number}").as_bytes()).unwrap().unwrap().value, value(number, 100));
    }
}

#[test]
fn a_store_on_a_full_device_opens_reads_refuses_and_stops() {
    for ack in [Ack::Durable, Ack::Interval { ms: 5 }] {
        let (mut machine, stored) = full_to_the_brim(ack);
        for round in 0..3 {
            check_all(&mut machine, stored);
            assert_eq!(machine.put(b"more", &[1; 100]).unwrap_err(), Refusal::NoSpace);
            let refused = (0..3000).find_map(|number| machine.delete(format!("none-{number}").as_bytes()).err());
            assert_eq!(refused, Some(Refusal::NoSpace), "deletes do not wait for ever");
            assert_eq!(machine.store().seal(), Err(Refusal::NoSpace));
            machine.sync_log();
            if round == 1 {
                machine.restart().after_clean_stop().unwrap();
            } else {
                machine.restart().after_power_cut(PowerCut::Torn, round).unwrap();
            }
        }
        let capacity = machine.flash().used_bytes() + (4 << 20);
        machine.flash().set_capacity(capacity);
        machine.advance_clock(1000);
        machine.settle();
        machine.put(b"more", &[1; 100]).unwrap();
        assert!(machine.delete(b"key-0").unwrap());
        machine.restart().after_clean_stop().unwrap();
    }
}

#[test]
fn a_stop_without_space_for_what_is_in_memory_alone_says_so() {
    let (mut machine, stored) = full_to_the_brim(Ack::Memory);
    check_all(&mut machine, stored);
    assert_eq!(machine.store().seal(), Err(Refusal::NoSpace));
    machine.store().hurry();
    machine.settle();
    assert!(!machine.store().is_idle() && machine.store().cannot_stop_cleanly());
    let capacity = machine.flash().used_bytes() + (4 << 20);
    machine.flash().set_capacity(capacity);
    assert!(machine.turn_until(|machine| machine.store().is_idle()));
    assert!(!machine.store().cannot_stop_cleanly());
}

#[test]
fn stores_that_share_a_device_leave_each_other_their_reserves() {
    let mut left = Vec::new();
    for count in [1, 4] {
        let options = Options { segment_bytes: 32 << 10, log_pages: 64, slices: 4, count, ..tiny() };
        let segment = options.segment_bytes as u64;
        let mut machine = Machine::new(options, 1).unwrap();
        machine.settle();
        let capacity = machine.flash().used_bytes() + (4 << 20);
        machine.flash().set_capacity(capacity);
        let mut stored = 0u64;
        while machine.put(format!("key-{stored}").as_bytes(), &value(stored, 900)).is_ok() {
            stored += 1;
        }
        machine.settle();
        // Two segments, what may be unsealed in three, the largest slice.
        let free = capacity - machine.flash().used_bytes();
        assert!(free > u64::from(count) * 4 * segment, "{count} stores leave {free}");
        left.push(free);
    }
    assert!(left[1] > 2 * left[0], "{left:?}");
}

#[test]
fn puts_resume_when_the_device_grows() {
    let mut machine = machine(2);
    machine.settle();
    let capacity = machine.flash().used_bytes() + (1 << 20);
    machine.flash().set_capacity(capacity);
    let put = |machine: &mut Machine, number: u64| machine.put(format!("key-{number}").as_bytes(), &value(number, 900));
    let full = (0..5000).find(|&number| put(&mut machine, number).is_err()).expect("the device is full at some time");
    machine.flash().set_capacity(capacity + (8 << 20));
    let resumed = (0..2000).any(|_| {
        machine.advance_clock(1000);
        machine.settle();
        put(&mut machine, full).is_ok()
    });
    assert!(resumed, "space that comes back from outside is noticed");
    for number in full..full + 1000 {
        put(&mut machine, number).unwrap();
    }
}

#[test]
fn space_that_runs_out_at_any_write_loses_nothing_acknowledged() {
    for_seeds("no space", 0, 40, |seed| {
        let mut machine = machine(seed);
        machine.settle();
        // Less than the store knows: another program fills the device behind its back.
        let used = machine.flash().used_bytes();
        machine.flash().set_capacity(used + (200 << 10));
        for number in 0..600u64 {
            if number == 100 {
                let used = machine.flash().used_bytes();
                machine.flash().set_capacity(used + seed * 4096);
            }
            match machine.put(format!("key-{}", number % 97).as_bytes(), &value(number, 300)) {
                Err(Refusal::NoSpace | Refusal::Stopped(_)) => break,
                Err(refusal) => panic!("seed {seed}: {refusal}"),
                Ok(_) => {}
            }
        }
        machine.flash().set_capacity(used + (64 << 20));
        machine.restart().after_power_cut(PowerCut::Torn, seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        machine.put(b"later", b"works again").unwrap();
    });
}

#[test]
fn maintenance_that_cannot_keep_up_makes_puts_busy_and_never_grows_the_buffers() {
    let options = tiny();
    let segment = options.segment_bytes as u64;
    let mut machine = Machine::new(tiny_with(Ack::Memory), 1).unwrap();
    machine.settle();
    machine.set_pace(Pace { log: 1, maintenance: 0, install: 0, gets: 1 });
    let mut taken = 0u64;
    let refusal = loop {
        match machine.try_put(format!("key-{taken}").as_bytes(), &[1; 100]) {
            Ok(_) => taken += 1,
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(refusal, Refusal::Busy);
    assert!(machine.stats().buffers.bytes < 8 * segment, "{:?}", machine.stats());
    assert!(taken * 100 < 4 * segment, "{taken}");
    // One seal makes room for one more segment, no more.
    machine.set_pace(Pace::EVEN);
    machine.settle();
    machine.try_put(b"more", &[1; 100]).unwrap();
    for number in 0..taken {
        assert!(machine.get(format!("key-{number}").as_bytes()).unwrap().is_some());
    }
}

#[test]
fn a_slow_commit_log_makes_puts_busy_and_bounds_what_is_unsynced() {
    let mut machine = machine(1);
    machine.settle();
    let mut taken = 0u64;
    // Nobody writes batches: the log's batch or ring fills.
    while machine.try_put(format!("key-{taken}").as_bytes(), &[1; 100]).is_ok() {
        taken += 1;
        assert!(taken < 10_000);
    }
    assert_eq!(machine.try_put(b"key", &[1; 100]).unwrap_err(), Refusal::Busy);
    machine.settle();
    machine.try_put(b"key", &[1; 100]).unwrap();
}
