//! Large values: the files that hold them live exactly as long as a record that somebody may see names them.

use fawn_sim::flash::PowerCut;
use fawn_sim::store::{Extras, Machine};
use fawn_store::Ack;
use fawn_store::check::check;
use fawn_store::flash::{FileId, Flash};

use crate::common::{tiny_with, value};

fn value_files(machine: &Machine) -> usize {
    machine.flash().list().unwrap().iter().filter(|(file, _)| matches!(file, FileId::Value(_))).count()
}

/// A large value that expires soon, sealed.
fn sealed_large(machine: &mut Machine) -> Vec<u8> {
    let large = value(7, 9000);
    let soon = machine.now() + 2;
    machine.issue_put(b"large", &large, Extras { expiry: soon, ..Extras::default() }).unwrap();
    machine.seal().unwrap();
    machine.settle();
    large
}

/// Everything that can happen to the file of a value that was touched, after its first record expired and was merged.
fn goes_on(mut machine: Machine, large: &[u8]) {
    let check =
        |machine: &mut Machine| assert_eq!(&*machine.get(b"large").unwrap().expect("it was touched").value, large);
    check(&mut machine);
    for seed in 0..3 {
        machine.restart().after_power_cut(PowerCut::Torn, seed).unwrap();
        check(&mut machine);
        assert!(machine.compact_and_wait());
        machine.settle();
        check(&mut machine);
        machine.seal().unwrap();
        machine.settle();
    }
    machine.restart().after_clean_stop().unwrap();
    check(&mut machine);
    assert!(machine.delete(b"large").unwrap());
    machine.seal().unwrap();
    machine.settle();
    assert!(machine.compact_and_wait());
    machine.settle();
    assert_eq!(value_files(&machine), 0, "no record names it any more");
}

#[test]
fn a_check_reports_value_files_that_are_missing_and_none_that_nobody_needs() {
    for is_sealed in [true, false] {
        let mut machine = Machine::new(tiny_with(Ack::Durable), 3).unwrap();
        for round in 0..3u64 {
            for number in 0..3u64 {
                machine.put(format!("large{number}").as_bytes(), &value(round, 9000)).unwrap();
            }
            // Of what was superseded, the stubs are left, the files are not.
            machine.seal().unwrap();
            machine.settle();
        }
        machine.put(b"last", &value(7, 9000)).unwrap();
        if is_sealed {
            machine.seal().unwrap();
            machine.settle();
        }
        machine.restart().after_power_cut(PowerCut::Lost, 0).unwrap();
        machine.settle();
        let sound = check(machine.flash(), |_, _| {}).unwrap();
        assert_eq!(sound.damage, []);
        let lost = machine.flash().list().unwrap().into_iter().map(|(file, _)| file).max().unwrap();
        assert!(matches!(lost, FileId::Value(_)), "{lost:?}");
        machine.flash().lose(lost);
        let found: Vec<FileId> =
            check(machine.flash(), |_, _| {}).unwrap().damage.into_iter().map(|damage| damage.file).collect();
        assert_eq!(found, [lost], "sealed: {is_sealed}");
    }
}

#[test]
fn a_touched_value_keeps_its_file_when_its_first_record_expires_and_is_merged() {
    for ack in [Ack::Durable, Ack::Interval { ms: 5 }] {
        let mut machine = Machine::new(tiny_with(ack), 1).unwrap();
        let large = sealed_large(&mut machine);
        assert!(machine.issue_touch(b"large", 0).unwrap());
        machine.sync_log();
        machine.advance_clock(3000);
        assert!(machine.compact_and_wait());
        machine.settle();
        goes_on(machine, &large);
    }
}

#[test]
fn a_touched_value_keeps_its_file_when_the_touch_is_sealed_beside_the_merge() {
    // The touch is sealed at every moment of the merge, from before its beginning to after its end.
    let mut within = 0;
    for turns in 0..40 {
        let mut machine = Machine::new(tiny_with(Ack::Durable), turns).unwrap();
        let large = sealed_large(&mut machine);
        assert!(machine.issue_touch(b"large", 0).unwrap());
        machine.sync_log();
        machine.advance_clock(3000);
        machine.store().compact();
        for _ in 0..turns {
            machine.turn_maintenance();
        }
        within += u64::from(machine.store().upkeep().is_cleaning());
        machine.seal().unwrap();
        for _ in 0..turns * 3 % 40 {
            machine.turn();
        }
        machine.turn_until(|machine| !machine.store().upkeep().is_cleaning());
        machine.settle();
        goes_on(machine, &large);
    }
    assert!(within > 5, "{within} of the seals begin within the merge");
}
