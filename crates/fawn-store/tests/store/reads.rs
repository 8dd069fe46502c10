//! Reads under way: they answer as of their lookup, whatever is appended, flushed, sealed and merged meanwhile.

use fawn_sim::store::{Extras, Machine};
use fawn_store::flash::Flash;
use fawn_store::page::PageBuf;
use fawn_store::{FinishedRead, Lookup, Options, Read};

use crate::common::{machine, tiny, value};

fn plan(machine: &mut Machine, name: &[u8]) -> Option<Read> {
    let (key, now) = (machine.store().options().secret.position(name), machine.now());
    match machine.store().lookup(&key, name, now) {
        Lookup::Read(read) => Some(read),
        Lookup::Absent { .. } => None,
        other => panic!("a sealed key is read, another is absent: {other:?}"),
    }
}

fn fetch(machine: &Machine, read: &Read) -> PageBuf {
    let mut pages = PageBuf::zeroed(read.count as usize);
    machine.flash().read(read.file, read.first, pages.pages_mut()).expect("what a read needs stays");
    pages
}

fn fill(machine: &mut Machine) {
    for number in 0..3000u64 {
        machine.issue_put(format!("fill{number}").as_bytes(), b"a value", Extras::default()).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
}

/// Names that `machine` does not hold but cannot tell from some that it holds without a read.
fn confused(machine: &mut Machine) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    for number in 0..400_000u64 {
        let name = format!("confused{number}").into_bytes();
        if let Some(read) = plan(machine, &name) {
            machine.store().abandon(read);
            names.push(name);
        }
    }
    names
}

#[test]
fn a_get_goes_on_in_older_segments_and_sees_no_later_put_whatever_is_merged_meanwhile() {
    let options = Options { segment_bytes: 256 << 10, log_pages: 256, slices: 1, slice_bytes: 1 << 20, ..tiny() };
    let mut machine = Machine::new(options.clone(), 1).unwrap();
    fill(&mut machine);
    let names = confused(&mut machine);
    let mut machine = Machine::new(options, 1).unwrap();
    for (name, number) in names.iter().zip(0..) {
        machine.issue_put(name, &value(number, 100), Extras::default()).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
    fill(&mut machine);
    let mut held = Vec::new();
    for (name, number) in names.iter().zip(0..) {
        let (key, now) = (machine.store().options().secret.position(name), machine.now());
        let read = plan(&mut machine, name).expect("a sealed key is read");
        let mut pages = fetch(&machine, &read);
        match machine.store().finish(read, pages.pages_mut(), &key, name, now) {
            FinishedRead::Found(_) => {}
            FinishedRead::Read(read) => held.push((name, number, key, read)),
            other => panic!("{other:?}"),
        }
    }
    assert!(held.len() > 3, "{} of {} names have a match in the newer segment", held.len(), names.len());
    for name in &names {
        machine.issue_put(name, b"later", Extras::default()).unwrap();
    }
    machine.seal().unwrap();
    assert!(machine.compact_and_wait());
    machine.settle();
    for (name, number, key, read) in held {
        let mut pages = fetch(&machine, &read);
        let now = machine.now();
        match machine.store().finish(read, pages.pages_mut(), &key, name, now) {
            FinishedRead::Found(record) => assert_eq!(record.value, value(number, 100)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_absence_that_a_flush_made_is_told_with_the_flushes_gate() {
    let mut machine = machine(2);
    machine.put(b"key", b"value").unwrap();
    machine.seal().unwrap();
    machine.settle();
    let flushed = machine.issue_flush_all().unwrap();
    let (key, now) = (machine.store().options().secret.position(b"key"), machine.now());
    let read = plan(&mut machine, b"key").expect("nothing is merged yet");
    let mut pages = fetch(&machine, &read);
    match machine.store().finish(read, pages.pages_mut(), &key, b"key", now) {
        FinishedRead::Absent { gate } => assert_eq!(gate, flushed),
        other => panic!("{other:?}"),
    }
    assert!(flushed > machine.store().durable());
}
