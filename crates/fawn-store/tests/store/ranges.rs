//! The store under replicated ranges. The simulator runs it with its owner, crashes and all; these are its promises one by
//! one.

use fawn_ring::Interval;
use fawn_sim::flash::{PowerCut, SimFlash};
use fawn_store::flash::{FileId, Flash};
use fawn_store::record::{Kind, Marks, Record};
use fawn_store::work::MaintenanceWork;
use fawn_store::{Lookup, Maintenance, OpenError, Refusal, Replication, Step, Store, WrittenBatch};

use crate::common::tiny;

fn record<'a>(key: &'a [u8], seq: u64, value: &'a [u8]) -> Record<'a> {
    let kind = if value.is_empty() { Kind::Delete } else { Kind::Value };
    let marks = Marks::default();
    Record { kind, marks, epoch: 1, seq, client_flags: 0, expiry: 0, client_cas: None, key, value }
}

fn put(store: &mut Store, key: &[u8], seq: u64, value: &[u8]) {
    let position = store.options().secret.position(key);
    store.replication().append(&position, &record(key, seq, value)).unwrap();
}

/// Opens the store; also what its owner is handed.
fn open(flash: &SimFlash) -> (Store, Maintenance, Vec<Vec<u8>>) {
    let mut handed = Vec::new();
    let mut owner = |_: &mut Store, instance: u64, bytes: &[u8]| {
        assert_eq!(instance, 7);
        handed.push(bytes.to_vec());
        Ok(())
    };
    let (store, maintenance, _) = Store::open_ranges(tiny(), flash, 0, &mut owner).unwrap();
    (store, maintenance, handed)
}

/// Writes a batch of the log, if there is one.
fn write_batch(store: &mut Store, flash: &SimFlash) {
    if let Some(batch) = store.take_batch(0) {
        let result = flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
        store.committed(WrittenBatch { batch, result });
    }
}

/// Does everything that there is to do.
pub(crate) fn settle(store: &mut Store, maintenance: &mut Maintenance, flash: &SimFlash) {
    loop {
        let mut idle = true;
        write_batch(store, flash);
        while let Some(work) = store.take_work() {
            maintenance.submit(work);
            idle = false;
        }
        match maintenance.step(flash) {
            Step::Event(event) => drop(store.handle(event)),
            Step::Idle | Step::Stalled if idle => return,
            Step::More | Step::Idle | Step::Stalled => {}
        }
        store.step(usize::MAX);
    }
}

/// Live records of the whole store, as a scan finds them, and their bytes.
pub(crate) fn scanned(store: &mut Store, maintenance: &mut Maintenance, flash: &SimFlash) -> (u64, u64) {
    let (mut keys, mut found, mut bytes) = (Interval::ALL, 0, 0);
    loop {
        let id = store.scan(keys, 1 << 20, 0);
        settle(store, maintenance, flash);
        let part = store.reports().take_scanned().unwrap();
        assert_eq!((part.id, &part.error), (id, &None));
        let mut records = &part.records[..];
        while let Ok((_, len)) = Record::decode(records) {
            (found, bytes) = (found + 1, bytes + len as u64);
            records = &records[len..];
        }
        let Some(next) = part.next else { return (found, bytes) };
        keys.low = next;
    }
}

/// The newest version of a key: its number and its value; an empty one is deleted.
fn newest(store: &mut Store, flash: &SimFlash, key: &[u8]) -> Option<(u64, Vec<u8>)> {
    let position = store.options().secret.position(key);
    let mut read = match store.replication().lookup(&position, key) {
        Lookup::Found { record, .. } => return Some((record.seq, record.value.to_vec())),
        Lookup::Read(read) => read,
        Lookup::Absent { .. } => return None,
        other => panic!("the index is loaded and sound: {other:?}"),
    };
    loop {
        let mut pages = fawn_store::page::PageBuf::zeroed(read.count as usize);
        flash.read(read.file, read.first, pages.pages_mut()).unwrap();
        read = match store.replication().finish(read, pages.pages_mut(), &position, key) {
            fawn_store::FinishedRead::Found(record) => return Some((record.seq, record.value.to_vec())),
            fawn_store::FinishedRead::Read(read) => read,
            fawn_store::FinishedRead::Absent { .. } => return None,
            fawn_store::FinishedRead::Damaged(damage) => panic!("{damage}"),
        };
    }
}

fn is_seal(work: &MaintenanceWork) -> bool {
    matches!(work, MaintenanceWork::Seal { .. })
}

#[test]
fn a_store_of_ranges_is_opened_only_by_their_owner() {
    let flash = SimFlash::new(1);
    let (mut store, ..) = open(&flash);
    store.replication().log(7, b"a write", (0, 0)).unwrap();
    write_batch(&mut store, &flash);
    assert_eq!(open(&flash).2, [b"a write"]);
    assert_eq!(Store::open(tiny(), &flash, 0).err(), Some(OpenError::Replicated));
}

#[test]
fn an_owner_that_cannot_read_its_own_writes_says_why() {
    let flash = SimFlash::new(1);
    let (mut store, ..) = open(&flash);
    store.replication().log(7, b"a write", (0, 0)).unwrap();
    write_batch(&mut store, &flash);
    let mut owner = |_: &mut Store, _: u64, _: &[u8]| Err("no such write".to_owned());
    let error = Store::open_ranges(tiny(), &flash, 0, &mut owner).err().unwrap();
    assert!(matches!(&error, OpenError::Damage(damage) if damage.what == "no such write"), "{error}");
}

#[test]
fn recovery_begins_at_a_checkpoint_once_it_is_sealed_and_not_before() {
    let flash = SimFlash::new(1);
    let (mut store, mut maintenance, _) = open(&flash);
    store.replication().log(7, b"old", (0, 0)).unwrap();
    write_batch(&mut store, &flash);
    put(&mut store, b"key", 1, b"value");
    store.replication().checkpoint(&[(7, b"state".to_vec())]).unwrap();
    while let Some(work) = store.take_work() {
        assert!(!is_seal(&work), "the checkpoint is not durable");
        maintenance.submit(work);
    }
    write_batch(&mut store, &flash);
    assert_eq!(open(&flash.clone()).2, [&b"old"[..], b"state"], "nothing is sealed");
    settle(&mut store, &mut maintenance, &flash);
    flash.power_cut(PowerCut::Lost, 1);
    let (mut store, mut maintenance, handed) = open(&flash);
    assert_eq!(handed, [b"state"]);
    settle(&mut store, &mut maintenance, &flash);
    assert_eq!(newest(&mut store, &flash, b"key"), Some((1, b"value".to_vec())));
}

#[test]
fn what_is_emptied_is_void_and_what_comes_later_is_not_whatever_its_number() {
    let flash = SimFlash::new(1);
    let (mut store, mut maintenance, _) = open(&flash);
    settle(&mut store, &mut maintenance, &flash);
    put(&mut store, b"key", 9, b"old");
    put(&mut store, b"other", 9, b"old");
    store.replication().freeze();
    settle(&mut store, &mut maintenance, &flash);
    store.replication().empty(Interval::ALL);
    put(&mut store, b"key", 3, b"copied");
    let expected = Some((3, b"copied".to_vec()));
    for round in 0..3 {
        assert_eq!(newest(&mut store, &flash, b"key"), expected, "round {round}");
        assert_eq!(newest(&mut store, &flash, b"other"), None, "round {round}");
        store.replication().checkpoint(&[(7, b"state".to_vec())]).unwrap();
        settle(&mut store, &mut maintenance, &flash);
        match round {
            0 => (store, maintenance, _) = open(&flash),
            1 => store.compact(),
            _ => {}
        }
        settle(&mut store, &mut maintenance, &flash);
    }
}

#[test]
fn a_copy_has_deletions_and_only_what_is_new_enough_and_knows_what_was_forgotten() {
    let flash = SimFlash::new(1);
    let (mut store, mut maintenance, _) = open(&flash);
    settle(&mut store, &mut maintenance, &flash);
    for (seq, key, value) in [(4, b"a", &b"1"[..]), (5, b"b", b""), (6, b"c", b"3")] {
        put(&mut store, key, seq, value);
    }
    store.replication().freeze();
    let copied = |since: u64, store: &mut Store, maintenance: &mut Maintenance| {
        let (mut from, mut numbers) = (Interval::ALL, Vec::new());
        loop {
            let id = store.replication().scan(from, 1, since);
            settle(store, maintenance, &flash);
            let part = store.reports().take_scanned().unwrap();
            assert_eq!((part.id, &part.error), (id, &None));
            let mut records = &part.records[..];
            while let Ok((record, len)) = Record::decode(records) {
                numbers.push(record.seq);
                records = &records[len..];
            }
            let Some(next) = part.next else { break };
            from.low = next;
        }
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(copied(0, &mut store, &mut maintenance), [4, 5, 6]);
    assert_eq!(copied(4, &mut store, &mut maintenance), [5, 6]);
    assert_eq!(store.upkeep().horizon(&Interval::ALL), 0);
    store.compact();
    settle(&mut store, &mut maintenance, &flash);
    assert_eq!(copied(0, &mut store, &mut maintenance), [4, 6]);
    assert_eq!(store.upkeep().horizon(&Interval::ALL), 5);
    let (store, ..) = open(&flash);
    assert_eq!(store.upkeep().horizon(&Interval::ALL), 5, "the manifest knows");
}

#[test]
fn the_log_keeps_room_for_the_next_checkpoint() {
    let flash = SimFlash::new(1);
    let (mut store, mut maintenance, _) = open(&flash);
    let state = vec![5; 20_000];
    for round in 0..400 {
        match store.replication().log(7, &[1; 700], (state.len() + Replication::ENTRY_BYTES, 0)) {
            Ok(_) => {}
            Err(Refusal::Busy) => {
                if !store.log().awaits_checkpoint() {
                    store
                        .replication()
                        .checkpoint(&[(7, state.clone())])
                        .unwrap_or_else(|why| panic!("round {round}: {why}"));
                }
                settle(&mut store, &mut maintenance, &flash);
            }
            Err(why) => panic!("round {round}: {why}"),
        }
        if round % 3 == 0 {
            write_batch(&mut store, &flash);
        }
    }
    assert!(store.stats().log.batches > 100);
}

#[test]
fn what_has_expired_by_the_time_of_its_range_gives_its_space_back_whatever_the_time_of_others() {
    let flash = SimFlash::new(1);
    let (mut store, mut maintenance, _) = open(&flash);
    let expiry = 1000;
    for seq in 1..=400 {
        let key = format!("key-{seq}").into_bytes();
        let position = store.options().secret.position(&key);
        store.replication().append(&position, &Record { expiry, ..record(&key, seq, &[7; 200]) }).unwrap();
        settle(&mut store, &mut maintenance, &flash);
    }
    let mut after = |times: Vec<(Interval, u32)>| {
        for _ in 0..20 {
            store.replication().tick(Some(times.clone()));
            settle(&mut store, &mut maintenance, &flash);
        }
        store.stats().sealed.bytes
    };
    let [lower, upper]: [Interval; 2] = Interval::ALL.divide(2).try_into().unwrap();
    let all = after(vec![(lower, 999), (upper, 999)]);
    assert!(all > 60_000, "nothing has expired: {all}");
    let half = after(vec![(lower, 1000), (upper, 1)]);
    assert!((all / 3..all * 2 / 3).contains(&half), "the upper half stays: {half} of {all}");
    let none = after(vec![(lower, 1000), (upper, 1000)]);
    assert!(none < all / 4, "all of it has expired: {none} of {all}");
}
