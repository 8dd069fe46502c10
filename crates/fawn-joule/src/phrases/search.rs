//! A search of texts with several threads.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard};

use super::lines::{LineOutput, LineWriter};
use super::matcher::{Matcher, MatcherMarks, Scratch, WindowCounts};
use super::source::{PieceReader, TextInput, TextPiece, TextReadError};

/// Occurrences that a thread collects before it counts them: while it does, no other one can.
const BATCH: usize = 1 << 14;

/// What is wanted of a search.
pub enum SearchGoal<'w> {
    /// How often each phrase occurs.
    Counts,
    /// Which phrases may occur, of a one-sided matcher; or what [`SearchGoal::Counts`] gives.
    Phrases,
    /// Lines with a phrase.
    Lines(LineOutput<'w>),
}

/// What a search has come to.
#[derive(Debug, Default)]
pub struct SearchOutcome {
    /// Bytes of the texts.
    pub bytes: u64,
    /// How many windows came how far.
    pub windows: WindowCounts,
    /// Occurrences of each phrase by its number; empty if they were not counted.
    pub counts: Vec<u64>,
    /// What passed the filters of a one-sided matcher.
    pub marks: Option<MatcherMarks>,
    /// Lines with a phrase, if they were wanted.
    pub lines: u64,
    /// Memory of all threads, counts and marks.
    pub memory_bytes: usize,
    /// What is odd about the texts, a sentence each.
    pub notes: Vec<String>,
}

/// Why a search ended early.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A text cannot be read.
    #[error(transparent)]
    Read(#[from] TextReadError),
    /// Lines cannot be written.
    #[error("cannot write lines with a phrase")]
    Write(#[source] io::Error),
}

/// What the threads of a search share.
struct SearchState<'s> {
    matcher: &'s Matcher,
    reader: Mutex<PieceReader>,
    counts: Mutex<Vec<u64>>,
    marks: Option<MatcherMarks>,
    lines: Option<Mutex<Turns<'s>>>,
    turn: Condvar,
    windows: Mutex<WindowCounts>,
    error: Mutex<Option<SearchError>>,
    progress: &'s (dyn Fn(u64) + Sync),
}

/// Pieces are taken in their order, whichever thread has searched them.
struct Turns<'w> {
    writer: LineWriter<'w>,
    next: u64,
    is_over: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread of a search panics")
}

/// Searches texts. `progress` is told the number of bytes that were read.
///
/// # Errors
/// A text cannot be read, or lines cannot be written.
pub fn search(
    matcher: &Matcher,
    texts: impl IntoIterator<Item = TextInput>,
    goal: SearchGoal<'_>,
    threads: NonZeroUsize,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<SearchOutcome, SearchError> {
    search_pieces(matcher, PieceReader::new(texts, matcher.list().longest), goal, threads, progress)
}

/// The same of texts that are cut already.
pub(super) fn search_pieces(
    matcher: &Matcher,
    reader: PieceReader,
    goal: SearchGoal<'_>,
    threads: NonZeroUsize,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<SearchOutcome, SearchError> {
    let is_one_sided = matcher.options().one_sided;
    let counts = match goal {
        SearchGoal::Counts | SearchGoal::Phrases if !is_one_sided => vec![0; matcher.phrases()],
        _ => Vec::new(),
    };
    let lines = match goal {
        SearchGoal::Lines(output) => Some(Turns { writer: LineWriter::new(output), next: 0, is_over: false }),
        _ => None,
    };
    let piece_bytes = reader.piece_bytes();
    let shared = SearchState {
        matcher,
        reader: Mutex::new(reader),
        counts: Mutex::new(counts),
        marks: is_one_sided.then(|| matcher.marks()),
        lines: lines.map(Mutex::new),
        turn: Condvar::new(),
        windows: Mutex::default(),
        error: Mutex::default(),
        progress,
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(|| shared.work());
        }
        shared.work();
    });
    let SearchState { reader, counts, marks, lines, windows, error, .. } = shared;
    if let Some(error) = inner(error) {
        return Err(error);
    }
    let (reader, counts) = (inner(reader), inner(counts));
    let lines = match lines.map(inner) {
        None => 0,
        Some(mut turns) => turns.writer.finish().map(|()| turns.writer.lines).map_err(SearchError::Write)?,
    };
    let a_thread = piece_bytes + Scratch::new().bytes() + BATCH * size_of::<u32>();
    let marks_bytes = marks.as_ref().map_or(0, MatcherMarks::bytes);
    Ok(SearchOutcome {
        bytes: reader.bytes,
        windows: inner(windows),
        memory_bytes: threads.get() * a_thread + size_of_val(&*counts) + marks_bytes,
        counts,
        marks,
        lines,
        notes: reader.notes,
    })
}

fn inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().expect("no thread of a search panics")
}

impl SearchState<'_> {
    /// What each thread does.
    fn work(&self) {
        let mut scratch = Scratch::new();
        if let Err(error) = self.search(&mut scratch) {
            lock(&self.error).get_or_insert(error);
            self.give_up();
        }
        lock(&self.windows).add(&scratch.counts);
    }

    /// Wakes who waits for a turn that will not come.
    fn give_up(&self) {
        if let Some(turns) = &self.lines {
            lock(turns).is_over = true;
        }
        self.turn.notify_all();
    }

    fn search(&self, scratch: &mut Scratch) -> Result<(), SearchError> {
        let (mut piece, mut found) = (TextPiece::default(), Vec::with_capacity(BATCH));
        while self.read(&mut piece)? {
            match &self.lines {
                None => {
                    self.find(&piece, scratch, &mut found);
                    self.count(&mut found, BATCH / 2);
                }
                Some(turns) => {
                    self.find_places(&piece, scratch, &mut found);
                    found.sort_unstable();
                    if !self.take(turns, &piece, &found)? {
                        return Ok(());
                    }
                    found.clear();
                }
            }
        }
        if self.lines.is_none() {
            self.count(&mut found, 0);
        }
        Ok(())
    }

    fn read(&self, piece: &mut TextPiece) -> Result<bool, SearchError> {
        let mut reader = lock(&self.reader);
        if lock(&self.error).is_some() {
            return Ok(false);
        }
        let is_read = reader.next(piece)?;
        (self.progress)(reader.bytes);
        Ok(is_read)
    }

    /// Finds phrases, and counts them whenever there are many.
    fn find(&self, piece: &TextPiece, scratch: &mut Scratch, found: &mut Vec<u32>) {
        if let Some(marks) = &self.marks {
            self.matcher.find_windows(&piece.bytes, &piece.starts, scratch, marks, |_| ());
            return;
        }
        self.matcher.find(&piece.bytes, &piece.starts, scratch, |_, number| {
            found.push(number);
            self.count(found, BATCH - 1);
            true
        });
    }

    /// Counts what was found, if it is more than `least`.
    #[inline]
    fn count(&self, found: &mut Vec<u32>, least: usize) {
        if found.len() > least {
            let mut counts = lock(&self.counts);
            found.drain(..).for_each(|number| counts[number as usize] += 1);
        }
    }

    /// Finds the places where phrases begin.
    fn find_places(&self, piece: &TextPiece, scratch: &mut Scratch, places: &mut Vec<u32>) {
        match &self.marks {
            Some(marks) => {
                self.matcher.find_windows(&piece.bytes, &piece.starts, scratch, marks, |place| places.push(place));
            }
            None => self.matcher.find(&piece.bytes, &piece.starts, scratch, |place, _| {
                places.push(place);
                false
            }),
        }
    }

    /// Waits for the turn of a piece and takes its lines; false: another thread has failed.
    fn take(&self, turns: &Mutex<Turns<'_>>, piece: &TextPiece, places: &[u32]) -> Result<bool, SearchError> {
        let waits = |turns: &mut Turns<'_>| turns.next != piece.number && !turns.is_over;
        let turns = self.turn.wait_while(lock(turns), waits);
        let mut turns = turns.expect("no thread of a search panics");
        if turns.is_over {
            return Ok(false);
        }
        turns.writer.take(piece, places).map_err(SearchError::Write)?;
        turns.next += 1;
        self.turn.notify_all();
        Ok(true)
    }
}
