//! The phrases of one class by the hash of their first window, to verify what the filters let pass.
//!
//! An entry has eight bytes: the upper half of the hash, and where the phrase begins in the list. Entries are sorted by both, so a
//! phrase is found by the number of its bucket, which is the first bits of the hash, and few comparisons of hashes. Phrases that begin
//! with the same window follow each other in the order of their texts. All phrases that begin at a place of the text are then the
//! last one that does not follow the text in that order, and what that one begins with.

use super::hash::{Case, RollingHash};
use super::patterns::PhraseList;

/// Entries of a bucket on average at most.
const BUCKET: usize = 4;

/// What the table has for a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// No phrase begins with this window: the filters were wrong.
    Nothing,
    /// Phrases begin with it, and none goes on as the text does.
    Window,
    /// At least one phrase begins here.
    Phrase,
}

/// The table of the phrases of one class.
#[derive(Clone, Debug)]
pub struct PhraseTable {
    case: Case,
    /// Upper half of the hash; offset in the list.
    entries: Vec<u64>,
    /// Number of the first entry of each bucket, and of the end.
    buckets: Vec<u32>,
    shift: u32,
    /// Entries that begin with a shorter phrase of this table, each with the longest such one, sorted.
    nested: Vec<(u32, u32)>,
}

/// The part of an entry that is of the hash.
fn key(entry: u64) -> u32 {
    (entry >> 32) as u32
}

impl PhraseTable {
    /// A table of the phrases with these offsets; duplicates are in it once, by the first of them.
    pub fn build(list: &PhraseList, offsets: impl Iterator<Item = u32>, hash: &RollingHash, case: Case) -> Self {
        let entry = |offset: u32| hash.of(list.at(offset)) >> 32 << 32 | u64::from(offset);
        let mut entries: Vec<u64> = offsets.map(entry).collect();
        entries.sort_unstable();
        order_groups(&mut entries, list, case);
        let mut table = Self { case, entries, buckets: Vec::new(), shift: 0, nested: Vec::new() };
        table.entries.shrink_to_fit();
        table.index();
        table.nest(list);
        table
    }

    fn index(&mut self) {
        let buckets = self.entries.len().div_ceil(BUCKET).next_power_of_two().clamp(2, 1 << 31);
        self.shift = 32 - buckets.trailing_zeros();
        self.buckets = Vec::with_capacity(buckets + 1);
        for (number, entry) in self.entries.iter().enumerate() {
            while self.buckets.len() <= (key(*entry) >> self.shift) as usize {
                self.buckets.push(number as u32);
            }
        }
        self.buckets.resize(buckets + 1, self.entries.len() as u32);
    }

    /// Finds the longest phrase that each one begins with.
    fn nest(&mut self, list: &PhraseList) {
        let mut open: Vec<usize> = Vec::new();
        for number in 0..self.entries.len() {
            let phrase = self.phrase(number, list);
            while let Some(last) = open.last() {
                let same = key(self.entries[*last]) == key(self.entries[number]);
                if same && self.case.begins_with(phrase, self.phrase(*last, list)) {
                    self.nested.push((number as u32, *last as u32));
                    break;
                }
                open.pop();
            }
            open.push(number);
        }
        self.nested.shrink_to_fit();
    }

    fn phrase<'l>(&self, number: usize, list: &'l PhraseList) -> &'l [u8] {
        list.at(self.entries[number] as u32)
    }

    /// How many different phrases it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Where the phrase of an entry begins in the list.
    pub fn offset(&self, number: u32) -> u32 {
        self.entries[number as usize] as u32
    }

    /// The entries of the bucket of a hash.
    #[inline]
    pub fn bucket(&self, hash: u64) -> (u32, u32) {
        let number = (hash >> 32 >> self.shift) as usize;
        (self.buckets[number], self.buckets[number + 1])
    }

    /// The first of the entries `from..to`, a bucket's, that has this hash.
    #[inline]
    pub fn first(&self, hash: u64, (from, to): (u32, u32)) -> Option<u32> {
        let wanted = (hash >> 32) as u32;
        let entries = &self.entries[from as usize..to as usize];
        let found = if entries.len() > 4 * BUCKET {
            entries.partition_point(|entry| key(*entry) < wanted)
        } else {
            entries.iter().position(|entry| key(*entry) >= wanted)?
        };
        (key(*entries.get(found)?) == wanted).then_some(from + found as u32)
    }

    /// Gives `found` the number of every phrase that `text` begins with, the longest first, until it returns false. `first` is the first
    /// entry with the hash of the window.
    pub fn phrases_at(&self, list: &PhraseList, first: u32, text: &[u8], mut found: impl FnMut(u32) -> bool) -> Finding {
        let first = first as usize;
        let hash = key(self.entries[first]);
        let is_alone = self.entries.get(first + 1).is_none_or(|next| key(*next) != hash);
        let mut number = if is_alone {
            first
        } else {
            let size = group(&self.entries[first..], hash);
            let longest = &text[..text.len().min(list.longest)];
            let follows = |entry: &u64| self.case.compare(list.at(*entry as u32), longest).is_le();
            let before = self.entries[first..first + size].partition_point(follows);
            first + before.max(1) - 1
        };
        let mut finding = Finding::Nothing;
        loop {
            if self.case.begins_with(text, self.phrase(number, list)) {
                finding = Finding::Phrase;
                if !found(number as u32) {
                    return finding;
                }
            }
            match self.nested.binary_search_by_key(&(number as u32), |(long, _)| *long) {
                Ok(at) => number = self.nested[at].1 as usize,
                Err(_) => return finding,
            }
        }
    }

    /// Whether any phrase of the group that begins with the entry `first` has the same first bytes as the window.
    pub fn has_window(&self, list: &PhraseList, first: u32, window: &[u8]) -> bool {
        let entries = &self.entries[first as usize..];
        let hash = key(entries[0]);
        let group = entries.iter().take_while(|entry| key(**entry) == hash);
        group.map(|entry| list.at(*entry as u32)).any(|phrase| self.case.begins_with(phrase, window))
    }

    /// The number of a phrase; `None`: it is not in this table.
    pub fn number_of(&self, list: &PhraseList, hash: u64, phrase: &[u8]) -> Option<u32> {
        let mut number = None;
        let first = self.first(hash, self.bucket(hash))?;
        self.phrases_at(list, first, phrase, |found| {
            number = (self.phrase(found as usize, list).len() == phrase.len()).then_some(found);
            false
        });
        number
    }

    /// Its memory.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
            + self.buckets.capacity() * size_of::<u32>()
            + self.nested.capacity() * size_of::<(u32, u32)>()
    }
}

/// How many entries at the start have this hash.
fn group(entries: &[u64], hash: u32) -> usize {
    // Most groups are small, and some have every phrase of the class.
    match entries.iter().take(16).position(|entry| key(*entry) != hash) {
        Some(size) => size,
        None => entries.partition_point(|entry| key(*entry) == hash),
    }
}

/// Sorts entries of the same hash by their texts, and leaves one of those with the same text.
fn order_groups(entries: &mut Vec<u64>, list: &PhraseList, case: Case) {
    let (mut from, mut to) = (0, 0);
    while from < entries.len() {
        let size = group(&entries[from..], key(entries[from]));
        let text = |entry: &u64| list.at(*entry as u32);
        entries[from..from + size]
            .sort_unstable_by(|one, other| case.compare(text(one), text(other)).then(one.cmp(other)));
        for at in from..from + size {
            if at == from || case.compare(text(&entries[at]), text(&entries[to - 1])).is_ne() {
                entries[to] = entries[at];
                to += 1;
            }
        }
        from += size;
    }
    entries.truncate(to);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(phrases: &str, window: usize, case: Case) -> (PhraseList, RollingHash, PhraseTable) {
        let list = PhraseList::parse(phrases.as_bytes().to_vec()).unwrap();
        let hash = RollingHash::new(window, case);
        let offsets: Vec<u32> = list.iter().map(|(offset, _)| offset).collect();
        let table = PhraseTable::build(&list, offsets.into_iter(), &hash, case);
        (list, hash, table)
    }

    fn found(phrases: &str, window: usize, case: Case, text: &str) -> (Finding, Vec<String>) {
        let (list, hash, table) = table(phrases, window, case);
        let hash = hash.of(text.as_bytes());
        let mut found = Vec::new();
        let Some(first) = table.first(hash, table.bucket(hash)) else { return (Finding::Nothing, found) };
        let finding = table.phrases_at(&list, first, text.as_bytes(), |number| {
            found.push(String::from_utf8(list.at(table.offset(number)).to_vec()).unwrap());
            true
        });
        (finding, found)
    }

    #[test]
    fn every_phrase_that_begins_at_a_place_is_found() {
        let phrases = "abc\nabcde\nabcd\nabd\nabcdf\nabcx\nabca\nxyz\nabcdez";
        let (finding, all) = found(phrases, 3, Case::Exact, "abcdef");
        assert_eq!((finding, all), (Finding::Phrase, vec!["abcde".to_owned(), "abcd".to_owned(), "abc".to_owned()]));
        assert_eq!(found("abcd\nabce", 3, Case::Exact, "abcc").0, Finding::Nothing);
        assert_eq!(found(phrases, 3, Case::Exact, "abc").1, ["abc"]);
        assert_eq!(found(phrases, 3, Case::Exact, "ABCD").1, [""; 0]);
        assert_eq!(found(phrases, 3, Case::AsciiInsensitive, "ABCD!").1, ["abcd", "abc"]);
    }

    #[test]
    fn duplicates_are_one_phrase_and_the_first_of_them_stays() {
        let (list, hash, table) = table("deer\nfawn\nDeer\ndeer\nelks", 4, Case::AsciiInsensitive);
        assert_eq!(table.len(), 3);
        let number = table.number_of(&list, hash.of(b"DEER"), b"DEER").unwrap();
        assert_eq!(list.at(table.offset(number)), b"deer");
        assert_eq!(table.number_of(&list, hash.of(b"deers"), b"deers"), None);
    }

    #[test]
    fn phrases_with_one_common_start_are_found_by_few_comparisons() {
        let phrases: String = (0..20_000).map(|number| format!("http{number:05}\n")).collect();
        let (list, hash, table) = table(&phrases, 4, Case::Exact);
        for number in [0, 1, 77, 19_999] {
            let phrase = format!("http{number:05}");
            let found = table.number_of(&list, hash.of(b"http"), phrase.as_bytes()).unwrap();
            assert_eq!(list.at(table.offset(found)), phrase.as_bytes());
        }
        assert_eq!(table.number_of(&list, hash.of(b"http"), b"http2000x"), None);
        assert!(table.has_window(&list, table.first(hash.of(b"http"), table.bucket(hash.of(b"http"))).unwrap(), b"http"));
    }
}
