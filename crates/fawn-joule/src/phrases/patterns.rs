//! The phrases to look for, as one text with a phrase on each line.

use std::io::{self, Read};

use fawn_files::text::{BYTE_ORDER_MARK, compressed, marked};
use memchr::memchr;

use super::hash::Case;

/// Bytes of all phrases together at most: a phrase is named by where it begins, in 32 bits.
pub const MOST_BYTES: usize = u32::MAX as usize;

/// Duplicates are looked for among so many phrases at least, and in so many parts of all phrases at most.
const LEAST_PART: usize = 1 << 18;
const PARTS: usize = 8;

/// Bytes of a line of the cache.
const CACHE_LINE: usize = 64;

/// Why a file is none of phrases. Each message says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is no phrase in it.
    #[error("it has no phrases: write one on each line")]
    Empty,
    /// More than can be named.
    #[error(
        "it has {0} bytes, and all phrases together may have {MOST_BYTES}: split the file and search once for each part"
    )]
    TooLarge(usize),
    /// Compressed by this program; the other one unpacks it.
    #[error("it is compressed by {0}: unpack it, e.g. `{1} FILE | fawn joule phrases --patterns - TEXT`")]
    Compressed(&'static str, &'static str),
    /// Text of an encoding in which no byte of it is as in UTF-8.
    #[error("it is {0} text, and phrases are compared byte by byte: save it as the texts are, e.g. as UTF-8")]
    Foreign(&'static str),
}

/// Phrases, one on each line, in the order of their file. There may be duplicates among them.
#[derive(Clone, Debug)]
pub struct PhraseList {
    /// Each phrase ends with a line feed.
    text: Vec<u8>,
    count: usize,
    /// Empty lines, which are no phrases.
    pub empty_lines: usize,
    /// Bytes of the longest phrase.
    pub longest: usize,
    /// Phrases that were removed, because they are those before.
    pub duplicates: usize,
    /// Whether a phrase ends with a carriage return.
    pub(super) has_carriage_return: bool,
}

impl PhraseList {
    /// The bytes of a file of phrases of this size, in memory that [`parse`](Self::parse) goes on with: at no time is there a second
    /// copy. Of a pipe, whose size nobody knows, there may be one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(mut file: impl Read, bytes: Option<u64>) -> io::Result<Vec<u8>> {
        // One more, for a line feed that may be missing at the end.
        let known = bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes <= MOST_BYTES);
        let mut text = Vec::with_capacity(known.map_or(0, |bytes| bytes + 1));
        file.read_to_end(&mut text)?;
        Ok(text)
    }

    /// The phrases of a file. A line ends with a line feed or with a carriage return and a line feed, the last one perhaps with
    /// neither. Empty lines are left out, and so is a byte order mark of UTF-8.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn parse(mut text: Vec<u8>) -> Result<Self, PatternError> {
        if let Some((program, unpacker)) = compressed(&text) {
            return Err(PatternError::Compressed(program, unpacker));
        }
        if let Some(encoding) = marked(&text) {
            return Err(PatternError::Foreign(encoding.name()));
        }
        if text.len() > MOST_BYTES {
            return Err(PatternError::TooLarge(text.len()));
        }
        let is_cut = text.last().is_some_and(|last| *last != b'\n');
        if is_cut {
            text.push(b'\n');
        }
        let mut list = Self { text, count: 0, empty_lines: 0, longest: 0, duplicates: 0, has_carriage_return: false };
        list.tidy(is_cut);
        if list.count == 0 { Err(PatternError::Empty) } else { Ok(list) }
    }

    /// Moves the phrases together, without what is between them. `is_cut`: the last line feed was not in the file.
    fn tidy(&mut self, is_cut: bool) {
        let text = &mut self.text;
        let mut from = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut to = 0;
        while let Some(length) = memchr(b'\n', &text[from..]) {
            let line = &text[from..from + length];
            // What ends a line is a carriage return with a line feed behind it, in texts, too.
            let has_line_feed = !is_cut || from + length + 1 < text.len();
            let phrase = line.strip_suffix(b"\r").filter(|_| has_line_feed).unwrap_or(line).len();
            if phrase > 0 {
                self.has_carriage_return |= line[phrase - 1] == b'\r';
                text.copy_within(from..from + phrase, to);
                text[to + phrase] = b'\n';
                to += phrase + 1;
                self.count += 1;
                self.longest = self.longest.max(phrase);
            } else {
                self.empty_lines += 1;
            }
            from += length + 1;
        }
        text.truncate(to);
        text.shrink_to_fit();
    }

    /// Removes phrases that are there before. It takes eight bytes for each of an eighth of the phrases meanwhile.
    pub(super) fn remove_duplicates(&mut self, case: Case) {
        let parts = self.count.div_ceil(LEAST_PART).clamp(1, PARTS) as u64;
        let mut removed: Vec<u32> = Vec::new();
        for part in 0..parts {
            // Half of a phrase's hash, and its offset.
            let key = |(offset, phrase): (u32, &[u8])| {
                let hash = case.hash(phrase);
                (hash % parts == part).then_some(hash >> 32 << 32 | u64::from(offset))
            };
            let mut keys: Vec<u64> = self.iter().filter_map(key).collect();
            keys.sort_unstable();
            let order = |one: u32, other: u32| case.compare(self.at(one), self.at(other));
            for alike in keys.chunk_by(|one, other| one >> 32 == other >> 32).filter(|alike| alike.len() > 1) {
                let mut offsets: Vec<u32> = alike.iter().map(|key| *key as u32).collect();
                offsets.sort_unstable_by(|one, other| order(*one, *other).then(one.cmp(other)));
                for same in offsets.chunk_by(|one, other| order(*one, *other).is_eq()) {
                    removed.extend_from_slice(&same[1..]);
                }
            }
        }
        removed.sort_unstable();
        self.remove(&removed);
    }

    /// Removes the phrases with these offsets, which are sorted.
    fn remove(&mut self, offsets: &[u32]) {
        let (mut from, mut to) = (0, 0);
        for offset in offsets.iter().map(|offset| *offset as usize).chain([self.text.len()]) {
            self.text.copy_within(from..offset, to);
            to += offset - from;
            from = offset + memchr(b'\n', &self.text[offset..]).map_or(0, |length| length + 1);
        }
        self.text.truncate(to);
        self.text.shrink_to_fit();
        self.count -= offsets.len();
        self.duplicates += offsets.len();
    }

    /// How many there are, duplicates included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The phrase that begins there.
    pub fn at(&self, offset: u32) -> &[u8] {
        let text = &self.text[offset as usize..];
        &text[..memchr(b'\n', text).expect("each phrase ends with a line feed")]
    }

    /// Brings the start of a phrase into the cache. Whoever calls this for many phrases waits for all of them at once, and has to use
    /// the result.
    #[inline]
    pub(super) fn touch(&self, offset: u32) -> u8 {
        let at = offset as usize;
        self.text[at] ^ self.text.get(at + CACHE_LINE).copied().unwrap_or_default()
    }

    /// Whether `text` begins with the phrase that begins at `offset`.
    #[inline]
    pub(super) fn is_at(&self, offset: u32, text: &[u8], case: Case) -> bool {
        let mut phrase = &self.text[offset as usize..];
        let mut text = text;
        // Eight bytes at a time, without looking for the end of the phrase first.
        while let (Case::Exact, Some((word, more)), Some((other, rest))) =
            (case, phrase.split_first_chunk::<8>(), text.split_first_chunk::<8>())
        {
            let word = u64::from_le_bytes(*word);
            let end = line_feed(word);
            let different = (word ^ u64::from_le_bytes(*other)).trailing_zeros() / 8;
            if end < 8 || different < 8 {
                return end <= different;
            }
            (phrase, text) = (more, rest);
        }
        let end = memchr(b'\n', phrase).expect("each phrase ends with a line feed");
        case.begins_with(text, &phrase[..end])
    }

    /// Whether the phrase that begins at `offset` begins with the window, which is no longer.
    pub(super) fn has_window(&self, offset: u32, window: &[u8], case: Case) -> bool {
        case.begins_with(&self.text[offset as usize..], window)
    }

    /// Every phrase, with where it begins.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let mut offset = 0;
        std::iter::from_fn(move || {
            let text = self.text.get(offset..).filter(|text| !text.is_empty())?;
            let phrase = &text[..memchr(b'\n', text).expect("each phrase ends with a line feed")];
            let begin = offset as u32;
            offset += phrase.len() + 1;
            Some((begin, phrase))
        })
    }

    /// Memory of the phrases.
    pub fn bytes(&self) -> usize {
        self.text.capacity()
    }
}

/// Which of eight bytes is the first line feed, the lowest one being the first; 8: none is.
fn line_feed(word: u64) -> u32 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let zeros = word ^ (ONES * b'\n' as u64);
    // The lowest bit that is set is of a byte that is zero (Hacker's Delight, 6-1).
    let found = zeros.wrapping_sub(ONES) & !zeros & (ONES << 7);
    found.trailing_zeros() / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrases(text: &[u8]) -> Vec<Vec<u8>> {
        PhraseList::parse(text.to_vec()).unwrap().iter().map(|(_, phrase)| phrase.to_vec()).collect()
    }

    #[test]
    fn a_phrase_is_a_line_without_its_end() {
        assert_eq!(phrases(b"one\ntwo\n"), [b"one", b"two"]);
        assert_eq!(phrases(b"one\r\n\r\n\n two \r\r\nthree"), [&b"one"[..], b" two \r", b"three"]);
        assert_eq!(phrases(b"\xef\xbb\xbfone\n\xff\0\n"), [&b"one"[..], b"\xff\0"]);
        let list = PhraseList::parse(b"a\n\nlonger\n\r\nb".to_vec()).unwrap();
        assert_eq!((list.count(), list.empty_lines, list.longest), (3, 2, 6));
        for (offset, phrase) in list.iter() {
            assert_eq!(list.at(offset), phrase);
        }
    }

    #[test]
    fn a_carriage_return_without_a_line_feed_is_of_the_phrase() {
        assert_eq!(phrases(b"one\r"), [b"one\r"]);
        assert_eq!(phrases(b"one\r\ntwo"), [b"one", b"two"]);
        let has = |text: &[u8]| PhraseList::parse(text.to_vec()).unwrap().has_carriage_return;
        assert_eq!([&b"a\r\r\nb\n"[..], b"a\r", b"a\r\nb\rc\n"].map(has), [true, true, false]);
    }

    #[test]
    fn a_file_is_read_into_memory_that_has_room_for_its_last_line_feed() {
        let file: Vec<u8> = b"a phrase\n".repeat(300_000);
        let text = PhraseList::read(&file[..file.len() - 1], Some(file.len() as u64 - 1)).unwrap();
        assert!(text == file[..file.len() - 1]);
        let (place, capacity) = (text.as_ptr(), text.capacity());
        assert_eq!(capacity, file.len());
        let list = PhraseList::parse(text).unwrap();
        assert_eq!((list.text.as_ptr(), list.bytes(), list.count()), (place, file.len(), 300_000), "it was copied");
        assert!(PhraseList::read(&file[..], None).unwrap() == file);
        assert!(PhraseList::read(io::empty(), None).unwrap().is_empty());
    }

    #[test]
    fn duplicates_are_removed_and_the_first_of_them_stays() {
        let without = |text: &str, case: Case| {
            let mut list = PhraseList::parse(text.as_bytes().to_vec()).unwrap();
            list.remove_duplicates(case);
            let left: Vec<String> = list.iter().map(|(_, it)| String::from_utf8(it.to_vec()).unwrap()).collect();
            assert_eq!((list.count(), list.count() + list.duplicates), (left.len(), text.lines().count()));
            left
        };
        assert_eq!(without("dog\ncat\ndog\nCat\ndog\n", Case::Exact), ["dog", "cat", "Cat"]);
        assert_eq!(without("dog\nCat\nDOG\ncAT", Case::AsciiInsensitive), ["dog", "Cat"]);
        assert_eq!(without("dog", Case::Exact), ["dog"]);
        // In several parts.
        let many: Vec<String> = (0..LEAST_PART * 2).map(|at| (at % 100_003).to_string()).collect();
        let left = without(&many.join("\n"), Case::Exact);
        assert!(left == many[..100_003]);
    }

    #[test]
    fn a_text_begins_with_a_phrase_or_not_whatever_their_lengths() {
        let text: Vec<u8> = (0..40u8).map(|at| b'a' + at % 26).collect();
        for length in 1..40 {
            let mut other = text[..length].to_vec();
            other[length - 1] ^= 0x80;
            let list = PhraseList::parse([&text[..length], &other, b"behind it"].join(&b'\n')).unwrap();
            for (offset, phrase) in list.iter() {
                for end in 0..text.len() {
                    let is_at = text[..end].starts_with(phrase);
                    assert_eq!(list.is_at(offset, &text[..end], Case::Exact), is_at, "{length} {end}");
                    assert_eq!(list.is_at(offset, &text[..end].to_ascii_uppercase(), Case::AsciiInsensitive), is_at);
                }
            }
            assert!(list.is_at(0, &[&text[..length], b"\n\n\n\n\n\n\n\n\n"].concat(), Case::Exact));
        }
    }

    #[test]
    fn what_is_no_list_of_phrases_is_refused_with_what_to_do() {
        let refused = |text: &[u8]| PhraseList::parse(text.to_vec()).unwrap_err();
        assert_eq!(refused(b""), PatternError::Empty);
        assert_eq!(refused(b"\n\r\n"), PatternError::Empty);
        assert!(refused(b"\x1f\x8b\x08\0").to_string().contains("e.g. `zcat FILE | "));
        assert!(refused(b"\xff\xfea\0\n\0").to_string().contains("UTF-16"));
    }
}
