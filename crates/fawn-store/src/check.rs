//! Reads everything of a store at rest and reports what is damaged: `fawn store check`.
//!
//! Nothing is written. Each page that some slice refers to is read and its checksum verified, each record's own
//! checksum too, each directory and fragment compared with the records; the commit log is replayed into nothing; value
//! files are compared with their stubs.

use std::collections::{BTreeMap, BTreeSet};

use fawn_ring::Interval;

use crate::api::Damage;
use crate::flash::{FileId, Flash, FlashError};
use crate::format::large::Stub;
use crate::format::manifest::{Manifest, ManifestError, Range, State};
use crate::format::page::{PAGE_BYTES, PageBuf};
use crate::format::record::{Kind, Record};
use crate::format::segment::{Cursor, Footer, ReadAhead, SegmentError, read_prefixes};
use crate::log::{Entry, LogError, LogExpectation, recover, survey};
use crate::merge::value_file;
use crate::sealed::directory::PageDirectory;

/// Pages read at once.
const READ_PAGES: usize = 256;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Everything that is not as it was written, in the order found.
    pub damage: Vec<Damage>,
    /// Number of segments that the check has read.
    pub segments: u64,
    /// Records read in them, superseded ones included.
    pub records: u64,
    /// Records that damage has taken, superseded ones included: gets of the keys of which they were the newest fail until
    /// these are written anew.
    pub lost: u64,
    /// Bytes of these records.
    pub bytes: u64,
    /// Entries in the commit log.
    pub log_entries: u64,
    /// Bytes of a torn tail in the commit log: writes that nobody was told of, cut off at the next opening.
    pub torn_bytes: u64,
    /// Number of value files that the check has read.
    pub values: u64,
    /// Whether one copy of the manifest's last commit is bad in a store that was not stopped cleanly: a crash in the midst
    /// of that leaves one, and nothing is lost.
    pub torn_commit: bool,
    /// Whether the last stop was clean.
    pub clean: bool,
}

/// Checks the store on `flash`. `progress` is told the pages read so far and in all.
///
/// # Errors
/// The manifest's: without it nothing else can be read. Whatever else is wrong is among the findings.
pub fn check(flash: &dyn Flash, mut progress: impl FnMut(u64, u64)) -> Result<Findings, ManifestError> {
    let (manifest, state) = Manifest::open(flash)?;
    let mut findings = Findings { clean: state.log.clean_end.is_some(), ..Findings::default() };
    check_copies(&manifest, &mut findings);
    let total = state.segments.values().map(|segment| segment.pages.total).sum::<u64>() + state.log.ring_pages;
    let mut stubs = BTreeMap::new();
    let mut done = 0;
    for number in state.segments.keys() {
        check_segment(flash, &state, *number, &mut findings, &mut stubs);
        done += state.segments[number].pages.total;
        progress(done, total);
    }
    let unsealed = check_log(flash, &manifest, &mut findings, &mut stubs);
    progress(total, total);
    check_presence(flash, &state, &unsealed, &mut findings)?;
    for stub in stubs.values() {
        check_value(flash, stub, &mut findings);
    }
    Ok(findings)
}

/// Whether the store on `flash` was never opened, or there is none. What cannot be told is no.
pub fn is_unopened(flash: &dyn Flash) -> bool {
    match Manifest::open(flash) {
        Ok((manifest, state)) => {
            let expected = LogExpectation::of(manifest.number(), &state);
            let surveyed = survey(flash, state.log_shape(), expected);
            state.generation == 0 && !matches!(surveyed, Err(LogError::OlderManifest { .. }))
        }
        Err(error) => error == ManifestError::NotFound,
    }
}

/// Whether nothing was ever written to the store on `flash`, or there is none: it may be made anew. What cannot be told is no.
pub fn is_blank(flash: &dyn Flash) -> bool {
    let (manifest, state) = match Manifest::open(flash) {
        Ok(found) => found,
        Err(error) => return error == ManifestError::NotFound,
    };
    if state.generation == 0 {
        return is_unopened(flash);
    }
    let untouched = |range: &Range| range.last_seq == 0 && range.flush_watermark == 0 && range.flush_deadline == 0;
    if !state.segments.is_empty()
        || !state.values.is_empty()
        || state.log.start.page > 0
        || !state.ranges.iter().all(untouched)
    {
        return false;
    }
    let expected = LogExpectation::of(manifest.number(), &state);
    let mut entries = 0_u64;
    recover(flash, state.log_shape(), expected, |_| entries += 1)
        .is_ok_and(|found| entries == 0 && found.torn.is_none())
}

/// Both copies of everything in the manifest are intact. After a clean stop nothing is torn.
fn check_copies(manifest: &Manifest, findings: &mut Findings) {
    for bad in manifest.bad_copies() {
        if bad.is_last && !findings.clean {
            findings.torn_commit = true;
            continue;
        }
        let what = "one of the two copies of a commit is damaged; the other is intact, and the next start of a server \
            writes both again"
            .to_owned();
        findings.damage.push(Damage { file: manifest.file(), offset: bad.offset, what });
    }
}

fn check_segment(
    flash: &dyn Flash,
    state: &State,
    number: u16,
    findings: &mut Findings,
    stubs: &mut BTreeMap<u64, Stub>,
) {
    findings.segments += 1;
    let segment = &state.segments[&number];
    let read = Footer::read(flash, segment.file, segment.pages.total)
        .and_then(|footer| Ok((footer, footer.read_directory(flash)?)));
    let (footer, directory) = match read {
        Ok(read) => read,
        Err(error) => return note(findings, segment.file, error),
    };
    if let Err(damage) = state.verify(segment, &footer) {
        findings.damage.push(damage);
    }
    let directory = PageDirectory::new(&directory);
    for slice in state.slices.iter().filter(|slice| slice.parts.contains(&number)) {
        let records = check_part(flash, state, &footer, &directory, slice.interval, findings, stubs);
        match read_prefixes(flash, &footer, &slice.interval) {
            Err(error) => note(findings, footer.file, error),
            Ok(prefixes) => {
                if records.is_some_and(|records| records != prefixes) {
                    let offset = footer.fragments_at() * PAGE_BYTES as u64;
                    let what = "the fragments do not match the records".to_owned();
                    findings.damage.push(Damage { file: FileId::Segment(footer.file), offset, what });
                }
            }
        }
    }
}

/// Reads the records of one slice in one segment. The prefixes of their positions, unless something was damaged.
fn check_part(
    flash: &dyn Flash,
    state: &State,
    footer: &Footer,
    directory: &PageDirectory,
    interval: Interval,
    findings: &mut Findings,
    stubs: &mut BTreeMap<u64, Stub>,
) -> Option<Vec<u64>> {
    let mut pages = directory.page_span(interval.low.prefix(), interval.high.prefix());
    let mut prefixes = Some(Vec::new());
    let mut ahead = ReadAhead::new(READ_PAGES);
    let mut carried = 0;
    while pages.start < pages.end {
        let mut cursor = Cursor::new(footer, pages.clone(), interval, READ_PAGES);
        let end = loop {
            match ahead.advance(&mut cursor, flash, &state.secret) {
                Ok(false) => break None,
                Ok(true) => {}
                Err(error) => {
                    prefixes = None;
                    let behind = page_behind(&error).filter(|page| *page < footer.data_pages);
                    note(findings, footer.file, error);
                    if cursor.is_behind_gap() {
                        continue;
                    }
                    break Some(behind.unwrap_or(footer.data_pages));
                }
            }
            if cursor.is_in_gap() {
                findings.lost += 1;
                continue;
            }
            if let Some(prefixes) = &mut prefixes {
                prefixes.push(cursor.key().prefix());
            }
            match Record::decode(cursor.record()) {
                Ok((record, _)) if record.kind == Kind::Lost => carried += 1,
                Ok((record, _)) => {
                    findings.records += 1;
                    findings.bytes += cursor.record().len() as u64;
                    note_stub(&record, stubs);
                }
                Err(error) => {
                    let what = format!("a record in an intact page: {error}");
                    let offset = u64::from(pages.start) * PAGE_BYTES as u64;
                    findings.damage.push(Damage { file: FileId::Segment(footer.file), offset, what });
                }
            }
        };
        if !cursor.bad_pages().is_empty() {
            prefixes = None;
        }
        note_bad_pages(findings, cursor.bad_pages());
        pages.start = end.map_or(pages.end, |end| (end as u32).max(pages.start + 1));
    }
    if carried > 0 {
        findings.lost += carried;
        let what = format!("{carried} records were lost to earlier damage");
        let offset =
            u64::from(directory.page_span(interval.low.prefix(), interval.high.prefix()).start) * PAGE_BYTES as u64;
        findings.damage.push(Damage { file: FileId::Segment(footer.file), offset, what });
    }
    prefixes
}

/// Adds pages to the damage, but for those that are known: slices share pages.
fn note_bad_pages(findings: &mut Findings, pages: &[Damage]) {
    if pages.is_empty() {
        return;
    }
    let known: BTreeSet<(FileId, u64)> = findings.damage.iter().map(|damage| (damage.file, damage.offset)).collect();
    let is_new = |damage: &&Damage| !known.contains(&(damage.file, damage.offset));
    findings.damage.extend(pages.iter().filter(is_new).cloned());
}

/// The page behind the one that an error names.
fn page_behind(error: &SegmentError) -> Option<u64> {
    match error {
        SegmentError::Damage(damage) => Some(damage.offset / PAGE_BYTES as u64 + 1),
        SegmentError::Flash(_) => None,
    }
}

/// Returns the value files of records that only the log has.
fn check_log(
    flash: &dyn Flash,
    manifest: &Manifest,
    findings: &mut Findings,
    stubs: &mut BTreeMap<u64, Stub>,
) -> BTreeSet<u64> {
    let (mut unsealed, state) = (BTreeSet::new(), manifest.state());
    if state.generation == 0 {
        return unsealed;
    }
    let sealed = state.ranges.iter().map(|range| range.last_seq).max().unwrap_or(0);
    let expected = LogExpectation::of(manifest.number(), state);
    let mut bad = Vec::new();
    let found = recover(flash, state.log_shape(), expected, |replayed| {
        findings.log_entries += 1;
        if let Entry::Record(bytes) = replayed.entry {
            match Record::decode(bytes) {
                Ok((record, _)) => {
                    note_stub(&record, stubs);
                    unsealed.extend(value_file(&record).filter(|_| record.seq > sealed));
                }
                Err(error) => bad.push((replayed.position.page, error.to_string())),
            }
        }
    });
    for (page, what) in bad {
        let offset = page % state.log.ring_pages * PAGE_BYTES as u64;
        findings.damage.push(Damage { file: FileId::CommitLog, offset, what });
    }
    match found {
        Ok(found) => findings.torn_bytes = found.torn.map_or(0, |torn| torn.bytes),
        Err(LogError::Damage { offset, what }) => {
            findings.damage.push(Damage { file: FileId::CommitLog, offset, what: what.to_owned() });
        }
        Err(error) => {
            let (file, offset) = match error {
                LogError::OlderLog { offset, .. } => (FileId::CommitLog, offset),
                LogError::OlderManifest { .. } => (manifest.file(), 0),
                _ => (FileId::CommitLog, 0),
            };
            findings.damage.push(Damage { file, offset, what: error.to_string() });
        }
    }
    unsealed
}

/// The value files that the manifest lists, and those that unsealed records name, are there.
fn check_presence(
    flash: &dyn Flash,
    state: &State,
    unsealed: &BTreeSet<u64>,
    findings: &mut Findings,
) -> Result<(), FlashError> {
    let there: BTreeSet<FileId> = flash.list()?.into_iter().map(|(file, _)| file).collect();
    let named: BTreeSet<u64> = state.values.keys().chain(unsealed).copied().collect();
    for file in named.into_iter().map(FileId::Value).filter(|file| !there.contains(file)) {
        findings.damage.push(Damage { file, offset: 0, what: "the value's file is missing".to_owned() });
    }
    Ok(())
}

/// A stub whose value file is missing though nothing lists it is superseded; one whose file is there has to match it.
fn check_value(flash: &dyn Flash, stub: &Stub, findings: &mut Findings) {
    let mut pages = PageBuf::zeroed(stub.pages() as usize);
    let what = match flash.read(stub.id(), 0, pages.pages_mut()) {
        Err(FlashError::NotFound(_)) => return,
        Err(error) => error.to_string(),
        Ok(()) if stub.value(&pages).is_some() => {
            findings.values += 1;
            return;
        }
        Ok(()) => "the value's checksum does not match".to_owned(),
    };
    findings.damage.push(Damage { file: stub.id(), offset: 0, what });
}

fn note_stub(record: &Record<'_>, stubs: &mut BTreeMap<u64, Stub>) {
    if record.kind == Kind::Stub
        && let Some(stub) = Stub::decode(record.value)
    {
        stubs.insert(stub.file, stub);
    }
}

fn note(findings: &mut Findings, file: u64, error: SegmentError) {
    findings.damage.push(match error {
        SegmentError::Damage(damage) => damage,
        SegmentError::Flash(error) => Damage { file: FileId::Segment(file), offset: 0, what: error.to_string() },
    });
}
