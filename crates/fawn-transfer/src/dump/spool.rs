//! What has come of stretches of keys that are not over: sorted runs in a file, merged when a stretch is, so that of each key
//! the newest version counts and memory is bounded however much there is.
//!
//! A pass over a range is one run, however often it is saved meanwhile. Runs of records are small: several become one, and so
//! on, so that there are few to be read side by side.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use fawn_client::Cut;
use fawn_kv::range::entry::Kept;
use fawn_ring::{Interval, Key};
use rustix::fs::FallocateFlags;

pub use super::runs::Runs;
use super::runs::head_of;

/// Bytes of records that are sorted in memory, about.
const SORTED_BYTES: usize = 8 << 20;

/// Bytes written at a time.
const WRITE_BYTES: usize = 64 << 10;

/// The file, and what is not in it yet.
pub struct Spool {
    /// What messages call it.
    name: String,
    file: Arc<File>,
    writer: BufWriter<Arc<File>>,
    runs: Runs,
    /// Where the run under way began, and the last position in it.
    open: Option<(u64, Key)>,
    /// Bytes of the file.
    length: u64,
    /// Parts of the file that nobody needs once what has come is saved.
    free: Vec<(u64, u64)>,
    /// Records that came in another order.
    records: BTreeMap<(Key, Vec<u8>), Kept>,
    bytes: usize,
}

impl Spool {
    /// That at `path`, as far as these runs go; whatever comes after them goes. Nobody else may read it: it has what a store has.
    pub fn open(path: &Path, runs: Runs) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).read(true).write(true).truncate(false).mode(0o600).open(path)?;
        let length = runs.end();
        if file.metadata()?.len() < length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is shorter than the data written to it"));
        }
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Self::of(path.display().to_string(), file, runs))
    }

    /// One that nobody goes on with: a file without a name, in the directory for such.
    pub fn temporary() -> io::Result<Self> {
        let name = format!("an unnamed file in {}", std::env::temp_dir().display());
        Ok(Self::of(name, tempfile::tempfile()?, Runs::default()))
    }

    fn of(name: String, file: File, runs: Runs) -> Self {
        let file = Arc::new(file);
        let writer = BufWriter::with_capacity(WRITE_BYTES, Arc::clone(&file));
        let length = runs.end();
        Self { name, file, writer, runs, open: None, length, free: Vec::new(), records: BTreeMap::new(), bytes: 0 }
    }

    /// A part of a pass has come, in the order of positions.
    pub fn add_part(&mut self, kept: impl Iterator<Item = (Key, Kept)>) -> io::Result<()> {
        for (lies, kept) in kept {
            if self.open.is_some_and(|(_, last)| lies < last) {
                self.close_run()?;
            }
            let began = self.open.map_or(self.length, |(began, _)| began);
            self.put(&lies, &kept)?;
            self.open = Some((began, lies));
        }
        Ok(())
    }

    /// Records have come, in the order in which they were committed.
    pub fn add_records(&mut self, kept: impl Iterator<Item = (Key, Kept)>) -> io::Result<()> {
        for (lies, kept) in kept {
            self.bytes += kept.bytes();
            self.records.insert((lies, kept.key.clone()), kept);
        }
        if self.bytes >= SORTED_BYTES { self.sort() } else { Ok(()) }
    }

    /// What has come of these keys does not count.
    pub fn begin_anew(&mut self, keys: Interval) -> io::Result<()> {
        self.sort()?;
        self.runs.begin_anew(keys);
        Ok(())
    }

    /// Nothing that has come so far is needed any more, once that is [saved](Self::save).
    pub fn forget(&mut self) {
        (self.runs, self.open, self.bytes) = (Runs::default(), None, 0);
        self.records.clear();
    }

    /// Writes down all that has come: the runs are what there is then.
    pub fn save(&mut self) -> io::Result<Runs> {
        if !self.records.is_empty() {
            self.sort()?;
        }
        self.writer.flush()?;
        self.file.sync_data()?;
        let mut runs = self.runs.clone();
        if let Some((began, _)) = self.open {
            runs.push((began, self.length));
        }
        Ok(runs)
    }

    /// What was saved last is safe: the space of whatever it does not need goes back.
    pub fn give_back(&mut self) -> io::Result<()> {
        let free = std::mem::take(&mut self.free);
        if self.runs.is_empty() && self.open.is_none() && self.length > 0 {
            self.writer.flush()?;
            self.file.set_len(0)?;
            (&*self.file).seek(SeekFrom::Start(0))?;
            self.length = 0;
            return Ok(());
        }
        for (from, upto) in free {
            // Where files have no holes it goes with the file.
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(&self.file, hole, from, upto - from);
        }
        Ok(())
    }

    /// Names that the file has.
    #[cfg(test)]
    pub fn links(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt as _;
        Ok(self.file.metadata()?.nlink())
    }

    /// Ends the run under way, and makes one of the records.
    fn sort(&mut self) -> io::Result<()> {
        self.close_run()?;
        let began = self.length;
        for ((lies, _), kept) in std::mem::take(&mut self.records) {
            self.put(&lies, &kept)?;
        }
        self.bytes = 0;
        self.end_run(began)
    }

    fn close_run(&mut self) -> io::Result<()> {
        self.open.take().map_or(Ok(()), |(began, _)| self.end_run(began))
    }

    /// There is a run from `began` on. Several may become one.
    fn end_run(&mut self, began: u64) -> io::Result<()> {
        if self.length == began {
            return Ok(());
        }
        self.runs.push((began, self.length));
        while let Some(which) = self.runs.to_merge() {
            self.writer.flush()?;
            let mut merge = self.runs.read(&self.file, which.clone(), Interval::ALL)?;
            let began = self.length;
            while let Some((lies, kept)) = merge.next()? {
                self.put(&lies, &kept)?;
            }
            self.free.extend(self.runs.merged(&which, (began, self.length)));
        }
        Ok(())
    }

    fn put(&mut self, lies: &Key, kept: &Kept) -> io::Result<()> {
        let bytes = postcard::to_allocvec(&(lies, kept)).map_err(io::Error::other)?;
        let head = head_of(&bytes)?;
        self.writer.write_all(&head)?;
        self.writer.write_all(&bytes)?;
        self.length += (head.len() + bytes.len()) as u64;
        Ok(())
    }

    /// Gives what was there of a stretch as of its end, each key once, in the order of positions.
    pub fn merge(&mut self, cut: &Cut, mut give: impl FnMut(Kept) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.sort()?;
        self.writer.flush()?;
        let unread = || format!("cannot read {}; start from the beginning with --restart", self.name);
        let mut merge = self.runs.read_all(&self.file, cut.keys).with_context(unread)?;
        while let Some((lies, kept)) = merge.next().with_context(unread)? {
            if cut.shows(&kept, &lies) {
                give(kept)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use fawn_kv::ids::{Epoch, Position, RangeId, Seq};
    use fawn_kv::range::entry::Version;
    use fawn_kv::range::meta::Alive;

    use super::*;

    pub fn kept(place: u64, seq: u64, is_there: bool) -> (Key, Kept) {
        let value = seq.to_string().into_bytes();
        let version = Version { value, flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
        let position = Position { epoch: Epoch(1), seq: Seq(seq) };
        let key = place.to_string().into_bytes();
        (Key::lowest_with_prefix(place), Kept { key, position, version: is_there.then_some(version) })
    }

    pub fn keys(low: u64, high: u64) -> Interval {
        Interval::new(Key::lowest_with_prefix(low), Key::highest_with_prefix(high))
    }

    pub fn cut(keys: Interval) -> Cut {
        let at = Position { epoch: Epoch(1), seq: Seq(99) };
        Cut { keys, range: RangeId(1), at, passes: 1, alive: Alive::default() }
    }

    fn merged(spool: &mut Spool, keys: Interval) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        let give = |kept: Kept| {
            all.push((String::from_utf8(kept.key).unwrap(), kept.position.seq.0));
            Ok(())
        };
        spool.merge(&cut(keys), give).unwrap();
        all
    }

    #[test]
    fn of_each_key_the_newest_comes_once_in_the_order_of_positions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spool");
        let mut spool = Spool::open(&path, Runs::default()).unwrap();
        spool.add_part([kept(1, 1, true), kept(2, 2, true)].into_iter()).unwrap();
        spool.add_part([kept(3, 9, true), kept(5, 4, true)].into_iter()).unwrap();
        // Another pass, with what was deleted.
        spool.add_part([kept(2, 11, false), kept(4, 12, true)].into_iter()).unwrap();
        spool.add_records([kept(5, 14, true), kept(1, 15, true), kept(5, 16, true)].into_iter()).unwrap();
        let told = |all: &[(&str, u64)]| all.iter().map(|(key, seq)| ((*key).to_owned(), *seq)).collect::<Vec<_>>();
        assert_eq!(merged(&mut spool, keys(0, 4)), told(&[("1", 15), ("3", 9), ("4", 12)]));
        assert_eq!(merged(&mut spool, keys(5, 9)), told(&[("5", 16)]), "what was split off comes later");
    }

    #[test]
    fn what_began_anew_does_not_come() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spool");
        let mut spool = Spool::open(&path, Runs::default()).unwrap();
        spool.add_part([kept(1, 1, true), kept(7, 2, true)].into_iter()).unwrap();
        spool.begin_anew(keys(0, 4)).unwrap();
        spool.add_part([kept(2, 3, true)].into_iter()).unwrap();
        assert_eq!(merged(&mut spool, keys(0, 4)), [("2".to_owned(), 3)]);
        assert_eq!(merged(&mut spool, keys(5, 9)), [("7".to_owned(), 2)]);
    }

    #[test]
    fn what_was_saved_is_there_again_and_nothing_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spool");
        let mut spool = Spool::open(&path, Runs::default()).unwrap();
        spool.add_part([kept(1, 1, true)].into_iter()).unwrap();
        spool.add_records([kept(3, 2, true)].into_iter()).unwrap();
        let runs = spool.save().unwrap();
        spool.add_part([kept(2, 3, true)].into_iter()).unwrap();
        drop(spool);
        let mut spool = Spool::open(&path, runs.clone()).unwrap();
        spool.add_part([kept(4, 4, true)].into_iter()).unwrap();
        let all = merged(&mut spool, keys(0, 9));
        assert_eq!(all, [("1".to_owned(), 1), ("3".to_owned(), 2), ("4".to_owned(), 4)]);
        spool.forget();
        assert!(Spool::open(&path, runs.clone()).is_ok(), "it is there until that is saved");
        spool.save().unwrap();
        spool.give_back().unwrap();
        assert_eq!(merged(&mut spool, keys(0, 9)), []);
        assert!(Spool::open(&path, runs).is_err(), "a file that lacks what was written is refused");
    }

    #[test]
    fn a_pass_is_one_run_however_often_it_is_saved() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spool");
        let mut spool = Spool::open(&path, Runs::default()).unwrap();
        let mut saved = Runs::default();
        for place in 1..=100 {
            spool.add_part([kept(place, place, true)].into_iter()).unwrap();
            saved = spool.save().unwrap();
        }
        assert_eq!(saved.len(), 1);
        let all: Vec<u64> = merged(&mut spool, keys(0, 5000)).iter().map(|(_, seq)| *seq).collect();
        assert_eq!(all, (1..=100).collect::<Vec<_>>());
        let mut spool = Spool::open(&path, saved).unwrap();
        assert_eq!(merged(&mut spool, keys(0, 5000)).len(), 100, "what was saved has all of it");
    }

    #[test]
    fn records_that_are_saved_all_the_time_need_few_runs_and_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spool");
        let mut spool = Spool::open(&path, Runs::default()).unwrap();
        let mut newest = BTreeMap::new();
        for seq in 1..=500_u64 {
            let place = seq * 7919 % 97;
            if seq == 201 {
                // In the middle of those that become one next.
                spool.begin_anew(keys(0, 49)).unwrap();
                newest.retain(|place, _| *place > 49);
            }
            spool.add_records([kept(place, seq, seq % 5 > 0)].into_iter()).unwrap();
            newest.insert(place, (seq, seq % 5 > 0));
            assert!(spool.save().unwrap().len() < 20);
            spool.give_back().unwrap();
        }
        let saved = spool.save().unwrap();
        let there = |low: u64, high: u64| {
            let of = newest.range(low..=high).filter(|(_, (_, is_there))| *is_there);
            of.map(|(place, (seq, _))| (place.to_string(), *seq)).collect::<Vec<_>>()
        };
        for mut spool in [spool, Spool::open(&path, saved).unwrap()] {
            // It is read by the handle that it is written by.
            let _ = std::fs::remove_file(&path);
            assert_eq!(merged(&mut spool, keys(0, 49)), there(0, 49));
            assert_eq!(merged(&mut spool, keys(50, 99)), there(50, 99));
        }
    }
}
