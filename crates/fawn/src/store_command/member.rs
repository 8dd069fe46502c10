//! What the stores of a cluster's node hold, while it does not run: figures, and the records of the ranges that are all
//! there, as far as the node knows them to be committed.

use std::collections::{BTreeMap, VecDeque};

use anyhow::{Context, anyhow, bail};
use fawn_flash::{Caching, Directory, Files, MemberDirectory, Stats};
use fawn_kv::entry::Version;
use fawn_kv::ids::{RangeId, Seq};
use fawn_kv::store::{Answer, FlashStore, Opened, Part, RangeStore as _, Recovered, Scan};
use fawn_ring::{Interval, Key, Secret};
use fawn_store::flash::{FileId, Flash as _};
use fawn_store::record::{Kind, Record as Stored};
use fawn_store::work::{Event, Work};
use fawn_store::{Batch, Committed, Losses, Maintenance, OpenError, Options, Step, Store};

use crate::client::unix_now;
use crate::records::Record;

pub mod cluster;

/// Bytes of records that are read at a time.
const PART_BYTES: usize = 1 << 20;

/// Hands every live record of the stores to `each`; what of them damage has taken.
///
/// # Errors
/// What else cannot be read, and those of `each`.
pub fn dump(
    directory: &MemberDirectory,
    mut each: impl FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<Option<Losses>> {
    let mut lost = None;
    for index in 0..directory.stores() {
        match Held::open(directory, index)? {
            Held::Plain(mut open) => {
                open.dump(&mut each, &mut lost)?;
                open.close()?;
            }
            Held::Ranges(mut open, ranges) => {
                open.store.pass_over_lost();
                for (range, recovered) in ranges {
                    open.dump(range, &recovered, &mut each)?;
                }
                if let Some(more) = open.store.passed_over() {
                    Losses::add(&mut lost, more.records, &more.damage);
                }
                open.close()?;
            }
        }
    }
    Ok(lost)
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
    let of =
        |index| match Held::open_with(directory, index, |secret| budget.options(index, directory.stores(), secret))? {
            Held::Plain(open) => open.stats(),
            Held::Ranges(open, _) => open.stats(),
        };
    (0..directory.stores()).map(of).collect()
}

/// The same of a plain directory.
///
/// # Errors
/// What cannot be read.
pub fn plain_stats(directory: &Directory, budget: Budget) -> anyhow::Result<Vec<Stats>> {
    let of = |index| {
        let path = directory.store_path(index);
        let files = directory.files(index, Caching::Auto)?;
        let options = budget.options(index, directory.stores(), directory.secret());
        let options = Options { interval: directory.interval(index), ..options };
        let opened = Store::open(options, &files, unix_now());
        let (store, maintenance, _) = opened.with_context(|| format!("{} cannot be opened", path.display()))?;
        Open { store, maintenance, files }.stats()
    };
    (0..directory.stores()).map(of).collect()
}

/// One of a node's stores.
enum Held {
    /// The cluster has yet to make a range of it.
    Plain(Box<Open<Store>>),
    /// Its ranges.
    Ranges(Box<Open<FlashStore>>, BTreeMap<RangeId, Recovered>),
}

impl Held {
    fn open(directory: &MemberDirectory, index: usize) -> anyhow::Result<Self> {
        let (number, count) = (index as u32, directory.stores() as u32);
        let unbounded =
            |secret| Options { index: number, count, segment_bytes: 16 << 20, ..Options::new(secret, u64::MAX / 4) };
        Self::open_with(directory, index, unbounded)
    }

    fn open_with(
        directory: &MemberDirectory,
        index: usize,
        options: impl FnOnce(Secret) -> Options,
    ) -> anyhow::Result<Self> {
        let path = directory.store_path(index);
        let secret = directory.secret().with_context(|| format!("{} holds nothing yet", directory.path().display()))?;
        let files = directory.files(index, Caching::Auto)?;
        let options = options(secret);
        let fails = || format!("{} cannot be opened", path.display());
        match Store::open(Options { interval: directory.interval(index), ..options.clone() }, &files, unix_now()) {
            Ok((store, maintenance, _)) => Ok(Self::Plain(Box::new(Open { store, maintenance, files }))),
            Err(OpenError::Replicated) => {
                let opened = FlashStore::open_plain(options, &files, directory.interval(index)).with_context(fails)?;
                let Opened { store, maintenance, ranges, .. } = opened;
                Ok(Self::Ranges(Box::new(Open { store, maintenance, files }), ranges))
            }
            Err(error) => Err(error).with_context(fails),
        }
    }
}

/// What both kinds of stores have to be given and asked for, so that they go on.
trait Halves {
    fn store(&self) -> &Store;
    fn take_batch(&mut self) -> Option<Batch>;
    fn committed(&mut self, committed: Committed);
    fn take_work(&mut self) -> Option<Work>;
    fn handle(&mut self, event: Event);
    fn step(&mut self) -> bool;
    fn hurry(&mut self);
    fn close(&mut self);
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

            fn committed(&mut self, committed: Committed) {
                self.committed(committed);
            }

            fn take_work(&mut self) -> Option<Work> {
                self.take_work()
            }

            fn handle(&mut self, event: Event) {
                self.handle(event);
            }

            fn step(&mut self) -> bool {
                self.step(usize::MAX)
            }

            fn hurry(&mut self) {
                self.hurry();
            }

            fn close(&mut self) {
                self.close();
            }
        }
    };
}

halves!(Store, self => self);
halves!(FlashStore, self => self.store());

/// A store and what works for it, one piece after the other.
struct Open<S> {
    store: S,
    maintenance: Maintenance,
    files: Files,
}

impl<S: Halves> Open<S> {
    /// Goes on until there is nothing to do.
    fn rest(&mut self) -> anyhow::Result<()> {
        self.rest_but_for(|_| false)
    }

    /// The same without the work that is to be left.
    fn rest_but_for(&mut self, is_left: impl Fn(&Work) -> bool) -> anyhow::Result<()> {
        loop {
            if let Some(batch) = self.store.take_batch() {
                let result = self.files.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
                self.store.committed(Committed { batch, result });
            }
            while let Some(work) = self.store.take_work() {
                if !is_left(&work) {
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
            Some(why) => bail!("{}: {why}", self.files.path().display()),
            None => Ok(()),
        }
    }

    fn stats(mut self) -> anyhow::Result<Stats> {
        // A budget that is tried out calls for merges; a store that waits for one begins no other.
        self.rest_but_for(|work| matches!(work, Work::Merge(_)))?;
        let stats = self.store.store().stats();
        let unread = stats.slices - stats.slices_loaded;
        if unread > 0 {
            let path = self.files.path().display();
            bail!(
                "{path}: the index of {unread} of {} slices cannot be read: `fawn store check` says why",
                stats.slices
            );
        }
        // Whoever stopped it cleanly finds it so afterwards.
        self.close()?;
        Ok(stats)
    }

    fn close(mut self) -> anyhow::Result<()> {
        self.store.hurry();
        self.rest()?;
        self.store.close();
        self.rest()
    }
}

impl Open<Store> {
    fn dump(
        &mut self,
        each: &mut impl FnMut(Record) -> anyhow::Result<()>,
        lost: &mut Option<Losses>,
    ) -> anyhow::Result<()> {
        self.store.seal().map_err(|refusal| anyhow!("{}: {refusal}", self.files.path().display()))?;
        self.rest()?;
        let mut parts = VecDeque::from([self.store.interval()]);
        while let Some(keys) = parts.pop_front() {
            self.store.scan(keys, PART_BYTES, unix_now());
            self.rest()?;
            let part = self.store.take_scanned().context("a scan ends with a part")?;
            if let Some(why) = part.error {
                bail!("{}: {why}", self.files.path().display());
            }
            if let Some(more) = &part.lost {
                Losses::add(lost, more.records, &more.damage);
            }
            let mut records = &part.records[..];
            while !records.is_empty() {
                let (record, used) = Stored::decode(records).map_err(|error| anyhow!("{error}"))?;
                records = &records[used..];
                if record.kind == Kind::Value {
                    let (key, value) = (record.key.to_vec(), record.value.to_vec());
                    each(Record { key, value, flags: record.client_flags, exptime: record.expiry, cas: 0 })?;
                }
            }
            parts.extend(part.next.map(|low| Interval::new(low, keys.high)));
        }
        Ok(())
    }
}

impl Open<FlashStore> {
    fn dump(
        &mut self,
        range: RangeId,
        recovered: &Recovered,
        each: &mut impl FnMut(Record) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Recovered { meta, held: Some(_), .. } = recovered else {
            tracing::warn!("range {} is not all here: it is left out", range.0);
            return Ok(());
        };
        let time = meta.alive.time.max(unix_now());
        let mut from = None;
        loop {
            let part = self.part(range, from, recovered)?;
            for kept in part.kept {
                let place = self.store.store().secret().position(&kept.key);
                let shows = |version: &Version| meta.alive.shows_at(&place, version, kept.position.seq, time);
                if let Some(version) = kept.version.filter(shows) {
                    each(Record {
                        key: kept.key,
                        value: version.value,
                        flags: version.flags,
                        exptime: version.expiry,
                        cas: 0,
                    })?;
                }
            }
            match part.next {
                Some(next) => from = Some(next),
                None => return Ok(()),
            }
        }
    }

    fn part(&mut self, range: RangeId, from: Option<Key>, recovered: &Recovered) -> anyhow::Result<Part> {
        match self.store.scan(range, from, Seq(0), recovered.meta.committed, 1) {
            Scan::Known(part) => Ok(part),
            Scan::Later => {
                self.rest()?;
                match self.store.take_answer() {
                    Some((_, Answer::Part(part))) => Ok(part),
                    Some((_, Answer::Failed(why))) => bail!("{}: {why}", self.files.path().display()),
                    Some((_, Answer::Version(_))) | None => bail!("a scan of range {} came to nothing", range.0),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_flash::{Db, DbOptions, Extras};
    use fawn_kv::ids::ClusterId;

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
            let Opened { store, maintenance, .. } = opened;
            let mut open = Open { store, maintenance, files };
            open.rest().unwrap();
            open.store.adopt(ClusterId([7; 16]), RangeId(2 + number)).unwrap();
            open.close().unwrap();
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
}
