//! Commands out of the bytes of one connection.

use crate::inline;
use crate::limits::{
    Excess, MOST_LINE_BYTES, MOST_LOCKED_WORD_BYTES, MOST_LOCKED_WORDS, MOST_WORD_BYTES, MOST_WORDS, ReaderLimits,
};
use crate::number;
use crate::protocol_error::ProtocolError;
use memchr::memchr;
use std::ops::Range;

/// What [`CommandReader::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandStep<'a> {
    /// Bytes of the input that are done with; drop them, once the event no longer borrows from them, before the next call.
    pub consumed: usize,
    /// What they say.
    pub event: CommandEvent<'a>,
}

/// What the input says.
#[derive(Debug, PartialEq, Eq)]
pub enum CommandEvent<'a> {
    /// A command: at least one word.
    Command(Words<'a>),
    /// A command was passed over, which exceeds a limit. The connection goes on.
    Excess(Excess),
    /// Nothing until the input, without what is consumed now, holds at least `total` bytes.
    NeedMore {
        /// Bytes, at least 1.
        total: usize,
    },
    /// Nothing that follows can be understood: say so, and close the connection.
    Broken(ProtocolError),
}

/// The words of a command, the first of which is its name.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    bytes: &'a [u8],
    places: &'a [Range<usize>],
    /// See [`input_bytes`](Self::input_bytes).
    input_bytes: usize,
}

impl<'a> Words<'a> {
    /// How many there are, the name included.
    #[allow(clippy::len_without_is_empty)] // there is always a name
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The word at a place; the name is at 0.
    pub fn get(&self, place: usize) -> Option<&'a [u8]> {
        Some(&self.bytes[self.places.get(place)?.clone()])
    }

    /// How many of the input's consumed bytes the words lie in, at their end; 0 for a command that came as a line, whose words the
    /// reader has.
    pub fn input_bytes(&self) -> usize {
        self.input_bytes
    }

    /// The command's name, as it was sent.
    pub fn name(&self) -> &'a [u8] {
        &self.bytes[self.places[0].clone()]
    }

    /// All words.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.places.iter().map(move |word| &bytes[word.clone()])
    }
}

impl PartialEq for Words<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Words<'_> {}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderState {
    /// The beginning of a command.
    Start,
    /// The rest of a command: so many words are lacking, of which the first begins there in the input.
    Words { lacking: usize, at: usize },
    /// So many words, after so many bytes, of a command that is passed over.
    PassOver { lacking: usize, bytes: usize, why: Excess },
    /// Nothing: an error was told.
    Broken(ProtocolError),
}

/// A parser of the commands of one connection.
///
/// The same bytes give the same events however they are split over calls, but for [`NeedMore`](CommandEvent::NeedMore).
#[derive(Debug)]
pub struct CommandReader {
    limits: ReaderLimits,
    state: ReaderState,
    is_locked: bool,
    /// Bytes of the input that are known to hold no end of the line that is looked for, from where it begins.
    searched: usize,
    /// The words of the command that is being read, as places in the input, or in `line`.
    words: Vec<Range<usize>>,
    /// The words of a line, without quotes.
    line: Vec<u8>,
    /// Bytes of the input that the last command lies in; 0 if it came as a line.
    last_bytes: usize,
}

/// Room for words, and for bytes of lines, that a reader keeps from one command to the next.
const KEPT: usize = 64;

/// A line that was looked for.
enum Line<'a> {
    Whole(&'a [u8]),
    Partial,
    TooLong,
}

/// What is known of a word.
enum WordLength {
    /// It begins there in the input, and has so many bytes.
    Known { from: usize, bytes: usize },
    /// Nothing until the input has so many bytes.
    NeedsMore(usize),
}

impl CommandReader {
    /// A reader for a connection, of which nothing has come yet. The client of a `locked` one has to authenticate first, and
    /// may say little before.
    pub fn new(limits: ReaderLimits, is_locked: bool) -> Self {
        let (words, line) = (Vec::new(), Vec::new());
        Self { limits, state: ReaderState::Start, is_locked, searched: 0, words, line, last_bytes: 0 }
    }

    /// The client has authenticated, or has to again.
    pub fn set_locked(&mut self, is_locked: bool) {
        self.is_locked = is_locked;
    }

    /// Whether the client has yet to authenticate.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// The words of the last command again, if [`next`](Self::next) was not called since. `input` begins where that command
    /// does: its bytes were not dropped. They may be elsewhere in memory now.
    #[inline]
    pub fn last_command<'a>(&'a self, input: &'a [u8]) -> Words<'a> {
        let bytes = if self.last_bytes == 0 { &self.line } else { input };
        Words { bytes, places: &self.words, input_bytes: self.last_bytes }
    }

    /// Reads the next command of `input`, the connection's bytes that no earlier step consumed: always from the same byte on,
    /// since the reader remembers what it has seen of them.
    #[inline]
    pub fn next<'a>(&'a mut self, input: &'a [u8]) -> CommandStep<'a> {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            match self.state {
                ReaderState::Start => match rest.first() {
                    None => return need(consumed, 1),
                    Some(b'*') => match self.line_of(rest, 0, b'\r') {
                        Line::TooLong => return self.broken(consumed, ProtocolError::LongWordCount),
                        Line::Partial => return need(consumed, rest.len() + 1),
                        Line::Whole(line) => {
                            let begins = line.len() + 2;
                            if rest.len() < begins {
                                return need(consumed, begins);
                            }
                            match self.begin(&line[1..], begins) {
                                Err(error) => return self.broken(consumed, error),
                                // An array without words is no command.
                                Ok(None) => consumed += begins,
                                Ok(Some(state)) => self.state = state,
                            }
                        }
                    },
                    Some(_) => match self.line_of(rest, 0, b'\n') {
                        Line::TooLong => return self.broken(consumed, ProtocolError::LongInline),
                        Line::Partial => return need(consumed, rest.len() + 1),
                        Line::Whole(line) => {
                            let taken = line.len() + 1;
                            self.forget();
                            let line = line.strip_suffix(b"\r").unwrap_or(line);
                            if inline::split(line, &mut self.line, &mut self.words).is_none() {
                                return self.broken(consumed, ProtocolError::Quotes);
                            }
                            consumed += taken;
                            if self.words.len() > self.limits.words {
                                return CommandStep { consumed, event: CommandEvent::Excess(Excess::Words) };
                            }
                            if taken > self.limits.command_bytes {
                                return CommandStep { consumed, event: CommandEvent::Excess(Excess::Bytes) };
                            }
                            if !self.words.is_empty() {
                                self.last_bytes = 0;
                                let words = Words { bytes: &self.line, places: &self.words, input_bytes: 0 };
                                return CommandStep { consumed, event: CommandEvent::Command(words) };
                            }
                        }
                    },
                },
                ReaderState::Words { lacking: 0, at } => {
                    self.state = ReaderState::Start;
                    self.last_bytes = at;
                    let words = Words { bytes: rest, places: &self.words, input_bytes: at };
                    return CommandStep { consumed: consumed + at, event: CommandEvent::Command(words) };
                }
                ReaderState::Words { lacking, at } => match self.word_length(rest, at) {
                    Err(error) => return self.broken(consumed, error),
                    Ok(WordLength::NeedsMore(total)) => return need(consumed, total),
                    Ok(WordLength::Known { from, bytes }) => {
                        let ends = from + bytes + 2;
                        let is_too_long = ends > self.limits.command_bytes;
                        if rest.len() < ends && !is_too_long {
                            return need(consumed, ends);
                        }
                        self.searched = 0;
                        if is_too_long {
                            // What of it has come is let go.
                            consumed += from;
                            let bytes = bytes + 2;
                            self.state = ReaderState::PassOver { lacking: lacking - 1, bytes, why: Excess::Bytes };
                        } else {
                            self.words.push(from..from + bytes);
                            self.state = ReaderState::Words { lacking: lacking - 1, at: ends };
                        }
                    }
                },
                ReaderState::PassOver { lacking, bytes, why } => {
                    let taken = bytes.min(rest.len());
                    consumed += taken;
                    self.state = ReaderState::PassOver { lacking, bytes: bytes - taken, why };
                    if taken < bytes {
                        return need(consumed, 1);
                    }
                    if lacking == 0 {
                        self.state = ReaderState::Start;
                        return CommandStep { consumed, event: CommandEvent::Excess(why) };
                    }
                    match self.word_length(&input[consumed..], 0) {
                        Err(error) => return self.broken(consumed, error),
                        Ok(WordLength::NeedsMore(total)) => return need(consumed, total),
                        Ok(WordLength::Known { from, bytes }) => {
                            consumed += from;
                            self.searched = 0;
                            self.state = ReaderState::PassOver { lacking: lacking - 1, bytes: bytes + 2, why };
                        }
                    }
                }
                ReaderState::Broken(error) => return self.broken(consumed, error),
            }
        }
    }

    /// A command begins with this number of words, which are behind there; `None`: it has none.
    fn begin(&mut self, count: &[u8], behind: usize) -> Result<Option<ReaderState>, ProtocolError> {
        let count = number::integer(count).filter(|count| *count <= MOST_WORDS).ok_or(ProtocolError::WordCount)?;
        if self.is_locked && count > MOST_LOCKED_WORDS {
            return Err(ProtocolError::LockedWordCount);
        }
        self.forget();
        let Some(lacking) = usize::try_from(count).ok().filter(|count| *count > 0) else { return Ok(None) };
        Ok(Some(if lacking > self.limits.words {
            // Its first line is let go with the rest.
            ReaderState::PassOver { lacking, bytes: behind, why: Excess::Words }
        } else {
            ReaderState::Words { lacking, at: behind }
        }))
    }

    /// Where the word begins whose length is at a place of the input, and its bytes; or how many bytes of the input it takes to
    /// know that.
    fn word_length(&mut self, input: &[u8], at: usize) -> Result<WordLength, ProtocolError> {
        let line = match self.line_of(input, at, b'\r') {
            Line::TooLong => return Err(ProtocolError::LongWordLength),
            Line::Partial => return Ok(WordLength::NeedsMore(input.len() + 1)),
            Line::Whole(line) => line,
        };
        let begins = at + line.len() + 2;
        if input.len() < begins {
            return Ok(WordLength::NeedsMore(begins));
        }
        let [b'$', length @ ..] = line else {
            return Err(ProtocolError::NoWord(line.first().copied().unwrap_or(b'\r')));
        };
        let length = number::integer(length).filter(|length| (0..=MOST_WORD_BYTES).contains(length));
        match length {
            None => Err(ProtocolError::WordLength),
            Some(length) if self.is_locked && length > MOST_LOCKED_WORD_BYTES => Err(ProtocolError::LockedWordLength),
            Some(length) => {
                let bytes = usize::try_from(length).map_err(|_| ProtocolError::WordLength)?;
                Ok(WordLength::Known { from: begins, bytes })
            }
        }
    }

    /// The line that begins at a place of the input and ends before `end`.
    fn line_of<'a>(&mut self, input: &'a [u8], at: usize, end: u8) -> Line<'a> {
        let line = input.get(at..).unwrap_or_default();
        match memchr(end, &line[self.searched.min(line.len())..]) {
            Some(found) => {
                let whole = self.searched + found;
                if whole > MOST_LINE_BYTES { Line::TooLong } else { Line::Whole(&line[..whole]) }
            }
            None if line.len() > MOST_LINE_BYTES => Line::TooLong,
            None => {
                self.searched = line.len();
                Line::Partial
            }
        }
    }

    /// Nothing is left of the last command.
    fn forget(&mut self) {
        self.searched = 0;
        self.words.clear();
        self.line.clear();
        self.words.shrink_to(KEPT);
        self.line.shrink_to(KEPT);
    }

    #[cold]
    fn broken<'a>(&mut self, consumed: usize, error: ProtocolError) -> CommandStep<'a> {
        self.state = ReaderState::Broken(error);
        CommandStep { consumed, event: CommandEvent::Broken(error) }
    }
}

fn need<'a>(consumed: usize, total: usize) -> CommandStep<'a> {
    CommandStep { consumed, event: CommandEvent::NeedMore { total } }
}
