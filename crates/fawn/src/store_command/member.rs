//! What the stores of a cluster's node hold, while it does not run: figures, and the records of the ranges that are all
//! there, as far as the node knows them to be committed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use fawn_flash::{Directory, Files, MemberDirectory, Overlay, Stats};
use fawn_kv::ids::{RangeId, Seq};
use fawn_kv::range::entry::{Change, Version};
use fawn_kv::store::{AdoptError, Answer, FlashStore, OpenedStore, Part, RangeStore as _, RecoveredRange, Scan};
use fawn_ring::{Interval, Key, Secret};
use fawn_store::flash::{FileId, Flash};
use fawn_store::large::Stub;
use fawn_store::page::PageBuf;
use fawn_store::record::{Kind, Record as Stored};
use fawn_store::work::{MaintenanceEvent, MaintenanceWork};
use fawn_store::{Batch, Damage, Losses, Maintenance, OpenError, Options, Step, Store, WrittenBatch};
use fawn_transfer::Record;
use fawn_transfer::client::{set_now, unix_now};

pub mod cluster;

/// Bytes of records that are read at a time.
const PART_BYTES: usize = 1 << 20;

/// What a dump found beside the records.
#[derive(Debug, Default)]
pub struct DumpFindings {
    /// What damage has taken.
    pub lost: Option<Losses>,
    /// Writes that are in the log, though the node had not heard that they are committed: they may have been acknowledged.
    pub unsettled: usize,
    /// Ranges of which the node has a part only.
    pub left_out: Vec<u32>,
    /// Records that the leading log of their range lacks, and another one has.
    pub gathered: u64,
    /// Parts of the keys that none of several directories has.
    pub missing: usize,
    /// Records whose time to live is over by nothing but this machine's clock, which may be wrong.
    pub expired: u64,
    /// Stores that could not be read to their end: which, and what is wrong.
    pub damaged: Vec<String>,
}

impl DumpFindings {
    /// Whether everything was printed.
    pub fn is_complete(&self) -> bool {
        self.lost.is_none() && self.left_out.is_empty() && self.missing == 0 && self.damaged.is_empty()
    }
}

/// Takes the records of stores. What it fails with ends a dump, while the failure of a store does not.
struct Taker<F> {
    each: F,
    has_failed: bool,
}

impl<F: FnMut(Record) -> anyhow::Result<()>> Taker<F> {
    fn new(each: F) -> Self {
        Self { each, has_failed: false }
    }

    fn take(&mut self, record: Record) -> anyhow::Result<()> {
        let taken = (self.each)(record);
        self.has_failed |= taken.is_err();
        taken
    }

    /// Notes what is wrong with a store, if anything, to go on with the next one.
    fn note(&self, dumped: anyhow::Result<()>, found: &mut DumpFindings) -> anyhow::Result<()> {
        match dumped {
            Err(error) if self.has_failed => Err(error),
            Err(error) => {
                found.damaged.push(format!("{error:#}"));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Hands every live record of a node's stores to `each`.
///
/// # Errors
/// What cannot be read, and those of `each`.
pub fn dump(
    directory: &MemberDirectory,
    each: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<DumpFindings> {
    let (mut found, mut taker) = (DumpFindings::default(), Taker::new(each));
    for index in 0..directory.stores() {
        let dumped = dump_store(directory, index, |record| taker.take(record), &mut found);
        taker.note(dumped, &mut found)?;
    }
    Ok(found)
}

/// The same of one of its stores.
fn dump_store(
    directory: &MemberDirectory,
    index: usize,
    mut each: impl FnMut(Record) -> anyhow::Result<()>,
    found: &mut DumpFindings,
) -> anyhow::Result<()> {
    match MemberStore::open(directory, index, &mut found.damaged)? {
        MemberStore::Plain(mut open) => open.dump(&mut each, found)?,
        MemberStore::Ranges(mut open, ranges) => {
            open.store.pass_over_lost();
            let mut dumped = Ok(());
            for (range, mut recovered) in ranges {
                if recovered.held.is_none() {
                    found.left_out.push(range.0);
                    continue;
                }
                dumped = open.dump_settled(range, &mut recovered, &mut each, found);
                if dumped.is_err() {
                    break;
                }
            }
            if let Some(more) = open.store.passed_over() {
                Losses::add(&mut found.lost, more.records, &more.damage);
            }
            dumped?;
        }
    }
    Ok(())
}

/// The same of a plain directory.
///
/// # Errors
/// As [`dump`].
pub fn plain_dump(
    directory: &Directory,
    each: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<DumpFindings> {
    let (mut found, mut taker) = (DumpFindings::default(), Taker::new(each));
    for index in 0..directory.stores() {
        let options = unbounded(index, directory.stores(), directory.secret());
        let path = directory.store_path(index);
        let open = |salvage| try_open_plain(directory, index, Options { salvage, ..options.clone() });
        let opened = match open(false) {
            Err(error) if error.is_of_log() => {
                found.damaged.push(salvaged(&error.at(path.display())));
                open(true)
            }
            opened => opened,
        };
        let dumped = match opened {
            Ok(mut open) => open.dump(&mut |record| taker.take(record), &mut found),
            Err(error) => Err(anyhow!(error.at(path.display()))),
        };
        taker.note(dumped, &mut found)?;
    }
    Ok(found)
}

/// What is said of a store that is printed although its log is damaged.
fn salvaged(damage: &str) -> String {
    format!("{damage}; the dump has the writes before that place, and lacks newer writes of this store")
}

/// Options that leave everything as it is.
fn unbounded(index: usize, count: usize, secret: Secret) -> Options {
    let (index, count) = (index as u32, count as u32);
    Options { index, count, segment_bytes: 16 << 20, ..Options::new(secret, u64::MAX / 4) }
}

fn open_plain(directory: &Directory, index: usize, options: Options) -> anyhow::Result<OpenStore<Store>> {
    let opened = try_open_plain(directory, index, options);
    opened.map_err(|error| anyhow!(error.at(directory.store_path(index).display())))
}

fn try_open_plain(directory: &Directory, index: usize, mut options: Options) -> Result<OpenStore<Store>, OpenError> {
    let path = directory.store_path(index);
    let files = Overlay::new(Files::look(&path)?);
    options.interval = directory.interval(index);
    let (store, maintenance, _) = Store::open(options, &files, unix_now())?;
    Ok(OpenStore { store, maintenance, files, path })
}

/// The budget that a server would have.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Of all stores together, bytes.
    pub memory: u64,
    /// Whether it would keep filters.
    pub miss_filter: bool,
}

impl Budget {
    /// Options of one of a directory's stores.
    fn options(self, index: usize, count: usize, secret: Secret) -> Options {
        let (index, of) = (index as u32, count as u32);
        Options { index, count: of, miss_filter: self.miss_filter, ..Options::new(secret, self.memory / count as u64) }
    }
}

/// The figures of every store of a node, as of the start of a server with this budget.
///
/// # Errors
/// What cannot be read.
pub fn stats(directory: &MemberDirectory, budget: Budget) -> anyhow::Result<Vec<Stats>> {
    let of = |index| match MemberStore::open_with(directory, index, |secret| {
        budget.options(index, directory.stores(), secret)
    })? {
        MemberStore::Plain(open) => open.stats(),
        MemberStore::Ranges(open, _) => open.stats(),
    };
    (0..directory.stores()).map(of).collect()
}

/// The same of a plain directory.
///
/// # Errors
/// What cannot be read.
pub fn plain_stats(directory: &Directory, budget: Budget) -> anyhow::Result<Vec<Stats>> {
    let of =
        |index| open_plain(directory, index, budget.options(index, directory.stores(), directory.secret()))?.stats();
    (0..directory.stores()).map(of).collect()
}

/// One of a node's stores.
enum MemberStore {
    /// The cluster has yet to make a range of it.
    Plain(Box<OpenStore<Store>>),
    /// Its ranges.
    Ranges(Box<OpenStore<FlashStore>>, BTreeMap<RangeId, RecoveredRange>),
}

impl MemberStore {
    /// Opens it to be dumped. Where its log is damaged, that is told, and it has what was written before.
    fn open(directory: &MemberDirectory, index: usize, damaged: &mut Vec<String>) -> anyhow::Result<Self> {
        let path = directory.store_path(index);
        let options = unbounded(index, directory.stores(), secret_of(directory)?);
        let error = match Self::try_open(directory, index, &options) {
            Err(error) => error,
            Ok(held) => return Ok(held),
        };
        let damage = error.at(path.display());
        if !matches!(&error, AdoptError::Open(error) if error.is_of_log()) {
            bail!(damage);
        }
        match Self::try_open(directory, index, &Options { salvage: true, ..options }) {
            Ok(held @ Self::Ranges(..)) if !held.is_empty() => {
                damaged.push(salvaged(&damage));
                Ok(held)
            }
            // What its ranges are is in the log alone.
            _ => bail!("{damage}; without it the contents of this store are unknown, and the dump has nothing of it"),
        }
    }

    /// Whether there is no range.
    fn is_empty(&self) -> bool {
        matches!(self, Self::Ranges(_, ranges) if ranges.is_empty())
    }

    fn open_with(
        directory: &MemberDirectory,
        index: usize,
        options: impl FnOnce(Secret) -> Options,
    ) -> anyhow::Result<Self> {
        let options = options(secret_of(directory)?);
        let opened = Self::try_open(directory, index, &options);
        opened.map_err(|error| anyhow!(error.at(directory.store_path(index).display())))
    }

    fn try_open(directory: &MemberDirectory, index: usize, options: &Options) -> Result<Self, AdoptError> {
        let (path, interval) = (directory.store_path(index), directory.interval(index));
        let files = Overlay::new(Files::look(&path).map_err(OpenError::from)?);
        // One that is salvaged may lack what tells it from a plain one.
        if !options.salvage {
            match Store::open(Options { interval, ..options.clone() }, &files, unix_now()) {
                Ok((store, maintenance, _)) => {
                    return Ok(Self::Plain(Box::new(OpenStore { store, maintenance, files, path })));
                }
                Err(OpenError::Replicated) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let opened = FlashStore::open_plain(options.clone(), &files, interval)?;
        let OpenedStore { store, maintenance, ranges, .. } = opened;
        Ok(Self::Ranges(Box::new(OpenStore { store, maintenance, files, path }), ranges))
    }
}

/// Where its keys lie.
fn secret_of(directory: &MemberDirectory) -> anyhow::Result<Secret> {
    directory.secret().with_context(|| format!("{} holds no data yet", directory.path().display()))
}

/// What both kinds of stores have to be given and asked for, so that they go on.
trait Halves {
    fn store(&self) -> &Store;
    fn take_batch(&mut self) -> Option<Batch>;
    fn committed(&mut self, committed: WrittenBatch);
    fn take_work(&mut self) -> Option<MaintenanceWork>;
    fn handle(&mut self, event: MaintenanceEvent);
    fn step(&mut self) -> bool;
}

macro_rules! halves {
    ($kind:ty, $self:ident => $store:expr) => {
        impl Halves for $kind {
            fn store(&$self) -> &Store {
                $store
            }

            fn take_batch(&mut self) -> Option<Batch> {
                self.take_batch(0)
            }

            fn committed(&mut self, committed: WrittenBatch) {
                self.committed(committed);
            }

            fn take_work(&mut self) -> Option<MaintenanceWork> {
                self.take_work()
            }

            fn handle(&mut self, event: MaintenanceEvent) {
                self.handle(event);
            }

            fn step(&mut self) -> bool {
                self.step(usize::MAX)
            }
        }
    };
}

halves!(Store, self => self);
halves!(FlashStore, self => self.store());

/// A store and what works for it, one piece after the other.
struct OpenStore<S, F: Flash = Overlay<Files>> {
    store: S,
    maintenance: Maintenance,
    files: F,
    path: PathBuf,
}

impl<S: Halves, F: Flash> OpenStore<S, F> {
    /// Goes on until there is nothing to do. Nothing is merged: what a merge writes would stay in memory.
    fn rest(&mut self) -> anyhow::Result<()> {
        loop {
            if let Some(batch) = self.store.take_batch() {
                let result = self.files.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
                self.store.committed(WrittenBatch { batch, result });
            }
            while let Some(work) = self.store.take_work() {
                if !matches!(work, MaintenanceWork::Merge(_)) {
                    self.maintenance.submit(work);
                }
            }
            match self.maintenance.step(&self.files) {
                Step::Event(event) => {
                    self.store.handle(event);
                    while self.store.step() {}
                }
                Step::More => {}
                Step::Idle | Step::Stalled => break,
            }
        }
        match self.store.store().stopped() {
            Some(why) => bail!("{}: {why}", self.path()),
            None => Ok(()),
        }
    }

    fn stats(mut self) -> anyhow::Result<Stats> {
        // A budget that is tried out calls for merges; a store that waits for one begins no other.
        self.rest()?;
        let stats = self.store.store().stats();
        let unread = stats.index.slices - stats.index.slices_loaded;
        if unread > 0 {
            let path = self.path();
            bail!(
                "{path}: the index of {unread} of {} slices cannot be read: see `fawn store check`",
                stats.index.slices
            );
        }
        Ok(stats)
    }

    fn path(&self) -> impl Display {
        self.path.display()
    }
}

impl OpenStore<Store> {
    /// A value that has a file of its own.
    fn large_value(&self, stub: &[u8]) -> Result<Vec<u8>, Damage> {
        let damage = |file, what: &str| Damage { file, offset: 0, what: what.to_owned() };
        let stub = Stub::decode(stub).ok_or_else(|| damage(FileId::CommitLog, "a stub that makes no sense"))?;
        let mut pages = PageBuf::zeroed(stub.pages() as usize);
        let read = self.files.read(stub.id(), 0, pages.pages_mut());
        read.map_err(|error| damage(stub.id(), &error.to_string()))?;
        let value = stub.value(&pages).map(<[u8]>::to_vec);
        value.ok_or_else(|| damage(stub.id(), "the value's checksum does not match"))
    }

    fn dump(
        &mut self,
        each: &mut impl FnMut(Record) -> anyhow::Result<()>,
        DumpFindings { lost, expired, .. }: &mut DumpFindings,
    ) -> anyhow::Result<()> {
        let now = set_now().unwrap_or(0);
        self.store.seal().map_err(|refusal| anyhow!("{}: {refusal}", self.path()))?;
        self.rest()?;
        let mut parts = VecDeque::from([self.store.options().interval]);
        while let Some(keys) = parts.pop_front() {
            // Those that have expired are counted.
            self.store.scan(keys, PART_BYTES, 0);
            self.rest()?;
            let part = self.store.reports().take_scanned().context("a scan ends with a part")?;
            if let Some(why) = part.error {
                bail!("{}: {why}", self.path());
            }
            if let Some(more) = &part.lost {
                Losses::add(lost, more.records, &more.damage);
            }
            let mut records = &part.records[..];
            while !records.is_empty() {
                let (record, used) = Stored::decode(records).map_err(|error| anyhow!("{error}"))?;
                records = &records[used..];
                if record.expiry != 0 && record.expiry <= now {
                    *expired += u64::from(matches!(record.kind, Kind::Value | Kind::Stub));
                    continue;
                }
                let value = match record.kind {
                    Kind::Value => record.value.to_vec(),
                    Kind::Stub => match self.large_value(record.value) {
                        Ok(value) => value,
                        Err(damage) => {
                            Losses::add(lost, 1, &damage);
                            continue;
                        }
                    },
                    Kind::Delete | Kind::Lost => continue,
                };
                let (flags, exptime) = (record.client_flags, record.expiry);
                each(Record { key: record.key.to_vec(), value, flags, exptime, cas: 0 })?;
            }
            parts.extend(part.next.map(|low| Interval::new(low, keys.high)));
        }
        Ok(())
    }
}

impl OpenStore<FlashStore> {
    /// Takes for committed what is in the log: after a stop of all replicas nobody else knows better, and what was acknowledged
    /// is in it. How many writes those are.
    fn settle(&mut self, range: RangeId, recovered: &mut RecoveredRange) -> anyhow::Result<usize> {
        let entries = std::mem::take(&mut recovered.entries);
        for entry in &entries {
            let lies = self.store.store().options().secret.position(&entry.key);
            self.store.commit(range, entry, &lies);
            recovered.meta.commit(entry);
            self.rest()?;
        }
        Ok(entries.iter().filter(|entry| matches!(entry.change, Change::Value(_) | Change::Delete)).count())
    }

    /// Hands a range's live records to `each`, those whose writes are in the log alone too.
    fn dump_settled(
        &mut self,
        range: RangeId,
        recovered: &mut RecoveredRange,
        each: &mut impl FnMut(Record) -> anyhow::Result<()>,
        found: &mut DumpFindings,
    ) -> anyhow::Result<()> {
        found.unsettled += self.settle(range, recovered)?;
        self.dump(range, recovered, each, &mut found.expired)
    }

    fn dump(
        &mut self,
        range: RangeId,
        recovered: &RecoveredRange,
        each: &mut impl FnMut(Record) -> anyhow::Result<()>,
        expired: &mut u64,
    ) -> anyhow::Result<()> {
        let meta = &recovered.meta;
        let time = meta.alive.time.max(set_now().unwrap_or(0));
        let mut from = None;
        loop {
            let part = self.part(range, from, recovered)?;
            for kept in part.kept {
                let place = self.store.store().options().secret.position(&kept.key);
                let shows = |version: &Version, time| meta.alive.shows_at(&place, version, kept.position.seq, time);
                let Some(version) = kept.version else { continue };
                if shows(&version, time) {
                    each(Record {
                        key: kept.key,
                        value: version.value,
                        flags: version.flags,
                        exptime: version.expiry,
                        cas: 0,
                    })?;
                } else {
                    *expired += u64::from(shows(&version, meta.alive.time));
                }
            }
            match part.next {
                Some(next) => from = Some(next),
                None => return Ok(()),
            }
        }
    }

    fn part(&mut self, range: RangeId, from: Option<Key>, recovered: &RecoveredRange) -> anyhow::Result<Part> {
        match self.store.scan(range, from, Seq(0), recovered.meta.committed, 1) {
            Scan::Known(part) => Ok(part),
            Scan::Later => {
                self.rest()?;
                match self.store.take_answer() {
                    Some((_, Answer::Part(part))) => Ok(part),
                    Some((_, Answer::Failed(why) | Answer::Refused(why))) => bail!("{}: {why}", self.path()),
                    Some((_, Answer::Version(_))) | None => bail!("a scan of range {} returned nothing", range.0),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fawn_flash::{Caching, Db, DbOptions, Extras};
    use fawn_kv::ids::{Attempt, ClusterId, Epoch, Position};
    use fawn_kv::range::entry::Entry;

    use super::*;

    fn dumped(directory: &MemberDirectory) -> Vec<Record> {
        let mut records = Vec::new();
        dump(directory, |record| {
            records.push(record);
            Ok(())
        })
        .unwrap();
        records.sort_by(|one, other| one.key.cmp(&other.key));
        records
    }

    #[test]
    fn a_nodes_directory_is_printed_as_it_was_when_it_was_plain() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let db = Db::open(&path, DbOptions { stores: 2, ..DbOptions::default() }).unwrap();
        let mut expected = Vec::new();
        for n in 0..200_u32 {
            let (key, value) = (format!("key{n:03}").into_bytes(), vec![n as u8; n as usize]);
            db.put_with(&key, &value, Extras { flags: n, ..Extras::default() }).unwrap();
            if n % 5 == 0 {
                db.delete(&key).unwrap();
            } else {
                expected.push(Record { key, value, flags: n, exptime: 0, cas: 0 });
            }
        }
        db.close().unwrap();
        let mut directory = MemberDirectory::open(&path, 1).unwrap();
        let secret = directory.secret().unwrap();
        directory.set_enrolled([7; 16], secret, "a", 1).unwrap();
        assert_eq!(dumped(&directory), expected, "before the cluster has made ranges of it");
        for index in 0..2 {
            let files = directory.files(index, Caching::Auto).unwrap();
            let (number, count) = (index as u32, 2);
            let options = Options { index: number, count, segment_bytes: 16 << 20, ..Options::new(secret, 1 << 30) };
            let opened = FlashStore::open_plain(options, &files, directory.interval(index)).unwrap();
            let OpenedStore { store, maintenance, .. } = opened;
            let mut open = OpenStore { store, maintenance, files, path: path.clone() };
            open.rest().unwrap();
            open.store.adopt(ClusterId([7; 16]), RangeId(2 + number)).unwrap();
            open.store.hurry();
            open.rest().unwrap();
            open.store.close();
            open.rest().unwrap();
        }
        assert_eq!(dumped(&directory), expected);
        let stores = stats(&directory, Budget { memory: 16 << 20, miss_filter: false }).unwrap();
        assert_eq!(stores.iter().map(|store| store.entries).sum::<u64>(), 160);
        for index in 0..2 {
            let files = directory.files(index, Caching::Auto).unwrap();
            assert!(
                fawn_store::check::check(&files, |_, _| ()).unwrap().clean,
                "store {index} is left as it was found"
            );
        }
        assert_eq!(dumped(&directory), expected, "looking changes nothing");
    }

    #[test]
    fn a_write_that_is_in_the_log_alone_is_printed() {
        let parent = tempfile::tempdir().unwrap();
        let mut directory = MemberDirectory::open(&parent.path().join("n1"), 1).unwrap();
        let secret = Secret([5; 32]);
        directory.set_enrolled([7; 16], secret, "n1", 1).unwrap();
        let files = directory.files(0, Caching::Auto).unwrap();
        let opened = FlashStore::open(unbounded(0, 1, secret), &files).unwrap();
        let path = directory.store_path(0);
        let mut open = OpenStore { store: opened.store, maintenance: opened.maintenance, files, path };
        let (all, part) = (RangeId(1), RangeId(2));
        let [low, high] = Interval::ALL.divide(2)[..] else { panic!("two halves") };
        open.store.join(ClusterId([7; 16]));
        open.store.create(all, low);
        open.store.create(part, high);
        open.store.hold(all, Attempt(0));
        let is_low = |key: &Vec<u8>| low.contains(&secret.position(key));
        let keys: Vec<Vec<u8>> = (0..40).map(|n| format!("key-{n}").into_bytes()).filter(is_low).collect();
        for (number, key) in keys.iter().enumerate() {
            let version = Version { value: vec![7], flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
            let position = Position { epoch: Epoch(1), seq: Seq(number as u64 + 1) };
            let entry = Entry { position, time: 1, key: key.clone(), change: Change::Value(version), asked: None };
            open.store.append(all, &Arc::new(entry));
            if number == keys.len() / 2 {
                open.rest().unwrap();
            }
        }
        open.store.hurry();
        open.rest().unwrap();
        open.store.close();
        open.rest().unwrap();
        drop(open);
        let print = || {
            let mut printed = Vec::new();
            let found = dump(&directory, |record| {
                printed.push(record.key);
                Ok(())
            });
            printed.sort();
            (printed, found.unwrap())
        };
        let (printed, found) = print();
        let last = keys.last().unwrap().clone();
        let mut expected = keys;
        expected.sort();
        assert_eq!(printed, expected);
        assert_eq!((found.unsettled, found.left_out), (expected.len(), vec![part.0]));

        // What lies before the damage is printed.
        let log = directory.store_path(0).join("commit-log");
        let mut bytes = std::fs::read(&log).unwrap();
        let at = bytes.windows(last.len()).position(|window| window == last).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&log, &bytes).unwrap();
        let (printed, found) = print();
        assert!(printed.len() > expected.len() / 2 && printed.len() < expected.len(), "{printed:?}");
        assert!(!found.is_complete() && found.damaged.len() == 1, "{:?}", found.damaged);
        let named = format!("{} is damaged at byte", log.display());
        assert!(found.damaged[0].starts_with(&named) && found.damaged[0].contains("newer writes"), "{found:?}");
        // Without its beginning, the log does not say what the store holds.
        bytes[0] ^= 1;
        std::fs::write(&log, &bytes).unwrap();
        let (printed, found) = print();
        assert!(printed.is_empty() && found.damaged[0].contains("the dump has nothing of it"), "{found:?}");
    }
}
