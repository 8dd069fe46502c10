//! What has come of stretches of keys that are not over: sorted runs in a file, merged when a stretch is, so that of each key
//! the newest version counts and memory is bounded however much there is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use fawn_client::Cut;
use fawn_kv::entry::Kept;
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

/// Bytes of records that are sorted in memory, about.
const SORTED_BYTES: usize = 8 << 20;

/// Bytes of each run that are read at once.
const READ_BYTES: usize = 64 << 10;

/// The longest record that is believed.
const MOST_BYTES: u32 = 160 << 20;

/// Where the runs lie, and which of them count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Each from a byte up to another, one after the other.
    runs: Vec<(u64, u64)>,
    /// Of these keys only runs from a number on count: they began anew.
    anew: Vec<(Interval, usize)>,
}

impl Runs {
    fn end(&self) -> u64 {
        self.runs.last().map_or(0, |(_, end)| *end)
    }

    /// The first run that counts of some keys.
    fn first_of(&self, keys: &Interval) -> usize {
        let began = self.anew.iter().rev().find(|(anew, _)| anew.contains(&keys.low));
        began.map_or(0, |(_, first)| *first)
    }
}

/// The file, and what is not in it yet.
pub struct Spool {
    file: BufWriter<File>,
    runs: Runs,
    /// Where the run under way began, and the last position in it.
    open: Option<(u64, Key)>,
    /// Bytes of the file.
    length: u64,
    /// Records that came in another order.
    records: BTreeMap<(Key, Vec<u8>), Kept>,
    bytes: usize,
}

impl Spool {
    /// That at `path`, as far as these runs go; whatever comes after them goes.
    pub fn open(path: &Path, runs: Runs) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path)?;
        let length = runs.end();
        if file.metadata()?.len() < length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is shorter than what was written to it"));
        }
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        let file = BufWriter::with_capacity(READ_BYTES, file);
        Ok(Self { file, runs, open: None, length, records: BTreeMap::new(), bytes: 0 })
    }

    /// A part of a pass has come, in the order of positions.
    pub fn add_part(&mut self, kept: impl Iterator<Item = (Key, Kept)>) -> io::Result<()> {
        for (lies, kept) in kept {
            if self.open.is_some_and(|(_, last)| lies < last) {
                self.close_run();
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
        self.runs.anew.push((keys, self.runs.runs.len()));
        Ok(())
    }

    /// Nothing that has come so far is needed any more, once that is [saved](Self::save).
    pub fn forget(&mut self) {
        (self.runs, self.open, self.bytes) = (Runs::default(), None, 0);
        self.records.clear();
    }

    /// Writes down all that has come: the runs are what there is then.
    pub fn save(&mut self) -> io::Result<Runs> {
        self.sort()?;
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        Ok(self.runs.clone())
    }

    /// What was saved last is safe: the space of whatever it does not need goes back.
    pub fn give_back(&mut self) -> io::Result<()> {
        let is_empty = self.runs.runs.is_empty() && self.open.is_none();
        if is_empty && self.length > 0 {
            self.file.flush()?;
            self.file.get_mut().set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.length = 0;
        }
        Ok(())
    }

    /// Ends the run under way, and makes one of the records.
    fn sort(&mut self) -> io::Result<()> {
        self.close_run();
        let began = self.length;
        for ((lies, _), kept) in std::mem::take(&mut self.records) {
            self.put(&lies, &kept)?;
        }
        self.bytes = 0;
        if self.length > began {
            self.runs.runs.push((began, self.length));
        }
        Ok(())
    }

    fn close_run(&mut self) {
        if let Some((began, _)) = self.open.take() {
            self.runs.runs.push((began, self.length));
        }
    }

    fn put(&mut self, lies: &Key, kept: &Kept) -> io::Result<()> {
        let bytes = postcard::to_allocvec(&(lies, kept)).map_err(io::Error::other)?;
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.file.write_all(&length.to_le_bytes())?;
        self.file.write_all(&bytes)?;
        self.length += 4 + u64::from(length);
        Ok(())
    }

    /// Gives what was there of a stretch as of its end, each key once, in the order of positions.
    pub fn merge(
        &mut self,
        path: &Path,
        cut: &Cut,
        mut give: impl FnMut(Kept) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.sort()?;
        self.file.flush()?;
        let counting = self.runs.runs.iter().skip(self.runs.first_of(&cut.keys));
        let mut runs = counting.map(|run| Run::open(path, *run, cut.keys)).collect::<io::Result<Vec<_>>>()?;
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter().enumerate() {
            heads.extend(run.place().map(|place| Reverse((place, number))));
        }
        let mut newest: Option<(Key, Kept)> = None;
        let mut give = |(lies, kept): (Key, Kept)| if cut.shows(&kept, &lies) { give(kept) } else { Ok(()) };
        while let Some(Reverse((_, number))) = heads.pop() {
            let Some((lies, kept)) = runs[number].take()? else { continue };
            heads.extend(runs[number].place().map(|place| Reverse((place, number))));
            match &mut newest {
                Some((_, known)) if known.key == kept.key => {
                    if kept.position > known.position {
                        *known = kept;
                    }
                }
                other => other.replace((lies, kept)).map_or(Ok(()), &mut give)?,
            }
        }
        newest.map_or(Ok(()), give)
    }
}

/// One run that is read.
struct Run {
    file: BufReader<io::Take<File>>,
    keys: Interval,
    next: Option<(Key, Kept)>,
}

impl Run {
    /// What a run has of some keys.
    fn open(path: &Path, (from, upto): (u64, u64), keys: Interval) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let file = BufReader::with_capacity(READ_BYTES, file.take(upto - from));
        let mut run = Self { file, keys, next: None };
        run.read_on()?;
        Ok(run)
    }

    /// The place of the next one, and its key.
    fn place(&self) -> Option<(Key, Vec<u8>)> {
        self.next.as_ref().map(|(lies, kept)| (*lies, kept.key.clone()))
    }

    fn take(&mut self) -> io::Result<Option<(Key, Kept)>> {
        let taken = self.next.take();
        self.read_on()?;
        Ok(taken)
    }

    fn read_on(&mut self) -> io::Result<()> {
        loop {
            let mut length = [0; 4];
            match self.file.read_exact(&mut length) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                read => read?,
            }
            let length = u32::from_le_bytes(length);
            if length > MOST_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a record has no such length"));
            }
            let mut bytes = vec![0; length as usize];
            self.file.read_exact(&mut bytes)?;
            let (lies, kept): (Key, Kept) = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
            if lies > self.keys.high {
                return Ok(());
            }
            if lies >= self.keys.low {
                self.next = Some((lies, kept));
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use fawn_kv::entry::Version;
    use fawn_kv::ids::{Epoch, Position, RangeId, Seq};
    use fawn_kv::meta::Alive;

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

    fn merged(spool: &mut Spool, path: &Path, keys: Interval) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        let give = |kept: Kept| {
            all.push((String::from_utf8(kept.key).unwrap(), kept.position.seq.0));
            Ok(())
        };
        spool.merge(path, &cut(keys), give).unwrap();
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
        assert_eq!(merged(&mut spool, &path, keys(0, 4)), told(&[("1", 15), ("3", 9), ("4", 12)]));
        assert_eq!(merged(&mut spool, &path, keys(5, 9)), told(&[("5", 16)]), "what was split off comes later");
    }

    #[test]
    fn what_began_anew_does_not_come() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spool");
        let mut spool = Spool::open(&path, Runs::default()).unwrap();
        spool.add_part([kept(1, 1, true), kept(7, 2, true)].into_iter()).unwrap();
        spool.begin_anew(keys(0, 4)).unwrap();
        spool.add_part([kept(2, 3, true)].into_iter()).unwrap();
        assert_eq!(merged(&mut spool, &path, keys(0, 4)), [("2".to_owned(), 3)]);
        assert_eq!(merged(&mut spool, &path, keys(5, 9)), [("7".to_owned(), 2)]);
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
        let all = merged(&mut spool, &path, keys(0, 9));
        assert_eq!(all, [("1".to_owned(), 1), ("3".to_owned(), 2), ("4".to_owned(), 4)]);
        spool.forget();
        assert!(Spool::open(&path, runs.clone()).is_ok(), "it is there until that is saved");
        spool.save().unwrap();
        spool.give_back().unwrap();
        assert_eq!(merged(&mut spool, &path, keys(0, 9)), []);
        assert!(Spool::open(&path, runs).is_err(), "a file that lacks what was written is refused");
    }
}
