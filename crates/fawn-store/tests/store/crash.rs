//! Power cut at every write point of a trace, with what was not synced lost, kept, torn and reordered.

use fawn_check::random::Random;
use fawn_sim::flash::{PowerCut, SimFlash};
use fawn_sim::store::{Machine, Oracle};
use fawn_store::{Ack, Options, Refusal, Store};

use crate::common::{for_seeds, number, tiny, tiny_with, value};
use crate::script::{Script, random_options, random_pace};

/// Runs the trace of `seed` until the device crashes after `points` write points. `None` when the trace ends first.
fn run_until_crash(options: &Options, seed: u64, steps: u64, points: u64) -> Option<Machine> {
    let mut random = Random::new(seed);
    let mut machine = Machine::new(options.clone(), seed).unwrap();
    machine.set_pace(random_pace(&mut random));
    machine.flash().crash_after(points);
    let mut script = Script::new(&mut random, false);
    for _ in 0..steps {
        script.step(&mut machine);
        if machine.is_down() {
            return Some(machine);
        }
        assert_eq!(machine.store().stopped(), None);
    }
    None
}

/// Cuts the power at every write point of a trace and goes on from all that may be left. Returns the number of points.
fn cut_everywhere(options: &Options, seed: u64, steps: u64) -> u64 {
    for points in 0.. {
        let Some(machine) = run_until_crash(options, seed, steps, points) else {
            return points;
        };
        let cuts = [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn, PowerCut::Torn, PowerCut::Torn];
        for (number, cut) in cuts.into_iter().enumerate() {
            let cut_seed = points * 8 + number as u64;
            let mut recovered = machine
                .fork_after_power_cut(cut, cut_seed)
                .unwrap_or_else(|why| panic!("write point {points}, cut {cut:?} {cut_seed}: {why}"));
            go_on(&mut recovered, options, cut, cut_seed);
        }
    }
    unreachable!("a trace ends")
}

/// A recovered store is a whole one: it takes changes, crashes again, stops and opens.
fn go_on(machine: &mut Machine, options: &Options, cut: PowerCut, seed: u64) {
    let mut script = Script::new(&mut Random::new(seed), false);
    for _ in 0..5 {
        script.step(machine);
    }
    if seed.is_multiple_of(2) {
        machine.restart().after_power_cut(cut, seed).unwrap_or_else(|why| panic!("a second crash, {options:?}: {why}"));
    } else {
        machine
            .restart()
            .after_clean_stop()
            .unwrap_or_else(|why| panic!("a clean stop after a crash, {options:?}: {why}"));
    }
}

#[test]
fn what_is_left_of_any_power_cut_is_a_prefix_with_everything_acknowledged() {
    for_seeds("crash", 0, number("FAWN_CRASH_TRACES", 2), |seed| {
        let points = cut_everywhere(&tiny(), seed, 200);
        assert!(points > 30, "a trace of {points} write points shows little");
    });
}

#[test]
fn traces_with_other_options_survive_power_cuts_everywhere() {
    for_seeds("crash, other options", 1000, number("FAWN_CRASH_TRACES", 2), |seed| {
        let options = random_options(&mut Random::new(seed));
        cut_everywhere(&options, seed, 60);
    });
}

/// Fills a small device by a store of one slice, which is cut again and again, until the device crashes after `points` write
/// points. The number of slices when the trace ends first.
fn fill_until_crash(points: u64, drain: bool) -> Result<Machine, u64> {
    let sizes = Options { segment_bytes: 32 << 10, log_pages: 64, slices: 1, slice_bytes: 4 << 20, ..tiny() };
    let options = Options { drain: Some(drain), ..sizes };
    let mut machine = Machine::new(options, 1).unwrap();
    let capacity = machine.flash().used_bytes() + (2 << 20);
    machine.flash().set_capacity(capacity);
    machine.flash().crash_after(points);
    for number in 0..400u64 {
        let name = format!("key-{}", number % 330);
        let put = machine.issue_put(name.as_bytes(), &value(number, 1500), fawn_sim::store::Extras::default());
        let may_be = matches!(put, Ok(_) | Err(Refusal::NoSpace)) || machine.is_down();
        assert!(may_be, "{put:?} at {number}: {:?}", machine.stats());
        if number % 20 == 19 && !machine.is_down() {
            machine.sync_log();
            machine.advance_clock(1000);
            machine.settle();
        }
        if machine.is_down() {
            return Ok(machine);
        }
    }
    Err(machine.stats().index.slices)
}

#[test]
fn power_that_fails_while_slices_are_cut_for_want_of_space_loses_nothing() {
    for drain in [false, true] {
        for points in 0.. {
            let machine = match fill_until_crash(points, drain) {
                Ok(machine) => machine,
                Err(slices) => {
                    assert!(points > 60 && slices >= 4, "{points} write points, {slices} slices");
                    break;
                }
            };
            for (number, cut) in [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn].into_iter().enumerate() {
                let seed = points * 4 + number as u64;
                let mut recovered = machine
                    .fork_after_power_cut(cut, seed)
                    .unwrap_or_else(|why| panic!("write point {points}, cut {cut:?} {seed}: {why}"));
                recovered.flash().set_capacity(1 << 40);
                recovered.advance_clock(1000);
                recovered.settle();
                go_on(&mut recovered, &tiny(), cut, seed);
            }
        }
    }
}

#[test]
fn a_power_cut_while_a_store_is_made_leaves_none_or_a_whole_one() {
    for points in 0.. {
        let flash = SimFlash::new(1);
        flash.crash_after(points);
        if Store::open(tiny(), &flash, 1_000_000_000).is_ok() {
            assert!(points > 3, "a store is made durable step by step");
            return;
        }
        assert!(flash.has_crashed());
        for seed in 0..20 {
            for cut in [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn] {
                let flash = flash.clone();
                flash.power_cut(cut, seed);
                let mut machine = Machine::on(flash, tiny(), seed, Oracle::default())
                    .unwrap_or_else(|error| panic!("after {points} write points, {cut:?} {seed}: {error}"));
                machine.put(b"key", b"value").unwrap();
                machine.restart().after_power_cut(PowerCut::Lost, seed).unwrap();
                assert_eq!(&*machine.get(b"key").unwrap().unwrap().value, b"value");
            }
        }
    }
}

#[test]
fn power_that_fails_again_and_again_during_recovery_loses_nothing() {
    let mut machine = Machine::new(tiny(), 5).unwrap();
    let mut script = Script::new(&mut Random::new(5), false);
    for _ in 0..300 {
        script.step(&mut machine);
    }
    machine.sync_log();
    let issued = machine.oracle().issued();
    for points in 0..60 {
        let mut forked = machine.fork_after_power_cut(PowerCut::Torn, points).unwrap();
        for again in 0..4 {
            let state = forked.restart().after_two_power_cuts(PowerCut::Torn, points * 8 + again, points).unwrap();
            assert_eq!(state, issued, "everything was synced");
        }
    }
}

#[test]
fn a_deleted_key_stays_deleted_whatever_is_merged_and_whenever_power_fails() {
    let mut machine = Machine::new(tiny(), 9).unwrap();
    for round in 0..40u64 {
        for number in 0..30u64 {
            machine
                .issue_put(format!("d{number}").as_bytes(), &[round as u8; 100], fawn_sim::store::Extras::default())
                .unwrap();
        }
        for number in 0..30u64 {
            assert!(machine.delete(format!("d{number}").as_bytes()).unwrap());
        }
        machine.restart().after_power_cut(PowerCut::Torn, round).unwrap();
        for number in 0..30u64 {
            assert_eq!(machine.get(format!("d{number}").as_bytes()).unwrap(), None, "round {round}");
        }
        if round % 7 == 3 {
            assert!(machine.compact_and_wait());
        }
    }
}

#[test]
fn a_store_opens_with_smaller_segments_than_the_records_in_its_log() {
    for segment_bytes in [4 << 10, 8 << 10, 16 << 10] {
        let options = Options { segment_bytes: 64 << 10, log_pages: 64, ..tiny() };
        let mut machine = Machine::new(options.clone(), 1).unwrap();
        for number in 0..9u64 {
            let len = if number % 3 == 1 { 15_000 } else { 300 };
            machine.put(format!("key{number}").as_bytes(), &value(number, len)).unwrap();
        }
        machine.restart().set_options(Options { segment_bytes, ..options });
        for seed in 0..2 {
            let state = machine.restart().after_power_cut(PowerCut::Torn, seed).unwrap();
            assert_eq!(state, 9, "everything was acknowledged");
        }
        machine.put(b"key1", b"small").unwrap();
        machine.restart().after_clean_stop().unwrap();
    }
}

#[test]
fn what_the_interval_covers_survives_and_the_rest_is_a_prefix() {
    // Each opening takes a page of the log.
    let options = Options { log_pages: 200, ..tiny_with(Ack::Interval { ms: 10 }) };
    let mut machine = Machine::new(options, 3).unwrap();
    for round in 0..50u64 {
        for number in 0..10 {
            machine.try_put(format!("i{number}").as_bytes(), format!("{round}").as_bytes()).unwrap();
        }
        let state = machine.oracle().issued();
        if round % 2 == 0 {
            machine.advance_clock(0);
            machine.turn_log();
            machine.advance_clock(10);
            // A page of its own may go before the batch.
            (0..6).for_each(|_| machine.turn_log());
            let left = machine.fork_after_power_cut(PowerCut::Lost, round).unwrap();
            assert_eq!(left.oracle().issued(), state, "10 ms have passed and the batch is written");
        }
        machine.restart().after_power_cut(PowerCut::Torn, round).unwrap();
    }
}
