//! When answers leave: after the sync that covers them, and not before.

use fawn_sim::flash::{Operation, PowerCut};
use fawn_sim::store::{Extras, Machine};
use fawn_store::flash::FileId;
use fawn_store::{Ack, Gate, Lookup};

use crate::common::{machine, tiny_with};

const LOG: FileId = FileId::CommitLog;

fn log_operations(machine: &Machine) -> Vec<&'static str> {
    let name = |operation| match operation {
        Operation::Write { file: LOG, .. } => Some("write"),
        Operation::Sync { file: LOG } => Some("sync"),
        _ => None,
    };
    machine.flash().take_trace().into_iter().filter_map(name).collect()
}

#[test]
fn a_put_is_acknowledged_after_the_write_and_the_sync_that_cover_it() {
    let mut machine = machine(1);
    machine.settle();
    machine.flash().start_trace();
    for number in 0..200u64 {
        let appended = machine.issue_put(b"key", &number.to_le_bytes(), Extras::default()).unwrap();
        assert!(machine.store().durable() < appended.gate, "nothing was written yet");
        assert_eq!(log_operations(&machine), Vec::<&str>::new());
        assert!(machine.wait_for(appended.gate));
        assert_eq!(log_operations(&machine), ["write", "sync"], "put {number}");
    }
}

#[test]
fn one_sync_covers_all_puts_of_a_batch() {
    let mut machine = machine(1);
    machine.settle();
    machine.flash().start_trace();
    let mut last = Gate::NONE;
    for number in 0..20u64 {
        last = machine.issue_put(&number.to_le_bytes(), b"value", Extras::default()).unwrap().gate;
    }
    assert!(machine.wait_for(last));
    assert_eq!(log_operations(&machine), ["write", "sync"]);
}

#[test]
fn an_answer_that_shows_an_unsynced_version_waits_for_its_sync() {
    let mut machine = machine(1);
    machine.put(b"key", b"old").unwrap();
    let key = machine.store().options().secret.position(b"key");
    let now = machine.now();
    let put = machine.issue_put(b"key", b"new", Extras::default()).unwrap();
    match machine.store().lookup(&key, b"key", now) {
        Lookup::Found { record, gate } => assert_eq!((record.value, gate), (&b"new"[..], put.gate)),
        other => panic!("the open segment knows the key: {other:?}"),
    }
    assert!(machine.wait_for(put.gate));
    let delete = machine.issue_delete(b"key").unwrap();
    match machine.store().lookup(&key, b"key", now) {
        Lookup::Absent { gate } => assert_eq!(gate, delete.gate),
        other => panic!("the open segment knows that the key is deleted: {other:?}"),
    }
    assert!(machine.store().durable() < delete.gate);
}

#[test]
fn a_flush_all_is_acknowledged_after_its_sync_and_survives_from_then_on() {
    let mut machine = machine(1);
    machine.put(b"key", b"value").unwrap();
    let gate = machine.issue_flush_all().unwrap();
    assert!(machine.store().durable() < gate);
    assert!(machine.wait_for(gate));
    machine.restart().after_power_cut(PowerCut::Lost, 0).unwrap();
    assert_eq!(machine.get(b"key").unwrap(), None);
}

#[test]
fn in_interval_mode_answers_leave_at_once_and_a_sync_follows_in_time() {
    let mut machine = Machine::new(tiny_with(Ack::Interval { ms: 50 }), 1).unwrap();
    machine.settle();
    machine.flash().start_trace();
    let appended = machine.issue_put(b"key", b"value", Extras::default()).unwrap();
    assert!(appended.gate <= machine.store().durable());
    machine.turn_log();
    assert!(machine.store().log().batch_deadline_ms().is_some(), "the owner is told when to come back");
    machine.advance_clock(49);
    machine.turn_log();
    assert_eq!(log_operations(&machine), Vec::<&str>::new(), "49 ms: not yet");
    machine.advance_clock(1);
    (0..3).for_each(|_| machine.turn_log());
    assert_eq!(log_operations(&machine), ["write", "sync"], "50 ms");
    assert_eq!(machine.store().log().batch_deadline_ms(), None);
    machine.restart().after_power_cut(PowerCut::Lost, 0).unwrap();
    assert_eq!(&*machine.get(b"key").unwrap().unwrap().value, b"value");
}

#[test]
fn in_memory_mode_the_commit_log_takes_no_records_and_a_seal_makes_them_durable() {
    let mut machine = Machine::new(tiny_with(Ack::Memory), 1).unwrap();
    machine.settle();
    machine.flash().start_trace();
    for number in 0..300u64 {
        machine.put(&number.to_le_bytes(), &[1; 50]).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
    let records = log_operations(&machine);
    assert!(records.len() < 20, "a few entries about ranges at most: {records:?}");
    let issued = machine.oracle().issued();
    assert_eq!(machine.restart().after_power_cut(PowerCut::Lost, 0).unwrap(), issued, "sealed records are durable");
}

#[test]
fn a_scheduled_flush_all_survives_restarts_and_covers_what_was_stored_before_it_falls_due() {
    for cut in [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn] {
        let mut machine = machine(1);
        machine.put(b"sealed", b"1").unwrap();
        machine.seal().unwrap();
        machine.settle();
        machine.put(b"logged", b"2").unwrap();
        let due = machine.now() + 10;
        assert!(machine.flush_all_at(due).unwrap());
        machine.put(b"between", b"3").unwrap();
        machine.restart().after_power_cut(cut, 1).unwrap();
        for name in [&b"sealed"[..], b"logged", b"between"] {
            assert!(machine.get(name).unwrap().is_some(), "it is not due yet");
        }
        machine.advance_clock(10_000);
        machine.put(b"after", b"4").unwrap();
        for round in 0..3 {
            for name in [&b"sealed"[..], b"logged", b"between"] {
                assert_eq!(machine.get(name).unwrap(), None, "{cut:?}, round {round}");
            }
            assert!(machine.get(b"after").unwrap().is_some(), "{cut:?}, round {round}");
            machine.restart().after_power_cut(cut, round).unwrap();
            machine.seal().unwrap();
            assert!(machine.compact_and_wait());
        }
    }
}

#[test]
fn a_flush_that_falls_due_while_the_store_is_down_is_carried_out_when_it_opens() {
    let mut machine = machine(1);
    machine.put(b"key", b"value").unwrap();
    let due = machine.now() + 10;
    assert!(machine.flush_all_at(due).unwrap());
    machine.restart().stop();
    machine.advance_clock(10_000);
    machine.restart().reopen().unwrap();
    assert_eq!(machine.get(b"key").unwrap(), None);
    machine.put(b"key", b"new").unwrap();
    machine.restart().after_power_cut(PowerCut::Lost, 1).unwrap();
    assert_eq!(&*machine.get(b"key").unwrap().unwrap().value, b"new");
}

#[test]
fn an_answer_that_shows_an_unsynced_flush_waits_for_its_sync() {
    for sealed in [false, true] {
        let mut machine = machine(1);
        for number in 0..20u64 {
            machine.put(&number.to_le_bytes(), b"value").unwrap();
        }
        if sealed {
            machine.seal().unwrap();
            machine.settle();
        }
        let flushed = machine.issue_flush_all().unwrap();
        // Whoever is told that a key is gone must not find it again after a power cut.
        assert_eq!(machine.get(&7u64.to_le_bytes()).unwrap(), None);
        if machine.store().durable() < flushed {
            let left =
                machine.fork_after_power_cut(PowerCut::Lost, 1).map(|left| left.oracle().alive(1_000_000_000).len());
            panic!("the answer left before the flush was durable (sealed: {sealed}); left: {left:?}");
        }
    }
}

#[test]
fn no_second_that_a_clock_can_show_flushes_a_store_that_is_not_to_be_flushed() {
    let mut machine = machine(1);
    machine.put(b"sealed", b"1").unwrap();
    machine.seal().unwrap();
    machine.settle();
    machine.put(b"logged", b"2").unwrap();
    let (now, secret) = (machine.now(), machine.store().options().secret);
    for second in [0, now, u32::MAX - 1, u32::MAX, now] {
        for name in [&b"sealed"[..], b"logged"] {
            let lookup = machine.store().lookup(&secret.position(name), name, second);
            assert!(!matches!(lookup, Lookup::Absent { .. }), "at {second}: {lookup:?}");
            if let Lookup::Read(read) = lookup {
                machine.store().abandon(read);
            }
        }
        machine.store().tick(second, true);
    }
    machine.settle();
    for _ in 0..2 {
        for name in [&b"sealed"[..], b"logged"] {
            assert!(machine.get(name).unwrap().is_some());
        }
        machine.restart().after_power_cut(PowerCut::Lost, 1).unwrap();
    }
}
