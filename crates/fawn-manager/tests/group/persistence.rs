//! The files of a manager: damage, cuts, files of others, those of older releases, and devices that are full.

use crate::caller::{Caller, enrolment, greeting};
use fawn_kv::ids::ClusterId;
use fawn_kv::link::{Control, Party};
use fawn_manager::consensus::LogStore;
use fawn_manager::consensus::log_store::StoredMember;
use fawn_manager::consensus::types::{LogEntry, LogId, Vote};
use fawn_manager::journal::disk::{Disk, System};
use fawn_manager::journal::{JournalImage, format};
use fawn_manager::{ManagerError, Options, directory, start};
use fawn_ring::Secret;
use openraft::storage::{RaftLogStorage, RaftLogStorageExt as _};
use openraft::{CommittedLeaderId, EntryPayload};
use redb::TableDefinition;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ENTRIES: TableDefinition<u64, &[u8]> = TableDefinition::new("entries");
const FACTS: TableDefinition<&str, &[u8]> = TableDefinition::new("facts");

/// Has a manager begin a cluster with a member.
fn begin(dir: &Path) {
    let manager = start(Options::new(dir)).unwrap();
    let newcomer = Caller::call(manager.connect().unwrap(), greeting(Party::Newcomer)).unwrap();
    let said = newcomer.enrol(&enrolment("a", 1), None, Some(Secret([0xA7; 32])));
    assert!(matches!(said, Control::Enrolled(_)), "{said:?}");
}

/// What a manager of the directory says of its cluster.
fn cluster(dir: &Path) -> (Option<ClusterId>, usize) {
    let manager = start(Options::new(dir)).unwrap();
    let mut operator = Caller::call(manager.connect().unwrap(), greeting(Party::Operator)).unwrap();
    let status = operator.status();
    (status.cluster, status.roster.members.len())
}

/// All that is kept in a directory that nobody uses.
fn kept(dir: &Path) -> (Option<StoredMember>, Vec<LogEntry>) {
    let store = directory::open(dir).unwrap();
    (store.member().unwrap(), store.all().unwrap())
}

/// The sentence with which a directory is refused.
fn refusal(dir: &Path, name: &str) -> String {
    let refused = directory::open(dir).unwrap_err();
    assert!(matches!(refused, ManagerError::Kept { .. }), "{refused}");
    let said = refused.to_string();
    assert!(said.contains(dir.join(name).to_str().unwrap()), "{said}");
    assert!(said.contains("fawn manager restore") && said.contains("join the others of its group again"), "{said}");
    said
}

#[test]
fn a_removed_lock_lets_no_second_manager_in() {
    let dir = tempfile::tempdir().unwrap();
    let first = directory::open(dir.path()).unwrap();
    let lock = dir.path().join("manager.lock");
    let refused = |what: &str| {
        let error = directory::open(dir.path()).unwrap_err();
        assert!(matches!(error, ManagerError::InUse(_)), "{what}: {error}");
    };
    std::fs::remove_file(&lock).unwrap();
    refused("removed");
    std::fs::write(&lock, "").unwrap();
    refused("replaced");
    drop(first);
    directory::open(dir.path()).unwrap();
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_managers_log_is_harmless_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    begin(dir.path());
    let path = dir.path().join("manager.log");
    let whole = std::fs::read(&path).unwrap();
    let image = format::read(&whole).unwrap().image;
    assert!(!image.entries.is_empty() && image.facts.contains_key("vote"));
    let mut bytes = whole.clone();
    for at in 0..bytes.len() * 8 {
        bytes[at / 8] ^= 1 << (at % 8);
        if let Ok(read) = format::read(&bytes) {
            assert!(read.image == image, "bit {at}");
        }
        bytes[at / 8] ^= 1 << (at % 8);
    }
    assert!((0..whole.len()).all(|length| format::read(&whole[..length]).is_err()));
    // The same by way of the directory, for some.
    let before = kept(dir.path());
    let whole = std::fs::read(&path).unwrap();
    for at in [0, 9, 17, 12288, 12292, whole.len() / 2 + 6200, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
        assert!(refusal(dir.path(), "manager.log").contains("damaged"));
        assert!(start(Options::new(dir.path())).is_err());
    }
    for at in [100, 4096, 8200, 9000] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(kept(dir.path()), before, "byte {at} is not used, or twice there");
    }
    for length in [0, 1, 4096, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        refusal(dir.path(), "manager.log");
    }
    std::fs::write(&path, b"something else that somebody has put here").unwrap();
    refusal(dir.path(), "manager.log");
    std::fs::remove_file(&path).unwrap();
    assert!(refusal(dir.path(), "manager.log").contains("the file is missing"));
    std::fs::write(&path, whole).unwrap();
    assert_eq!(kept(dir.path()), before);
}

/// Writes what older releases have in place of this.
fn write_old(path: &Path, image: &JournalImage) {
    let database = redb::Database::create(path).unwrap();
    let begun = database.begin_write().unwrap();
    {
        let mut entries = begun.open_table(ENTRIES).unwrap();
        for (index, bytes) in &image.entries {
            entries.insert(index, bytes.as_slice()).unwrap();
        }
        let mut facts = begun.open_table(FACTS).unwrap();
        for (name, bytes) in &image.facts {
            facts.insert(name.as_str(), bytes.as_slice()).unwrap();
        }
    }
    begun.commit().unwrap();
}

#[test]
fn the_directory_of_an_older_release_is_upgraded_and_refused_by_it_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    begin(dir.path());
    let (before, is) = (kept(dir.path()), cluster(dir.path()));
    let image = format::read(&std::fs::read(dir.path().join("manager.log")).unwrap()).unwrap().image;
    let old = tempfile::tempdir().unwrap();
    let path = old.path().join("manager.redb");
    write_old(&path, &image);
    let whole = std::fs::read(&path).unwrap();
    // The commit's own slot; a cut; nothing.
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        std::fs::write(&path, bytes).unwrap();
        assert!(refusal(old.path(), "manager.redb").contains("damaged"));
        assert!(!old.path().join("manager.log").exists(), "nothing is begun");
    };
    let newest = 64 + 128 * usize::from(whole[9] & 1);
    damaged(&|bytes| bytes[newest + 40] ^= 1);
    damaged(&|bytes| bytes.truncate(5000));
    damaged(&Vec::clear);
    std::fs::write(&path, &whole).unwrap();
    {
        let runs = redb::Database::open(&path).unwrap();
        let refused = directory::open(old.path()).unwrap_err();
        assert!(matches!(refused, ManagerError::InUse(_)), "{refused}");
        drop(runs);
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(kept(old.path()).0, before.0);
    assert_eq!(cluster(old.path()), is);
    assert!(redb::Database::create(&path).is_err(), "it is no database any more");
    assert_eq!(cluster(old.path()), is);
}

/// A device that is full while the flag says so.
#[derive(Clone, Debug, Default)]
struct Device {
    is_full: Arc<AtomicBool>,
    refused: Arc<AtomicU64>,
}

impl Device {
    fn look(&self) -> io::Result<()> {
        if self.is_full.load(Ordering::SeqCst) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(Errno::NOSPC.into());
        }
        Ok(())
    }
}

impl Disk for Device {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.look()?;
        System.create(path)
    }

    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        self.look()?;
        System.write(file, bytes, at)
    }

    fn reserve(&self, _: &File, _: u64, _: u64) -> io::Result<()> {
        self.look()
    }
}

fn entry(index: u64) -> LogEntry {
    LogEntry { log_id: LogId::new(CommittedLeaderId::new(3, 0), index), payload: EntryPayload::Blank }
}

#[test]
fn what_a_full_device_refuses_is_kept_once_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let device = Device::default();
    let mut store = directory::open_on(dir.path(), Box::new(device.clone())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let wait = |store: &LogStore| {
        let end = Instant::now() + Duration::from_secs(30);
        while store.stall().why().is_none() {
            assert!(Instant::now() < end, "nothing waits");
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    runtime.block_on(async {
        store.save_vote(&Vote::new(3, 1)).await.unwrap();
        store.blocking_append([entry(0), entry(1)]).await.unwrap();
    });
    for call in 0..4 {
        device.is_full.store(true, Ordering::SeqCst);
        let (mut writes, device) = (store.clone(), device.clone());
        std::thread::scope(|scope| {
            let done = scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    match call {
                        0 => writes.save_vote(&Vote::new(4, 1)).await.unwrap(),
                        1 => writes.blocking_append([entry(2)]).await.unwrap(),
                        2 => writes.truncate(entry(2).log_id).await.unwrap(),
                        _ => writes.wait_for_room(1 << 20).await,
                    }
                });
            });
            wait(&store);
            assert!(store.stall().why().unwrap().contains("No space left"));
            let refused = device.refused.load(Ordering::SeqCst);
            while device.refused.load(Ordering::SeqCst) < refused + 2 {
                std::thread::sleep(Duration::from_millis(2));
            }
            assert!(!done.is_finished(), "it is tried again");
            assert_eq!(
                store.last().unwrap().unwrap().index,
                if call == 2 { 2 } else { 1 },
                "nothing is taken for kept"
            );
            device.is_full.store(false, Ordering::SeqCst);
            done.join().unwrap();
        });
        assert_eq!(store.stall().why(), None);
    }
    assert_eq!(runtime.block_on(store.read_vote()).unwrap(), Some(Vote::new(4, 1)));
    drop(store);
    let mut store = directory::open(dir.path()).unwrap();
    assert_eq!(store.last().unwrap().unwrap().index, 1);
    assert_eq!(runtime.block_on(store.read_vote()).unwrap(), Some(Vote::new(4, 1)));
}

#[test]
fn a_manager_that_stops_does_not_wait_for_room() {
    let dir = tempfile::tempdir().unwrap();
    let device = Device::default();
    let mut store = directory::open_on(dir.path(), Box::new(device.clone())).unwrap();
    device.is_full.store(true, Ordering::SeqCst);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(store.save_committed(Some(entry(0).log_id))).unwrap();
    assert_eq!(store.stall().why(), None, "what need not be kept is not waited for");
    store.stall().stop();
    runtime.block_on(store.save_vote(&Vote::new(3, 1))).unwrap_err();
    drop(store);
    device.is_full.store(true, Ordering::SeqCst);
    let store = directory::open_on(dir.path(), Box::new(device)).unwrap();
    assert_eq!(store.vote().unwrap(), None, "a start needs no room");
}
