//! Space comes back by itself: what was deleted, flushed or has expired is merged away without anybody asking.

use fawn_sim::flash::PowerCut;
use fawn_sim::store::{Extras, Machine};
use fawn_store::{Options, Refusal};

use crate::bare::Bare;
use crate::common::{tiny, value};

fn options() -> Options {
    Options { segment_bytes: 64 << 10, log_pages: 128, slices: 4, slice_bytes: 256 << 10, ..tiny() }
}

/// Fills a device of so many bytes until puts are refused; how many there are.
fn full(bytes: u64) -> (Machine, u64) {
    let mut machine = Machine::new(options(), 1).unwrap();
    machine.settle();
    let capacity = machine.flash().used_bytes() + bytes;
    machine.flash().set_capacity(capacity);
    let put = |machine: &mut Machine, number: u64| machine.put(format!("key-{number}").as_bytes(), &value(number, 900));
    let stored = (0..20_000).find(|&number| put(&mut machine, number) == Err(Refusal::NoSpace));
    (machine, stored.expect("the device is full at some time"))
}

/// Lets seconds pass, in each of which everything that is due is done.
fn wait(machine: &mut Machine, seconds: u64) {
    for _ in 0..seconds {
        machine.advance_clock(1000);
        machine.settle();
    }
}

fn puts_resume(machine: &mut Machine, count: u64) {
    for number in 0..count {
        machine
            .put(format!("again-{number}").as_bytes(), &value(number, 900))
            .unwrap_or_else(|refusal| panic!("{refusal} at {number}: {:?}", machine.stats()));
    }
    machine.restart().after_power_cut(PowerCut::Torn, 1).unwrap();
}

#[test]
fn puts_wait_for_merges_that_give_space_back() {
    let (mut machine, stored) = full(16 << 20);
    let deleted = stored / 4;
    for number in 0..deleted {
        assert!(machine.delete(format!("key-{number}").as_bytes()).unwrap());
    }
    wait(&mut machine, 30);
    // What is left is overwritten again and again, and nobody waits in between.
    for number in 0..stored * 2 {
        let name = format!("key-{}", deleted + number * 7 % (stored - deleted));
        machine
            .put(name.as_bytes(), &value(number, 900))
            .unwrap_or_else(|refusal| panic!("{refusal} at {number} of {stored}: {:?}", machine.stats()));
    }
}

#[test]
fn a_full_device_takes_puts_again_after_deletes() {
    let (mut machine, stored) = full(4 << 20);
    for number in 0..stored / 2 {
        assert!(machine.delete(format!("key-{}", number * 2).as_bytes()).unwrap());
    }
    wait(&mut machine, 30);
    puts_resume(&mut machine, stored / 4);
}

#[test]
fn a_full_device_takes_puts_again_after_a_flush() {
    let (mut machine, stored) = full(4 << 20);
    assert!(machine.flush_all().unwrap());
    wait(&mut machine, 30);
    puts_resume(&mut machine, stored / 2);
}

#[test]
fn a_full_device_takes_puts_again_after_a_flush_and_a_restart() {
    let (mut machine, stored) = full(4 << 20);
    assert!(machine.flush_all().unwrap());
    machine.restart().after_clean_stop().unwrap();
    assert!(machine.stats().entries <= stored / 10, "flushed entries are not counted: {:?}", machine.stats());
    wait(&mut machine, 30);
    puts_resume(&mut machine, stored / 2);
}

#[test]
fn a_full_device_takes_puts_again_when_records_expire() {
    let mut machine = Machine::new(options(), 1).unwrap();
    machine.settle();
    let capacity = machine.flash().used_bytes() + (4 << 20);
    machine.flash().set_capacity(capacity);
    let extras = Extras { expiry: machine.now() + 100, ..Extras::default() };
    let mut stored = 0;
    while machine.issue_put(format!("key-{stored}").as_bytes(), &value(stored, 900), extras).is_ok() {
        stored += 1;
        machine.settle();
    }
    wait(&mut machine, 130);
    puts_resume(&mut machine, stored / 2);
}

#[test]
fn everything_on_a_full_device_can_be_deleted() {
    for bytes in [4, 8, 16, 24] {
        let (mut machine, stored) = full(bytes << 20);
        for number in 0..stored {
            let deleted = machine.delete(format!("key-{number}").as_bytes());
            assert_eq!(deleted, Ok(true), "{number} of {stored}: {:?}", machine.stats());
        }
    }
}

/// A store that begins with few slices, each a large part of its data, and that merges do not divide.
fn young() -> Options {
    Options { slice_bytes: 16 << 20, drain: Some(false), ..options() }
}

#[test]
fn a_young_store_takes_overwrites_on_a_device_that_it_has_filled() {
    for percent in [60, 66, 70] {
        let sizes = Options { segment_bytes: 128 << 10, slices: 1, ..young() };
        let mut machine = Machine::new(sizes, 1).unwrap();
        machine.settle();
        let bytes = 24 << 20;
        let capacity = machine.flash().used_bytes() + bytes;
        machine.flash().set_capacity(capacity);
        let records = bytes * percent / 100 / 950;
        for number in 0..records * 3 {
            let record = if number < records { number } else { number * 7 % records };
            machine.put(format!("key-{record}").as_bytes(), &value(number, 900)).unwrap_or_else(|refusal| {
                panic!("{percent} %: {refusal} at {number} of {records}: {:?}", machine.stats())
            });
        }
        assert!(machine.stats().index.slices >= 4, "{:?}", machine.stats());
        machine.restart().after_power_cut(PowerCut::Torn, percent).unwrap();
    }
}

#[test]
fn slices_are_cut_no_further_than_the_device_calls_for() {
    let mut machine = Machine::new(young(), 1).unwrap();
    machine.settle();
    let capacity = machine.flash().used_bytes() + (16 << 20);
    machine.flash().set_capacity(capacity);
    let put = |machine: &mut Machine, number: u64| machine.put(format!("key-{number}").as_bytes(), &value(number, 900));
    assert!((0..4_000).all(|number| put(&mut machine, number).is_ok()));
    wait(&mut machine, 3);
    assert_eq!(machine.stats().index.slices, 4, "most of the device is free: {:?}", machine.stats());
    assert!((4_000..9_000).all(|number| put(&mut machine, number).is_ok()));
    wait(&mut machine, 3);
    assert_eq!(machine.stats().index.slices, 4, "more than its largest slice is free: {:?}", machine.stats());
    // Another program takes the rest.
    let used = machine.flash().used_bytes();
    machine.flash().set_capacity(used);
    wait(&mut machine, 5);
    let cut = machine.stats();
    assert!((32..=64).contains(&cut.index.slices), "no slice of four segments or fewer is cut: {cut:?}");
    assert_eq!((cut.writes.written.merged, cut.entries), (0, 9_000), "nothing was merged");
    (0..9_000u64).step_by(500).for_each(|number| {
        assert_eq!(&*machine.get(format!("key-{number}").as_bytes()).unwrap().unwrap().value, value(number, 900));
    });
}

#[test]
fn a_slice_of_which_keys_fill_a_small_part_is_not_merged_without_end() {
    // As of a node whose range begins or ends within a slice.
    let mut bare = Bare::new(Options { slice_bytes: 8 << 20, ..options() });
    let (slice, part) = (1u64 << 62, (1u64 << 62) / 50);
    let names = (0..).map(|number| format!("key-{number}"));
    let secret = bare.store.options().secret;
    let inside = |name: &String| (slice..slice + part).contains(&secret.position(name.as_bytes()).prefix());
    for (number, name) in names.filter(inside).take(3000).enumerate() {
        bare.put(name.as_bytes(), &value(number as u64, 40));
        if number % 500 == 499 {
            while bare.store.seal().is_err() {
                bare.pump();
            }
            assert!((0..100_000).any(|_| !bare.pump()), "it comes to no end: {:?}", bare.store.stats());
        }
    }
    assert_eq!(bare.store.stats().maintenance.merges, 0, "nothing is superseded");
}
