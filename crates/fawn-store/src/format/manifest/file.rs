//! The manifest's file: a snapshot, then edits, each in two copies.
//!
//! A commit is acknowledged after one write and one sync of both copies, so that a torn write can leave both copies bad
//! only while it was not acknowledged, and one damaged place of an acknowledged commit is answered by the other copy.
//! Bad copies below a good later commit are damage. The file is allocated in full when it is made, so that a file that
//! was cut is damage too. What stays undetected: both copies of the very last commit damaged, in different pages.
//!
//! A new file takes over once it is complete and durable; the old one is gone, durably, before anything that only the
//! new one knows is acknowledged. So whenever an unfinished file stands beside a complete one, nothing is missing.

use crate::flash::{FileId, Flash, FlashError};
use crate::format::page::{PAGE_BYTES, PageBuf};

use super::codec::{Code, DecodeError, Reader, encode_list};
use super::frame::{EDITS, Frame, SNAPSHOT, VERSION, WITH_BONDS, frame_pages};
use super::old::StateV1;
use super::{Bonds, Edit, State};

/// Fewest pages for edits in a file (1 MiB).
const MIN_EDIT_PAGES: u64 = 256;
/// Pages for edits by page of snapshot (one copy).
const EDIT_PAGES_BY_SNAPSHOT: u64 = 8;
/// Of these, pages for openings and clean stops alone, which a device without room for a new file must not prevent.
const OPENING_PAGES: u64 = 64;
/// Commits after which the state may be of another size.
const COMMITS_TO_WEIGH: u64 = 16;

/// Why there is no manifest to go on from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// There is none: no store was made here (or its making was cut short before anything was stored).
    #[error("there is no store here: create one first")]
    NotFound,
    /// A store is here already.
    #[error("there is already a store here: open it, or choose another directory")]
    Exists,
    /// A newer version wrote it.
    #[error("manifest-{number:016x} was written by a newer version ({what}): open the store with that version")]
    Newer {
        /// Number of the manifest.
        number: u64,
        /// What is not known.
        what: String,
    },
    /// The bytes are not those that were written.
    #[error("manifest-{number:016x} is damaged at byte {offset}: {what}; restore this store from a replica or a copy")]
    Damage {
        /// Number of the manifest.
        number: u64,
        /// Byte offset of the damage in the file.
        offset: u64,
        /// What is wrong with the bytes.
        what: &'static str,
    },
    /// Reading or writing failed.
    #[error("the manifest cannot be read or written: {0}")]
    Flash(#[from] FlashError),
}

/// A copy of a commit or of the snapshot that is not what was written, while the other one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCopy {
    /// Byte at which it begins.
    pub offset: u64,
    /// It is of the last commit: a crash in the midst of that may leave one.
    pub is_last: bool,
}

/// The manifest of one store, open for commits.
pub struct Manifest {
    number: u64,
    state: State,
    /// Page at which the next frame goes.
    end: u64,
    /// Checksum of the last frame.
    previous: u32,
    /// Pages of the file.
    capacity: u64,
    /// Numbers of other manifests, which are removed before anything is acknowledged.
    stale: Vec<u64>,
    /// The file was found, not written by this opening: the next commit takes a new one, because after a failed sync
    /// what reads show may not be what flash holds.
    is_found: bool,
    /// Copies that were found damaged or torn.
    bad_copies: Vec<BadCopy>,
    /// The error after which nothing is written any more.
    stopped: Option<FlashError>,
    /// Commits since it was opened.
    commits: u64,
    /// Bytes that the next file takes, and as of how many commits.
    weighed: Option<(u64, u64)>,
}

impl Manifest {
    /// Makes the first manifest of a store. It comes before every other file: [`open`](Self::open) takes an unfinished
    /// manifest that is alone for a store whose making was cut short.
    ///
    /// # Errors
    /// [`ManifestError::Exists`]; whatever [`open`](Self::open) says of a manifest that is there but cannot be used;
    /// [`ManifestError::Flash`].
    pub fn create(flash: &dyn Flash, state: State) -> Result<Self, ManifestError> {
        match Self::open(flash) {
            Err(ManifestError::NotFound) => {}
            Ok(_) => return Err(ManifestError::Exists),
            Err(error) => return Err(error),
        }
        assert_eq!(state.check(), Ok(()), "a new state is sound");
        let leftovers = manifests(&flash.list()?);
        for (number, _) in &leftovers {
            flash.remove(FileId::Manifest(*number))?;
        }
        let number = leftovers.first().map_or(1, |(number, _)| number + 1);
        let (end, previous, capacity) = write_snapshot(flash, number, &state)?;
        Ok(Self {
            number,
            state,
            end,
            previous,
            capacity,
            stale: Vec::new(),
            is_found: false,
            bad_copies: Vec::new(),
            stopped: None,
            commits: 0,
            weighed: None,
        })
    }

    /// Opens the highest complete manifest. Nothing is written; what was read is durable.
    ///
    /// # Errors
    /// [`ManifestError`], but for `Exists`.
    pub fn open(flash: &dyn Flash) -> Result<(Self, State), ManifestError> {
        flash.sync_names()?;
        let files = flash.list()?;
        let numbers = manifests(&files);
        let mut unfinished = None;
        for (number, length) in &numbers {
            let Some(mut manifest) = ManifestScan::file(flash, *number, *length)? else {
                unfinished = unfinished.or(Some(*number));
                continue;
            };
            manifest.stale = numbers.iter().map(|(other, _)| *other).filter(|other| other != number).collect();
            let state = manifest.state.clone();
            return Ok((manifest, state));
        }
        match unfinished {
            Some(number) if files.len() > numbers.len() => {
                Err(ManifestError::Damage { number, offset: 0, what: "the snapshot does not parse" })
            }
            None if !files.is_empty() => Err(ManifestError::Damage {
                number: 1,
                offset: 0,
                what: "there is no manifest, but there are other files of a store",
            }),
            _ => Err(ManifestError::NotFound),
        }
    }

    /// The state after the last commit.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Bytes of the next file, if it took over now: until it has, there are both. Looked at once in a while.
    pub fn next_file_bytes(&mut self) -> u64 {
        if self.weighed.is_none_or(|(commits, _)| self.commits >= commits + COMMITS_TO_WEIGH) {
            let mut body = vec![0; 8];
            self.state.encode(&mut body);
            self.weighed = Some((self.commits, file_pages(frame_pages(body.len())) * PAGE_BYTES as u64));
        }
        self.weighed.map_or(0, |(_, bytes)| bytes)
    }

    /// Name of the file that holds the manifest now.
    pub fn file(&self) -> FileId {
        FileId::Manifest(self.number)
    }

    /// Number of the file that holds the manifest now.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Copies of frames that were found bad when the manifest was opened and whose other copy was good, in the order of the
    /// file; a new file replaces them at the next commit.
    pub fn bad_copies(&self) -> &[BadCopy] {
        &self.bad_copies
    }

    /// Makes `edits` durable, together. Returns the numbers of the files that nothing names any more: the caller
    /// removes them once no reader holds them.
    ///
    /// # Errors
    /// [`FlashError::NoSpace`]: nothing has changed, and it may be tried again. Any other error is final: every later
    /// commit fails too, and whether these edits are found at the next opening is open.
    pub fn commit(&mut self, flash: &dyn Flash, edits: &[Edit]) -> Result<Vec<u64>, FlashError> {
        if let Some(error) = &self.stopped {
            return Err(error.clone());
        }
        let mut state = self.state.clone();
        let mut dropped = Vec::new();
        for edit in edits {
            dropped.extend(state.apply(edit).unwrap_or_else(|error| panic!("{error}")));
        }
        let mut body = Vec::new();
        encode_list(edits, &mut body);
        let needs_none = |edit: &Edit| matches!(edit, Edit::Opened { .. } | Edit::CleanStop { .. });
        let leave = if edits.iter().any(needs_none) { 0 } else { OPENING_PAGES };
        match self.write(flash, &state, &body, leave) {
            Ok(()) => {
                self.state = state;
                self.commits += 1;
                Ok(dropped)
            }
            Err(CommitFailure::NothingChanged(error)) => Err(error),
            Err(CommitFailure::Final(error)) => {
                self.stopped = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Writes edits that leave so many pages to others.
    fn write(&mut self, flash: &dyn Flash, state: &State, edits: &[u8], leave: u64) -> Result<(), CommitFailure> {
        let has_room = self.end + 2 * frame_pages(edits.len()) + leave <= self.capacity;
        if has_room && !self.is_found {
            return self.append(flash, edits);
        }
        match self.switch(flash, state) {
            // A store on a full device still opens. What a torn commit left at the end holds no frame that parses.
            Err(CommitFailure::NothingChanged(_)) if has_room => self.append(flash, edits),
            result => result,
        }
    }

    fn append(&mut self, flash: &dyn Flash, body: &[u8]) -> Result<(), CommitFailure> {
        self.remove_stale(flash)?;
        let (frame, pages) = Frame::encode(self.number, EDITS, self.previous, self.end, body);
        let file = FileId::Manifest(self.number);
        flash.write_durably(file, self.end, pages.pages())?;
        self.end += 2 * frame.pages();
        self.previous = frame.checksum;
        Ok(())
    }

    /// Writes `state` as the snapshot of a new file, then removes all others.
    fn switch(&mut self, flash: &dyn Flash, state: &State) -> Result<(), CommitFailure> {
        assert_eq!(state.check(), Ok(()), "a state that is written is sound");
        let number = self.stale.iter().copied().fold(self.number, u64::max) + 1;
        match write_snapshot(flash, number, state) {
            Ok((end, previous, capacity)) => {
                self.stale.push(self.number);
                (self.number, self.end, self.previous, self.capacity) = (number, end, previous, capacity);
                self.is_found = false;
                self.remove_stale(flash)
            }
            Err(FlashError::NoSpace) => {
                // The new file may be complete but for its sync: it must not come back.
                remove_if_there(flash, number)?;
                flash.sync_names()?;
                Err(CommitFailure::NothingChanged(FlashError::NoSpace))
            }
            Err(error) => Err(CommitFailure::Final(error)),
        }
    }

    fn remove_stale(&mut self, flash: &dyn Flash) -> Result<(), CommitFailure> {
        if !self.stale.is_empty() {
            for number in std::mem::take(&mut self.stale) {
                remove_if_there(flash, number)?;
            }
            flash.sync_names()?;
        }
        Ok(())
    }
}

/// How a commit failed.
enum CommitFailure {
    NothingChanged(FlashError),
    Final(FlashError),
}

impl From<FlashError> for CommitFailure {
    fn from(error: FlashError) -> Self {
        Self::Final(error)
    }
}

/// Writes a complete new manifest. Returns its end, its last checksum and its capacity.
fn write_snapshot(flash: &dyn Flash, number: u64, state: &State) -> Result<(u64, u32, u64), FlashError> {
    let mut body = vec![0; 8];
    state.encode(&mut body);
    let pages = frame_pages(body.len());
    let capacity = file_pages(pages);
    body[..8].copy_from_slice(&capacity.to_le_bytes());
    let (frame, buffer) = Frame::encode(number, SNAPSHOT, 0, 0, &body);
    let file = FileId::Manifest(number);
    flash.create(file, capacity)?;
    flash.write_durably(file, 0, buffer.pages())?;
    flash.sync_names()?;
    Ok((2 * pages, frame.checksum, capacity))
}

/// Pages of a file whose snapshot takes so many.
fn file_pages(snapshot: u64) -> u64 {
    2 * snapshot + MIN_EDIT_PAGES.max(EDIT_PAGES_BY_SNAPSHOT * snapshot)
}

fn remove_if_there(flash: &dyn Flash, number: u64) -> Result<(), FlashError> {
    match flash.remove(FileId::Manifest(number)) {
        Err(FlashError::NotFound(_)) => Ok(()),
        result => result,
    }
}

/// The manifests among `files` with their lengths in pages, highest first.
fn manifests(files: &[(FileId, u64)]) -> Vec<(u64, u64)> {
    let mut numbers: Vec<_> = files
        .iter()
        .filter_map(|(file, length)| match file {
            FileId::Manifest(number) => Some((*number, *length)),
            _ => None,
        })
        .collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers
}

/// A manifest's file while it is read.
struct ManifestScan {
    number: u64,
    buffer: PageBuf,
    /// Page at which the next frame is expected.
    end: u64,
    previous: u32,
    bad_copies: Vec<BadCopy>,
}

impl ManifestScan {
    /// The manifest in the file with this number; `None` when its snapshot was never finished.
    fn file(flash: &dyn Flash, number: u64, length: u64) -> Result<Option<Manifest>, ManifestError> {
        let file = FileId::Manifest(number);
        flash.sync(file)?;
        let mut buffer = PageBuf::zeroed(length as usize);
        flash.read(file, 0, buffer.pages_mut())?;
        let mut scan = Self { number, buffer, end: 0, previous: 0, bad_copies: Vec::new() };
        let Some((SNAPSHOT, version, body)) = scan.next()? else {
            return Ok(None);
        };
        let (capacity, mut state) = scan.snapshot(version, &body)?;
        if state.check().is_err() {
            return Err(scan.damage(0, "the snapshot contradicts itself"));
        }
        if length < capacity {
            return Err(scan.damage(length, "the file is shorter than at its creation"));
        }
        loop {
            let at = scan.end;
            let Some((kind, _, body)) = scan.next()? else {
                break;
            };
            if kind != EDITS {
                return Err(scan.damage(at, "a frame of this kind does not belong here"));
            }
            for edit in scan.decode::<Vec<Edit>>(&body, at)? {
                state.apply(&edit).map_err(|_| scan.damage(at, "an edit contradicts the frames before it"))?;
            }
        }
        if state.check().is_err() {
            return Err(scan.damage(scan.end, "the edits contradict each other"));
        }
        Ok(Some(Manifest {
            number,
            state,
            end: scan.end,
            previous: scan.previous,
            capacity,
            stale: Vec::new(),
            is_found: true,
            bad_copies: scan.bad_copies,
            stopped: None,
            commits: 0,
            weighed: None,
        }))
    }

    /// Kind, version and body of the next frame; `None` where the frames end.
    fn next(&mut self) -> Result<Option<(u8, u16, Vec<u8>)>, ManifestError> {
        let pages = self.buffer.pages();
        let expected = |at: u64| {
            let (frame, body) = Frame::read(self.number, pages, at)?;
            (frame.page == self.end && frame.previous == self.previous).then_some((frame, body, at))
        };
        let length = pages.len() as u64;
        let Some((frame, body, at)) = expected(self.end).or_else(|| (self.end + 1..length).find_map(expected)) else {
            return self.end_of_frames();
        };
        if frame.version > VERSION {
            let what = format!("version {}, and this release reads version {VERSION}", frame.version);
            return Err(ManifestError::Newer { number: self.number, what });
        }
        let is_second = at != self.end;
        if is_second && at != self.end + frame.pages() {
            return Err(self.damage(self.end, "a frame's second copy is out of place"));
        }
        let second = self.end + frame.pages();
        let bad = if is_second { Some(self.end) } else { expected(second).is_none().then_some(second) };
        let body = body.to_vec();
        // Of those before there is a later commit now.
        self.bad_copies.iter_mut().for_each(|bad| bad.is_last = false);
        self.bad_copies.extend(bad.map(|page| BadCopy { offset: page * PAGE_BYTES as u64, is_last: true }));
        self.end += 2 * frame.pages();
        self.previous = frame.checksum;
        Ok(Some((frame.kind, frame.version, body)))
    }

    /// Makes sure that no later frame proves that there must be one at `self.end`.
    fn end_of_frames<T>(&self) -> Result<Option<T>, ManifestError> {
        let pages = self.buffer.pages();
        let is_later = |at: u64| {
            Frame::read(self.number, pages, at).is_some_and(|(frame, _)| frame.page > self.end && frame.page <= at)
        };
        if (self.end..pages.len() as u64).any(is_later) {
            return Err(self.damage(self.end, "both copies of a commit are damaged, and later ones are intact"));
        }
        Ok(None)
    }

    /// The capacity of the file and the state that a snapshot of this version holds.
    fn snapshot(&self, version: u16, body: &[u8]) -> Result<(u64, State), ManifestError> {
        if version >= WITH_BONDS {
            return self.decode(body, 0);
        }
        if version >= 2 {
            let mut body = body.to_vec();
            Bonds::default().encode(&mut body);
            return self.decode(&body, 0);
        }
        let (capacity, state) = self.decode::<(u64, StateV1)>(body, 0)?;
        Ok((capacity, state.into()))
    }

    fn decode<T: Code>(&self, body: &[u8], at: u64) -> Result<T, ManifestError> {
        let mut reader = Reader::new(body);
        match T::decode(&mut reader) {
            Ok(value) if reader.is_at_end() => Ok(value),
            Ok(_) | Err(DecodeError::Malformed) => Err(self.damage(at, "a frame has invalid contents")),
            Err(DecodeError::Unknown) => {
                Err(ManifestError::Newer { number: self.number, what: "a kind of edit".to_owned() })
            }
        }
    }

    fn damage(&self, page: u64, what: &'static str) -> ManifestError {
        ManifestError::Damage { number: self.number, offset: page * PAGE_BYTES as u64, what }
    }
}
