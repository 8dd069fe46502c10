//! A dump of a cluster under way: what becomes of each event, and how far it is when it is interrupted.
//!
//! What is saved never names what is not there any more: a state takes the place of the one before, and only then goes what
//! that one needed.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fawn_client::{Bookmark, Cut, Event, What};
use fawn_kv::range::entry::Kept;
use fawn_ring::Key;

use super::leftovers::{DumpPhase, Leftovers};
use super::output::{Output, cannot_write};
use super::spool::Spool;
use super::state::{DumpState, DumpedInterval, Paths, find};
use crate::client::unix_now;
use crate::records::{Format, Record};

/// Between two saves.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// A dump under way.
pub struct ResumableDump {
    /// `None`: into a stream, with which nobody goes on.
    paths: Option<Paths>,
    output: Output,
    format: Format,
    spool: Spool,
    state: DumpState,
    goes_on: bool,
    leftovers: Leftovers,
    saved: Instant,
    /// A stretch was over since.
    is_due: bool,
}

impl ResumableDump {
    /// Begins one into a file, or goes on where another one was interrupted, unless it is to `restart`.
    pub fn begin(
        file: &Path,
        format: Format,
        cluster: Option<String>,
        restart: bool,
        leftovers: &Leftovers,
    ) -> anyhow::Result<Self> {
        let mut phase = leftovers.lock();
        // It is locked before anything is looked at: whoever wrote it may have come further since.
        let mut output = Output::open(file)?;
        let fresh = DumpState::new(format, cluster);
        let paths = output.paths();
        let found = match &paths {
            Some(paths) if !restart => find(&paths.state, &fresh)?,
            _ => None,
        };
        if let Some(state) = &found
            && output.checksum(state.file_bytes).ok() != Some(state.crc32c)
        {
            let partial = output.partial().unwrap_or(file).display();
            bail!("{partial} has changed since the dump was interrupted; start from the beginning with --restart");
        }
        let goes_on = found.is_some();
        let state = found.unwrap_or(fresh);
        let spool = match &paths {
            Some(paths) => {
                if !goes_on {
                    paths.remove()?;
                }
                let cannot = || {
                    format!("cannot continue with {}; start from the beginning with --restart", paths.spool.display())
                };
                Spool::open(&paths.spool, state.runs.clone()).with_context(cannot)?
            }
            None => Spool::temporary().with_context(|| cannot_write(&std::env::temp_dir()))?,
        };
        output.go_on(state.file_bytes)?;
        *phase = match (&paths, output.partial()) {
            _ if goes_on => DumpPhase::Resumable,
            (Some(Paths { state, spool }), Some(partial)) => {
                DumpPhase::Begun(vec![state.clone(), spool.clone(), partial.to_owned()])
            }
            _ => DumpPhase::Streaming,
        };
        drop(phase);
        let (leftovers, saved) = (leftovers.clone(), Instant::now());
        Ok(Self { paths, output, format, spool, state, goes_on, leftovers, saved, is_due: false })
    }

    /// When the dump began that was interrupted, if this goes on with one.
    pub fn goes_on_since(&self) -> Option<i64> {
        self.goes_on.then_some(self.state.began)
    }

    /// Where it goes on.
    pub fn bookmark(&self) -> &Bookmark {
        &self.state.bookmark
    }

    /// The first key of which something is still to come.
    pub fn reached(&self) -> Option<Key> {
        let low = self.state.bookmark.stretches.last().map(|stretch| stretch.from.unwrap_or(stretch.keys.high));
        low.or(self.state.bookmark.rest)
    }

    /// Records in the file.
    pub fn records(&self) -> u64 {
        self.state.records
    }

    /// Takes what has come; `place`: where a key lies.
    pub fn take(&mut self, event: Event, place: impl Fn(&[u8]) -> Key) -> anyhow::Result<()> {
        let Event { what, bookmark } = event;
        let placed = |kept: Vec<Kept>| kept.into_iter().map(|kept| (place(&kept.key), kept)).collect::<Vec<_>>();
        let spooled = match what {
            What::Part(kept) => self.spool.add_part(placed(kept).into_iter()),
            What::Records(kept) => self.spool.add_records(placed(kept).into_iter()),
            What::Anew(keys) => self.spool.begin_anew(keys),
            What::Over(cut) => {
                self.over(&cut)?;
                if bookmark.stretches.is_empty() {
                    self.spool.forget();
                }
                self.is_due = true;
                Ok(())
            }
        };
        spooled.with_context(|| self.no_spool())?;
        self.state.bookmark = bookmark;
        Ok(())
    }

    /// A stretch is over: its records go to the file.
    fn over(&mut self, cut: &Cut) -> anyhow::Result<()> {
        // What fails halfway has not happened: it comes again when the dump goes on.
        let Self { spool, output, format, .. } = self;
        let crc32c = self.state.crc32c;
        let (mut line, mut written, now) =
            (Vec::new(), WrittenInterval { crc32c, ..WrittenInterval::default() }, unix_now());
        spool.merge(cut, |kept| {
            let Some(record) = record_of(kept, now) else { return Ok(()) };
            line.clear();
            format.push(&mut line, &record);
            output.write(&line)?;
            written.records += 1;
            written.bytes += (record.key.len() + record.value.len()) as u64;
            written.file_bytes += line.len() as u64;
            written.crc32c = crc32c::crc32c_append(written.crc32c, &line);
            written.cut += u64::from(!format.carries_all_of(&record));
            written.long_keys += u64::from(!record.is_loadable());
            Ok(())
        })?;
        let state = &mut self.state;
        state.records += written.records;
        state.bytes += written.bytes;
        state.file_bytes += written.file_bytes;
        state.crc32c = written.crc32c;
        state.cut += written.cut;
        state.long_keys += written.long_keys;
        let records = written.records;
        let (low, high) = (format!("{:?}", cut.keys.low), format!("{:?}", cut.keys.high));
        let (range, epoch, seq) = (cut.range.0, cut.at.epoch.0, cut.at.seq.0);
        state.done.push(DumpedInterval {
            low,
            high,
            range,
            epoch,
            seq,
            time: cut.alive.time,
            passes: cut.passes,
            records,
        });
        Ok(())
    }

    /// Saves when a stretch is over, and otherwise now and then.
    pub fn save_now_and_then(&mut self) -> anyhow::Result<()> {
        if self.is_due || self.saved.elapsed() >= SAVE_EVERY { self.save() } else { Ok(()) }
    }

    /// Writes down how far it is.
    pub fn save(&mut self) -> anyhow::Result<()> {
        if let Some(paths) = &self.paths {
            let mut phase = self.leftovers.lock();
            self.output.sync()?;
            self.state.runs = self.spool.save().with_context(|| self.no_spool())?;
            self.state.save(&paths.state).with_context(|| cannot_write(&paths.state))?;
            *phase = DumpPhase::Resumable;
        }
        self.spool.give_back().with_context(|| self.no_spool())?;
        (self.saved, self.is_due) = (Instant::now(), false);
        Ok(())
    }

    /// What is said where the spool cannot be written.
    fn no_spool(&self) -> String {
        self.paths.as_ref().map_or_else(|| cannot_write(&std::env::temp_dir()), |paths| cannot_write(&paths.spool))
    }

    /// All has come.
    pub fn finish(mut self) -> anyhow::Result<DumpState> {
        let mut phase = self.leftovers.lock();
        self.output.sync()?;
        // Before the file has its name: from then on another dump may begin, with a state and a spool of its own.
        if let Some(paths) = &self.paths {
            paths.remove()?;
        }
        // What cannot get its name is complete all the same.
        *phase = DumpPhase::Complete;
        self.output.finish()?;
        drop(phase);
        Ok(self.state)
    }
}

/// What has gone into the file of a stretch.
#[derive(Default)]
struct WrittenInterval {
    records: u64,
    bytes: u64,
    file_bytes: u64,
    /// Of the file with them.
    crc32c: u32,
    cut: u64,
    long_keys: u64,
}

/// The record that a version is; none if it says that the key is gone. What has expired is gone, though a range whose time
/// stands still, as nothing is written, still has it.
fn record_of(kept: Kept, now: u32) -> Option<Record> {
    let Kept { key, position, version } = kept;
    let version = version.filter(|version| version.expiry == 0 || version.expiry > now)?;
    let cas = version.client_cas.unwrap_or(position.seq.0);
    Some(Record { key, value: version.value, flags: version.flags, exptime: version.expiry, cas })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use fawn_kv::scan::Stretch;

    use super::super::output::partial_of as part_of;
    use super::super::spool::tests::{cut, kept, keys};
    use super::*;

    /// Where the keys of these tests lie.
    fn place(key: &[u8]) -> Key {
        Key::lowest_with_prefix(std::str::from_utf8(key).unwrap().parse().unwrap())
    }

    fn begin(file: &Path) -> ResumableDump {
        ResumableDump::begin(file, Format::Tsv, None, false, &Leftovers::default()).unwrap()
    }

    /// An event of the only stretch there is.
    fn event(dumping: &ResumableDump, what: What) -> Event {
        let bookmark = dumping.bookmark();
        let stretches = if matches!(what, What::Over(_)) { Vec::new() } else { vec![stretch()] };
        Event { what, bookmark: Bookmark { stretches, rest: None, ..bookmark.clone() } }
    }

    fn stretch() -> Stretch {
        let since = fawn_kv::ids::Position::default();
        Stretch { keys: keys(0, 99), from: None, since, began: None, least: since, source: None, passes: 1 }
    }

    fn take(dumping: &mut ResumableDump, what: What) -> anyhow::Result<()> {
        let event = event(dumping, what);
        dumping.take(event, place)
    }

    fn part(places: &[u64]) -> What {
        What::Part(places.iter().map(|place| kept(*place, *place, true).1).collect())
    }

    fn over() -> What {
        What::Over(Box::new(cut(keys(0, 99))))
    }

    fn file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out.tsv");
        (dir, file)
    }

    #[test]
    fn a_dump_that_is_killed_before_it_has_saved_that_all_is_over_goes_on_from_the_state_before() {
        let (_dir, file) = file();
        let mut dumping = begin(&file);
        take(&mut dumping, part(&[1, 2])).unwrap();
        dumping.save().unwrap();
        take(&mut dumping, over()).unwrap();
        drop(dumping);
        let mut dumping = begin(&file);
        take(&mut dumping, over()).unwrap();
        dumping.save().unwrap();
        assert_eq!(std::fs::metadata(&Paths::of(&file).spool).unwrap().len(), 0, "what nobody needs is given back");
        assert_eq!(dumping.finish().unwrap().records, 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\t1\n2\t2\n");
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn records_of_a_stretch_that_cannot_be_written_as_a_whole_are_not_written_twice() {
        let (_dir, file) = file();
        let mut dumping = begin(&file);
        take(&mut dumping, part(&[1, 2, 3, 4])).unwrap();
        dumping.save().unwrap();
        // The last of the records has no length that can be; each of them has as many bytes.
        let spool = std::fs::read(&Paths::of(&file).spool).unwrap();
        let mut damaged = spool.clone();
        damaged[spool.len() / 4 * 3..][..4].fill(0xff);
        std::fs::write(&Paths::of(&file).spool, damaged).unwrap();
        assert!(take(&mut dumping, over()).is_err());
        dumping.save().unwrap();
        drop(dumping);
        std::fs::write(Paths::of(&file).spool, spool).unwrap();
        let mut dumping = begin(&file);
        take(&mut dumping, over()).unwrap();
        assert_eq!(dumping.finish().unwrap().records, 4);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\t1\n2\t2\n3\t3\n4\t4\n");
    }

    #[test]
    fn a_dump_that_ends_before_its_time_leaves_what_can_be_gone_on_with_and_nothing_else() {
        let (dir, file) = file();
        let left = || std::fs::read_dir(dir.path()).unwrap().count();
        let leftovers = Leftovers::default();
        let begin = || ResumableDump::begin(&file, Format::Tsv, None, false, &leftovers).unwrap();
        let mut dumping = begin();
        take(&mut dumping, part(&[1, 2])).unwrap();
        assert!(left() > 0);
        leftovers.fail();
        assert_eq!(left(), 0, "nothing of it was saved");
        let mut dumping = begin();
        take(&mut dumping, part(&[1, 2])).unwrap();
        dumping.save().unwrap();
        leftovers.fail();
        assert_eq!(left(), 3, "all of it can be gone on with");
        drop(dumping);
        let mut dumping = begin();
        leftovers.fail();
        assert_eq!(left(), 3);
        take(&mut dumping, over()).unwrap();
        assert_eq!(dumping.finish().unwrap().records, 2);
        leftovers.fail();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\t1\n2\t2\n");
    }

    #[test]
    fn a_flipped_bit_in_what_a_dump_keeps_is_found() {
        let (_dir, file) = file();
        let paths = Paths::of(&file);
        let mut dumping = begin(&file);
        take(&mut dumping, part(&[1, 2])).unwrap();
        dumping.save().unwrap();
        drop(dumping);
        for (path, says) in [
            (&paths.state, "is damaged; start from the beginning"),
            (&paths.spool, "start from the beginning with --restart"),
        ] {
            let bytes = std::fs::read(path).unwrap();
            for bit in (0..bytes.len() * 8).step_by(7) {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                std::fs::write(path, &damaged).unwrap();
                let dumping = ResumableDump::begin(&file, Format::Tsv, None, false, &Leftovers::default());
                let found = dumping.and_then(|mut dumping| take(&mut dumping, over()));
                let why = found.map_err(|error| format!("{error:#}")).unwrap_err();
                let name = path.display().to_string();
                let is_of_another_version = why.contains("not from this version");
                assert!(why.contains(&name) && (why.contains(says) || is_of_another_version), "bit {bit}: {why}");
                // What fails halfway is not in the file.
                std::fs::write(part_of(&file), "").unwrap();
            }
            std::fs::write(path, bytes).unwrap();
        }
        let mut dumping = begin(&file);
        take(&mut dumping, over()).unwrap();
        assert_eq!(dumping.finish().unwrap().records, 2);
    }

    #[test]
    fn every_byte_of_the_file_counts_for_a_dump_that_goes_on() {
        let (_dir, file) = file();
        let mut dumping = begin(&file);
        take(&mut dumping, part(&(1..=2000).collect::<Vec<_>>())).unwrap();
        let bookmark = dumping.bookmark().clone();
        let event = Event { what: What::Over(Box::new(cut(keys(0, 5000)))), bookmark: bookmark.clone() };
        dumping.take(event, place).unwrap();
        dumping.state.bookmark = Bookmark { rest: Some(Key::MIN), ..bookmark };
        dumping.save().unwrap();
        drop(dumping);
        let mut bytes = std::fs::read(part_of(&file)).unwrap();
        assert!(bytes.len() > 10_000);
        bytes[3] ^= 1;
        std::fs::write(part_of(&file), &bytes).unwrap();
        let refused = ResumableDump::begin(&file, Format::Tsv, None, false, &Leftovers::default()).err();
        let why = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(
            why.contains(
                "out.tsv.part has changed since the dump was interrupted; start from the beginning with --restart"
            ),
            "{why}"
        );
    }

    #[test]
    fn a_dump_behind_a_symbolic_link_keeps_its_files_where_the_link_leads() {
        let (dir, file) = file();
        std::fs::create_dir(dir.path().join("disk")).unwrap();
        std::os::unix::fs::symlink("disk/real.tsv", &file).unwrap();
        let mut dumping = begin(&file);
        take(&mut dumping, part(&[1, 2])).unwrap();
        dumping.save().unwrap();
        drop(dumping);
        assert!(dir.path().join("disk/real.tsv.fawn-dump").exists());
        let mut dumping = begin(&file);
        assert!(dumping.goes_on_since().is_some());
        take(&mut dumping, over()).unwrap();
        dumping.finish().unwrap();
        assert!(file.is_symlink());
        assert_eq!(std::fs::read_to_string(dir.path().join("disk/real.tsv")).unwrap(), "1\t1\n2\t2\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn no_two_dumps_write_one_file_at_a_time() {
        let (_dir, file) = file();
        let mut first = begin(&file);
        take(&mut first, part(&[1, 2])).unwrap();
        let second = ResumableDump::begin(&file, Format::Tsv, None, true, &Leftovers::default())
            .err()
            .map(|error| error.to_string());
        assert!(second.as_ref().is_some_and(|why| why.starts_with("another dump is writing")), "{second:?}");
        assert!(Output::create(&file).is_err(), "nor does the dump of a server");
        take(&mut first, over()).unwrap();
        assert_eq!(first.finish().unwrap().records, 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\t1\n2\t2\n");
        assert_eq!(begin(&file).goes_on_since(), None);
    }

    #[test]
    fn what_has_expired_is_left_out() {
        let (_dir, file) = file();
        let mut dumping = begin(&file);
        let expires = |place, expiry| {
            let mut kept = kept(place, place, true).1;
            kept.version.as_mut().unwrap().expiry = expiry;
            kept
        };
        take(&mut dumping, What::Part(vec![expires(1, 0), expires(2, 1_000_000_000), expires(3, u32::MAX)])).unwrap();
        take(&mut dumping, over()).unwrap();
        assert_eq!(dumping.finish().unwrap().records, 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\t1\n3\t3\n");
    }

    /// One that was stopped when two records were in the file.
    fn interrupted(file: &Path) {
        let mut dumping = begin(file);
        take(&mut dumping, part(&[1, 2])).unwrap();
        let bookmark = dumping.bookmark().clone();
        take(&mut dumping, over()).unwrap();
        // There is more of which nothing has come.
        dumping.state.bookmark = Bookmark { rest: Some(Key::MIN), ..bookmark };
        dumping.save().unwrap();
    }

    #[test]
    fn no_dump_of_a_cluster_goes_on_in_what_the_dump_of_a_server_has_begun() {
        let (_dir, file) = file();
        interrupted(&file);
        let mut of_server = Output::create(&file).unwrap();
        of_server.write(b"of\tanother\n").unwrap();
        of_server.sync().unwrap();
        drop(of_server);
        assert_eq!(begin(&file).goes_on_since(), None);
        assert_eq!(std::fs::read_to_string(part_of(&file)).unwrap(), "");
        interrupted(&file);
        Output::create(&file).unwrap().finish().unwrap();
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn a_file_that_has_changed_since_the_dump_was_interrupted_is_not_gone_on_with() {
        for changed in [&b"1\t1\n2\t3\n and more"[..], b"1\t1\n"] {
            let (_dir, file) = file();
            interrupted(&file);
            std::fs::write(part_of(&file), changed).unwrap();
            let refused = ResumableDump::begin(&file, Format::Tsv, None, false, &Leftovers::default())
                .err()
                .map(|error| error.to_string());
            assert!(
                refused.as_ref().is_some_and(|why| why.contains("start from the beginning with --restart")),
                "{refused:?}"
            );
            assert_eq!(
                ResumableDump::begin(&file, Format::Tsv, None, true, &Leftovers::default()).unwrap().records(),
                0
            );
        }
        let (_dir, file) = file();
        interrupted(&file);
        assert_eq!(begin(&file).records(), 2, "one that has not changed is");
    }

    #[test]
    fn a_dump_that_goes_on_tells_when_it_began() {
        let (_dir, file) = file();
        let mut dumping = begin(&file);
        assert_eq!(dumping.goes_on_since(), None);
        dumping.state.began = 77;
        dumping.save().unwrap();
        drop(dumping);
        assert_eq!(begin(&file).goes_on_since(), Some(77));
        assert_eq!(
            ResumableDump::begin(&file, Format::Tsv, None, true, &Leftovers::default()).unwrap().goes_on_since(),
            None
        );
        assert_eq!(begin(&file).goes_on_since(), None, "what was begun anew has left nothing of the one before");
    }

    #[test]
    fn what_a_dump_keeps_to_go_on_is_gone_before_its_file_has_its_name_and_another_may_begin() {
        let (dir, file) = file();
        let mut dumping = begin(&file);
        take(&mut dumping, part(&[1, 2])).unwrap();
        take(&mut dumping, over()).unwrap();
        dumping.save().unwrap();
        // So it does not get it.
        std::fs::create_dir(&file).unwrap();
        let why = dumping.finish().unwrap_err().to_string();
        assert!(why.starts_with("all records are in ") && why.contains("out.tsv.part"), "{why}");
        assert_eq!(std::fs::read_to_string(part_of(&file)).unwrap(), "1\t1\n2\t2\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "neither state nor spool");
    }

    #[test]
    fn a_dump_that_was_over_and_has_no_name_yet_gets_it() {
        let (_dir, file) = file();
        let mut dumping = begin(&file);
        take(&mut dumping, part(&[1, 2])).unwrap();
        take(&mut dumping, over()).unwrap();
        dumping.save().unwrap();
        drop(dumping);
        let dumping = begin(&file);
        assert_eq!(dumping.reached(), None);
        assert_eq!(dumping.finish().unwrap().records, 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\t1\n2\t2\n");
    }

    #[test]
    fn keys_that_no_load_takes_are_written_and_counted() {
        let (_dir, file) = file();
        let mut dumping = begin(&file);
        let with_key = |place: u64, key: Vec<u8>| Kept { key, ..kept(place, place, true).1 };
        let records = vec![with_key(1, vec![b'1'; 250]), with_key(2, vec![b'1'; 251])];
        let event = event(&dumping, What::Part(records));
        dumping.take(event, |key| Key::lowest_with_prefix(key.len() as u64 - 200)).unwrap();
        take(&mut dumping, over()).unwrap();
        let done = dumping.finish().unwrap();
        assert_eq!((done.records, done.long_keys), (2, 1));
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    }

    #[test]
    fn what_a_dump_keeps_to_go_on_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_dir, file) = file();
        let mut dumping = begin(&file);
        take(&mut dumping, part(&[1, 2])).unwrap();
        dumping.save().unwrap();
        let Paths { state, spool } = Paths::of(&file);
        for path in [state, spool] {
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        }
    }

    #[test]
    fn a_dump_into_a_stream_keeps_nothing_that_has_a_name() {
        let dumping =
            ResumableDump::begin(Path::new("/dev/null"), Format::Tsv, None, false, &Leftovers::default()).unwrap();
        assert_eq!(dumping.spool.links().unwrap(), 0);
        assert!(dumping.paths.is_none());
    }
}
