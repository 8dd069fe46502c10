use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fawn_store::Ack;

use super::*;
use crate::files::Caching;
use crate::reader::ReadPath;
use crate::reader::tests::deleted_but_open;

/// Small segments, so that everything happens: seals, merges, reads from flash.
fn small(ack: Ack) -> DbOptions {
    DbOptions { memory: 8 << 20, ack, stores: 2, segment_bytes: 128 << 10, ..DbOptions::default() }
}

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    Place { path: directory.path().join("data"), _directory: directory }
}

fn value(number: u64, len: usize) -> Vec<u8> {
    let text = format!("<{number}>");
    text.bytes().cycle().take(len).collect()
}

fn key(number: u64) -> Vec<u8> {
    format!("key-{number}").into_bytes()
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn check_all(db: &Db, model: &BTreeMap<Vec<u8>, Vec<u8>>, keys: u64) {
    let names: Vec<Vec<u8>> = (0..keys).map(key).collect();
    let many = db.get_many(&names).unwrap();
    for (name, found) in names.iter().zip(many) {
        assert_eq!(found.as_ref(), model.get(name), "get_many of {}", String::from_utf8_lossy(name));
        assert_eq!(db.get(name).unwrap().as_ref(), model.get(name), "get of {}", String::from_utf8_lossy(name));
    }
    let scanned: Vec<(Vec<u8>, Vec<u8>)> = db.scan().collect::<Result<_, _>>().unwrap();
    let count = scanned.len();
    let scanned: BTreeMap<_, _> = scanned.into_iter().collect();
    assert_eq!(scanned.len(), count, "a scan shows each key once");
    assert!(scanned == *model, "a scan shows what there is");
}

#[test]
fn an_empty_value_is_not_an_absent_key() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    db.put(b"empty", b"").unwrap();
    assert_eq!(db.get(b"empty").unwrap(), Some(Vec::new()));
    assert_eq!(db.get(b"absent").unwrap(), None);
    let mut out = Vec::new();
    assert!(db.get_into(b"empty", &mut out).unwrap());
    assert!(!db.get_into(b"absent", &mut out).unwrap());
    assert_eq!(db.get_many(&["empty", "absent"]).unwrap(), [Some(Vec::new()), None]);
    assert!(db.delete(b"empty").unwrap());
    assert!(!db.delete(b"empty").unwrap());
    assert_eq!(db.get(b"empty").unwrap(), None);
}

#[test]
fn what_a_model_holds_is_read_back_through_seals_merges_and_restarts() {
    for (ack, reads) in
        [(Ack::Durable, ReadPath::Auto), (Ack::Interval { ms: 5 }, ReadPath::Pread), (Ack::Memory, ReadPath::Auto)]
    {
        let place = place();
        let options = DbOptions { reads, ..small(ack) };
        let (mut model, mut state, keys) = (BTreeMap::new(), 0x9e37_79b9_7f4a_7c15, 600);
        for round in 0..4 {
            let db = Db::open(&place.path, options).unwrap();
            assert!(db.openings().iter().all(|opening| opening.created == (round == 0) && opening.clean));
            check_all(&db, &model, keys);
            // A sync each takes its time.
            let steps = if ack == Ack::Durable { 800 } else { 3000 };
            for _ in 0..steps {
                let name = key(next(&mut state) % keys);
                let number = next(&mut state);
                match number % 10 {
                    0 | 1 => assert_eq!(db.delete(&name).unwrap(), model.remove(&name).is_some()),
                    2 => {
                        let result = db.put_if(&name, b"new", Extras::default(), Condition::Absent).unwrap();
                        assert_eq!(matches!(result, WriteOutcome::Stored { .. }), !model.contains_key(&name));
                        model.entry(name).or_insert(b"new".to_vec());
                    }
                    3 => assert_eq!(db.get(&name).unwrap().as_ref(), model.get(&name)),
                    _ => {
                        let value = value(number, (number >> 8) as usize % 3000);
                        db.put(&name, &value).unwrap();
                        model.insert(name, value);
                    }
                }
            }
            check_all(&db, &model, keys);
            let stats = db.stats();
            assert!(stats.sum(|store| store.maintenance.seals) > 2 && stats.sum(|store| store.reads.reads) > 0);
            db.close().unwrap();
        }
    }
}

#[test]
fn large_values_read_back_after_seals_and_restarts_and_their_files_go_with_them() {
    let place = place();
    let mut db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    let sizes = [40_000, 200_000, 5 << 20];
    for (number, len) in sizes.into_iter().enumerate() {
        db.put(&key(number as u64), &value(number as u64, len)).unwrap();
    }
    for round in 0..3 {
        for (number, len) in sizes.into_iter().enumerate() {
            let expected = value(number as u64, len);
            assert!(db.get(&key(number as u64)).unwrap() == Some(expected.clone()), "value {number}, round {round}");
            assert!(db.get_many(&[key(number as u64)]).unwrap() == [Some(expected)]);
        }
        assert_eq!(db.scan().map(|pair| pair.unwrap().1.len()).sum::<usize>(), sizes.iter().sum());
        db.close().unwrap();
        db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    }
    // Overwritten, deleted, refused: none leaves a file behind.
    db.put(&key(0), b"small now").unwrap();
    assert!(db.delete(&key(1)).unwrap());
    let refused = db.put_if(&key(2), &value(9, 1 << 20), Extras::default(), Condition::Absent).unwrap();
    assert!(matches!(refused, WriteOutcome::Refused { version: Some(_) }));
    let values = || {
        let stores = (0..2).flat_map(|store| std::fs::read_dir(place.path.join(format!("store-{store}"))).unwrap());
        stores.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("value-")).count()
    };
    db.inner.shards.iter().for_each(|shard| {
        shard.sync_by_seal().unwrap();
        let mut core = shard.lock();
        core.store.compact();
        core.hand_out();
    });
    let start = Instant::now();
    while values() != 1 {
        assert!(start.elapsed() < Duration::from_secs(20), "{} value files are left", values());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(db.get(&key(2)).unwrap() == Some(value(2, 5 << 20)));
}

#[test]
fn removed_files_take_no_space_although_nothing_is_read_any_more() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Memory)).unwrap();
    let names: Vec<Vec<u8>> = (0..4000).map(key).collect();
    for name in &names {
        db.put(name, &[7; 200]).unwrap();
    }
    let merge = || {
        for shard in &*db.inner.shards {
            shard.sync_by_seal().unwrap();
            let mut core = shard.lock();
            core.store.compact();
            core.hand_out();
        }
    };
    merge();
    assert!(db.get_many(&names).unwrap().iter().all(Option::is_some));
    for name in &names {
        db.delete(name).unwrap();
    }
    merge();
    let files = || {
        let stores = (0..2).flat_map(|store| std::fs::read_dir(place.path.join(format!("store-{store}"))).unwrap());
        stores.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("segment-")).count()
    };
    let directory = place.path.to_string_lossy().into_owned();
    let start = Instant::now();
    while files() > 0 || deleted_but_open(&directory) > 0 {
        let left = (files(), deleted_but_open(&directory));
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{left:?} segments, and removed ones that are open, are left"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_value_whose_file_is_missing_is_an_error_and_not_a_loop() {
    let place = place();
    let mut db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    db.put(b"large", &value(1, 200_000)).unwrap();
    for sealed in [false, true] {
        if sealed {
            db.inner.shards.iter().for_each(|shard| shard.sync_by_seal().unwrap());
        }
        db.close().unwrap();
        db = Db::open(&place.path, small(Ack::Durable)).unwrap();
        let files = (0..2).flat_map(|store| std::fs::read_dir(place.path.join(format!("store-{store}"))).unwrap());
        let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
        let file = files.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with("value-"));
        let (file, aside) = (file.unwrap(), place.path.join("aside"));
        std::fs::rename(&file, &aside).unwrap();
        let error = db.get(b"large").unwrap_err().to_string();
        assert!(error.contains("the value's file is missing"), "{error}");
        std::fs::rename(&aside, &file).unwrap();
        assert!(db.get(b"large").unwrap() == Some(value(1, 200_000)));
    }
}

#[test]
fn what_was_put_durably_is_there_after_a_stop_without_a_close() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    for number in 0..500 {
        db.put(&key(number), &value(number, 100)).unwrap();
    }
    // The files as they are now, opened elsewhere: what a crash would leave, with the page cache.
    let copy = place.path.with_file_name("copy");
    copy_directory(&place.path, &copy);
    let other = Db::open(&copy, small(Ack::Durable)).unwrap();
    assert!(other.openings().iter().all(|opening| !opening.clean && opening.replayed > 0));
    for number in 0..500 {
        assert_eq!(other.get(&key(number)).unwrap(), Some(value(number, 100)));
    }
}

fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn many_threads_share_each_sync_and_see_their_own_puts() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..16u64 {
            let db = db.clone();
            scope.spawn(move || {
                for number in 0..200 {
                    let name = key(thread * 1000 + number % 50);
                    let bytes = value(thread * 1000 + number, 200);
                    db.put(&name, &bytes).unwrap();
                    assert_eq!(db.get(&name).unwrap(), Some(bytes));
                }
            });
        }
    });
    let batches = db.stats().sum(|store| store.log.batches);
    assert!(batches < 3200, "{batches} syncs for 3200 puts");
    for thread in 0..16u64 {
        for number in 150..200 {
            let expected = value(thread * 1000 + number, 200);
            assert_eq!(db.get(&key(thread * 1000 + number % 50)).unwrap(), Some(expected));
        }
    }
}

#[test]
fn concurrent_compare_and_set_loses_no_increment() {
    let place = place();
    // Neighbours that keep the store sealing and merging meanwhile.
    let db = Db::open(&place.path, small(Ack::Memory)).unwrap();
    db.put(b"counter", b"0").unwrap();
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..300 {
                    loop {
                        let item = db.get_item(b"counter").unwrap().unwrap();
                        let count: u64 = std::str::from_utf8(&item.value).unwrap().parse().unwrap();
                        let text = (count + 1).to_string();
                        let condition = Condition::Version(item.version);
                        let result = db.put_if(b"counter", text.as_bytes(), Extras::default(), condition).unwrap();
                        if matches!(result, WriteOutcome::Stored { .. }) {
                            break;
                        }
                    }
                }
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        scope.spawn(|| {
            let mut number = 0;
            while done.load(Ordering::SeqCst) < 4 {
                db.put(&key(number % 100), &value(number, 2000)).unwrap();
                number += 1;
            }
        });
    });
    assert_eq!(db.get(b"counter").unwrap(), Some(b"1200".to_vec()));
}

#[test]
fn only_one_of_many_wins_an_add() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    let wins = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..50 {
                    let result = db.put_if(&key(number), b"mine", Extras::default(), Condition::Absent).unwrap();
                    wins.fetch_add(u64::from(matches!(result, WriteOutcome::Stored { .. })), Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(wins.load(Ordering::SeqCst), 50);
}

#[test]
fn a_sync_makes_everything_durable_in_every_mode() {
    for ack in [Ack::Durable, Ack::Interval { ms: 60_000 }, Ack::Memory] {
        let place = place();
        let db = Db::open(&place.path, small(ack)).unwrap();
        for number in 0..300 {
            db.put(&key(number), &value(number, 80)).unwrap();
        }
        db.sync().unwrap();
        let copy = place.path.with_file_name("copy");
        copy_directory(&place.path, &copy);
        let other = Db::open(&copy, small(ack)).unwrap();
        for number in 0..300 {
            assert_eq!(other.get(&key(number)).unwrap(), Some(value(number, 80)), "{ack:?}");
        }
        db.put(b"after", b"all").unwrap();
        db.sync().unwrap();
        db.sync().unwrap();
    }
}

/// The seal of what was put may have to wait for what the opening itself has written.
#[test]
fn a_sync_right_after_an_opening_waits_for_a_seal_that_cannot_begin_yet() {
    for _ in 0..10 {
        let place = place();
        let db = Db::open(&place.path, small(Ack::Memory)).unwrap();
        for number in 0..100 {
            db.put(&key(number), b"value").unwrap();
        }
        db.sync().unwrap();
        let copy = place.path.with_file_name("copy");
        copy_directory(&place.path, &copy);
        let other = Db::open(&copy, small(Ack::Memory)).unwrap();
        for number in 0..100 {
            assert_eq!(other.get(&key(number)).unwrap(), Some(b"value".to_vec()));
        }
    }
}

#[test]
fn in_interval_mode_puts_are_durable_soon_without_being_asked() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Interval { ms: 20 })).unwrap();
    db.put(b"key", b"value").unwrap();
    let start = Instant::now();
    while db.stats().sum(|store| store.log.batches) == 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "no batch was written");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn flags_expiry_and_versions_are_kept() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    let extras = Extras { flags: 77, expiry: u32::MAX - 1 };
    let first = db.put_with(b"key", b"value", extras).unwrap();
    let item = db.get_item(b"key").unwrap().unwrap();
    assert_eq!(item, StoredItem { value: b"value".to_vec(), extras, version: first });
    let second = db.put_with(b"key", b"value", extras).unwrap();
    assert!(second > first);
    db.put_with(b"gone", b"value", Extras { flags: 0, expiry: 1 }).unwrap();
    assert_eq!(db.get(b"gone").unwrap(), None);
    assert!(!db.delete(b"gone").unwrap());
}

#[test]
fn keys_and_values_out_of_bounds_are_refused() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    assert!(matches!(db.put(b"", b"v"), Err(Error::KeyLength(0))));
    assert!(matches!(db.get(&vec![b'k'; 65_536]), Err(Error::KeyLength(65_536))));
    assert!(matches!(db.put(b"k", &vec![0; (128 << 20) + 1]), Err(Error::ValueLength(_))));
    assert!(matches!(db.get_many(&["fine", ""]), Err(Error::KeyLength(0))));
}

#[test]
fn a_closed_database_says_so_and_can_be_opened_again() {
    let place = place();
    let db = Db::open(&place.path, small(Ack::Durable)).unwrap();
    let clone = db.clone();
    db.put(b"key", b"value").unwrap();
    assert!(matches!(Db::open(&place.path, small(Ack::Durable)), Err(Error::Directory(_))));
    db.close().unwrap();
    db.close().unwrap();
    assert!(matches!(clone.get(b"key"), Err(Error::Closed)));
    assert!(matches!(clone.put(b"key", b"other"), Err(Error::Closed)));
    assert!(matches!(clone.get_many(&["key"]), Err(Error::Closed)));
    assert!(matches!(clone.scan().next(), Some(Err(Error::Closed))));
    assert!(matches!(clone.sync(), Err(Error::Closed)));
    let again = Db::open(&place.path, small(Ack::Durable)).unwrap();
    assert_eq!(again.get(b"key").unwrap(), Some(b"value".to_vec()));
    drop(again);
    // The last clone's drop closes too.
    assert!(Db::open(&place.path, small(Ack::Durable)).unwrap().openings().iter().all(|opening| opening.clean));
}

#[test]
fn threads_that_use_a_database_while_it_is_closed_get_an_answer() {
    for _ in 0..5 {
        let place = place();
        let db = Db::open(&place.path, small(Ack::Durable)).unwrap();
        let stored = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (db, stored) = (db.clone(), &stored);
                scope.spawn(move || {
                    for number in 0.. {
                        match db.put(&key(thread << 32 | number), b"value") {
                            Ok(_) => stored.fetch_add(1, Ordering::SeqCst),
                            Err(Error::Closed) => return,
                            Err(error) => panic!("{error}"),
                        };
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(20));
            db.close().unwrap();
        });
        let again = Db::open(&place.path, small(Ack::Durable)).unwrap();
        assert!(again.scan().count() as u64 >= stored.load(Ordering::SeqCst));
    }
}

#[test]
fn a_memory_file_system_that_has_no_direct_io_works() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
    let options = DbOptions { caching: Caching::Buffered, ..small(Ack::Durable) };
    let db = Db::open(directory.path().join("data"), options).unwrap();
    for number in 0..2000 {
        db.put(&key(number), &value(number, 300)).unwrap();
    }
    assert_eq!(db.stats().files, "page cache");
    let names: Vec<_> = (0..2000).map(key).collect();
    for (number, found) in db.get_many(&names).unwrap().into_iter().enumerate() {
        assert_eq!(found, Some(value(number as u64, 300)));
    }
}
