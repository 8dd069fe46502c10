//! The phrases of one class by the hash of their first window, to verify what the filters let pass.
//!
//! An entry has eight bytes: the upper 24 bits of the hash, the byte that follows the window, and where the phrase begins in the list.
//! Entries are sorted by the hash, so a phrase is found by the number of its bucket, which is the first bits of the hash, and few
//! comparisons of hashes. The byte spares most looks at phrases that begin with the window and go on in another way. Phrases with
//! the same hash, a group, follow each other in the order of their texts. All phrases that begin at a place of the text are then the
//! last one that does not follow the text in that order, and what that one begins with.

use std::ops::Range;

use super::hash::{Case, RollingHash};
use super::patterns::PhraseList;

/// Entries of a bucket on average at most.
const BUCKET: usize = 4;

/// Phrases that begin with the same window are compared one by one if they are so many at most.
pub const SMALL_GROUP: usize = 16;

/// The table of the phrases of one class.
#[derive(Clone, Debug)]
pub struct PhraseTable {
    case: Case,
    /// Upper bits of the hash; the next byte; offset in the list.
    entries: Vec<u64>,
    /// Number of the first entry of each bucket, and of the end.
    buckets: Vec<u32>,
    shift: u32,
    /// Entries of large groups that begin with a shorter phrase of this table, each with the longest such one, sorted.
    nested: Vec<(u32, u32)>,
    /// The large groups whose phrases begin with one window, sorted.
    large: Vec<LargeGroup>,
    /// The [tails](tail) of their phrases.
    tails: Vec<u128>,
}

/// Phrases that begin with the same window and are too many to compare one by one.
#[derive(Clone, Copy, Debug)]
struct LargeGroup {
    /// Its first entry.
    first: u32,
    /// Its first tail.
    tails: u32,
}

/// What a text has behind its window, as a number: texts with the same window and different tails are in the order of these. They lie
/// side by side, so that a search among them does not wait for memory.
fn tail(case: Case, text: &[u8], window: usize) -> u128 {
    let mut bytes = [0; 16];
    let behind = text.get(window..).unwrap_or_default();
    bytes.iter_mut().zip(behind).for_each(|(byte, other)| *byte = case.fold(*other));
    u128::from_be_bytes(bytes)
}

/// Bits of a hash that an entry has.
const KEY_BITS: u32 = 24;

/// The part of a hash that an entry has.
fn key_of(hash: u64) -> u32 {
    (hash >> (64 - KEY_BITS)) as u32
}

/// The part of an entry that is of the hash.
fn key(entry: u64) -> u32 {
    key_of(entry)
}

/// What stands for the byte behind the window: 0 if nothing is there.
fn next(case: Case, text: &[u8], window: usize) -> u8 {
    text.get(window).map_or(0, |byte| case.fold(*byte).max(1))
}

impl PhraseTable {
    /// A table of the phrases with these offsets; duplicates are in it once, by the first of them.
    pub fn build(list: &PhraseList, offsets: impl Iterator<Item = u32>, hash: &RollingHash, case: Case) -> Self {
        let entry = |offset: u32| {
            let phrase = list.at(offset);
            let next = next(case, phrase, hash.window());
            u64::from(key_of(hash.of(phrase))) << (64 - KEY_BITS) | u64::from(next) << 32 | u64::from(offset)
        };
        let mut entries: Vec<u64> = offsets.map(entry).collect();
        entries.sort_unstable();
        order_groups(&mut entries, list, case);
        let mut table = Self {
            case,
            entries,
            buckets: Vec::new(),
            shift: 0,
            nested: Vec::new(),
            large: Vec::new(),
            tails: Vec::new(),
        };
        table.entries.shrink_to_fit();
        table.index();
        table.order(list, hash.window());
        table
    }

    fn index(&mut self) {
        let buckets = self.entries.len().div_ceil(BUCKET).next_power_of_two().clamp(2, 1 << KEY_BITS);
        self.shift = KEY_BITS - buckets.trailing_zeros();
        self.buckets = Vec::with_capacity(buckets + 1);
        for (number, entry) in self.entries.iter().enumerate() {
            while self.buckets.len() <= (key(*entry) >> self.shift) as usize {
                self.buckets.push(number as u32);
            }
        }
        self.buckets.resize(buckets + 1, self.entries.len() as u32);
    }

    /// Prepares the search in large groups.
    fn order(&mut self, list: &PhraseList, window: usize) {
        let mut from = 0;
        while from < self.entries.len() {
            let size = group_size(&self.entries[from..], key(self.entries[from]));
            if size > SMALL_GROUP {
                self.nest(from..from + size, list);
            }
            // Windows with the same hash may differ, and tails have an order among phrases with one window alone.
            let window_of = |number: usize| &self.phrase(number, list)[..window];
            if size > SMALL_GROUP && self.case.compare(window_of(from), window_of(from + size - 1)).is_eq() {
                self.large.push(LargeGroup { first: from as u32, tails: self.tails.len() as u32 });
                let phrases = self.entries[from..from + size].iter().map(|entry| list.at(*entry as u32));
                self.tails.extend(phrases.map(|phrase| tail(self.case, phrase, window)));
            }
            from += size;
        }
        self.nested.shrink_to_fit();
        self.large.shrink_to_fit();
        self.tails.shrink_to_fit();
    }

    /// Finds the longest phrase that each one of a group begins with.
    fn nest(&mut self, group: Range<usize>, list: &PhraseList) {
        let mut open = Vec::new();
        for number in group {
            let phrase = self.phrase(number, list);
            while let Some(last) = open.pop() {
                if self.case.begins_with(phrase, self.phrase(last, list)) {
                    self.nested.push((number as u32, last as u32));
                    open.push(last);
                    break;
                }
            }
            open.push(number);
        }
    }

    fn phrase<'l>(&self, number: usize, list: &'l PhraseList) -> &'l [u8] {
        list.at(self.entries[number] as u32)
    }

    /// How many different phrases it has.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Where the phrase of an entry begins in the list.
    pub fn offset(&self, number: u32) -> u32 {
        self.entries[number as usize] as u32
    }

    /// The entries of the bucket of a hash.
    #[inline]
    pub fn bucket(&self, hash: u64) -> (u32, u32) {
        let number = (key_of(hash) >> self.shift) as usize;
        (self.buckets[number], self.buckets[number + 1])
    }

    /// Brings the start of a bucket into the cache, as `PhraseList::touch` does a phrase.
    #[inline]
    pub fn touch(&self, (from, _): (u32, u32)) -> u8 {
        self.entries.get(from as usize).map_or(0, |entry| *entry as u8)
    }

    /// Those of the entries `from..to`, a bucket's, that have this hash.
    #[inline]
    pub fn group(&self, hash: u64, (from, to): (u32, u32)) -> Range<u32> {
        let wanted = key_of(hash);
        let entries = &self.entries[from as usize..to as usize];
        let (mut first, mut size) = (0, 0);
        if entries.len() > 4 * BUCKET {
            first = entries.partition_point(|entry| key(*entry) < wanted);
            size = group_size(&entries[first..], wanted);
        } else {
            // Without a branch that depends on the hash.
            for entry in entries {
                first += u32::from(key(*entry) < wanted) as usize;
                size += usize::from(key(*entry) == wanted);
            }
        }
        let first = from + first as u32;
        first..first + size as u32
    }

    /// The last phrase of a large group that does not follow `text` in the order of texts, or else the first one. What `text` begins with
    /// is this phrase, or what this phrase begins with.
    pub fn last(&self, list: &PhraseList, group: &Range<u32>, window: usize, text: &[u8]) -> u32 {
        let text = &text[..text.len().min(list.longest)];
        let (mut from, mut same) = (group.start as usize, group.len());
        if let Ok(at) = self.large.binary_search_by_key(&group.start, |large| large.first) {
            let tails = &self.tails[self.large[at].tails as usize..][..group.len()];
            let tail = tail(self.case, text, window);
            let before = tails.partition_point(|other| *other < tail);
            from += before;
            same = tails[before..].partition_point(|other| *other == tail);
        }
        let follows = |entry: &u64| self.case.compare(list.at(*entry as u32), text).is_le();
        let before = from + self.entries[from..from + same].partition_point(follows);
        (before as u32).saturating_sub(1).max(group.start)
    }

    /// Gives `found` the number of each phrase that `text` begins with, of a large group of which `last` is the [last](Self::last) one,
    /// the longest first, until it returns false. Returns whether there is one.
    pub fn phrases_at(
        &self,
        list: &PhraseList,
        mut last: u32,
        text: &[u8],
        mut found: impl FnMut(u32) -> bool,
    ) -> bool {
        let mut is_found = false;
        loop {
            if self.is_at(list, last, text) {
                is_found = true;
                if !found(last) {
                    return true;
                }
            }
            match self.nested.binary_search_by_key(&last, |(long, _)| *long) {
                Ok(at) => last = self.nested[at].1,
                Err(_) => return is_found,
            }
        }
    }

    /// Whether the phrase of an entry ends with the window, or goes on as `text` does at least for a byte. It begins with the window
    /// unless the hash is wrong.
    #[inline]
    pub fn goes_on(&self, number: u32, window: usize, text: &[u8]) -> bool {
        let known = (self.entries[number as usize] >> 32) as u8;
        known == 0 || known == next(self.case, text, window)
    }

    /// Whether `text` begins with the phrase of an entry.
    #[inline]
    pub fn is_at(&self, list: &PhraseList, number: u32, text: &[u8]) -> bool {
        list.is_at(self.offset(number), text, self.case)
    }

    /// Whether any phrase of the group begins with the window.
    pub fn has_window(&self, list: &PhraseList, mut group: Range<u32>, window: &[u8]) -> bool {
        group.any(|number| list.has_window(self.offset(number), window, self.case))
    }

    /// The number of a phrase; `None`: it is not in this table.
    pub fn number_of(&self, list: &PhraseList, hash: u64, phrase: &[u8]) -> Option<u32> {
        let group = self.group(hash, self.bucket(hash));
        let entries = &self.entries[group.start as usize..group.end as usize];
        let at = entries.binary_search_by(|entry| self.case.compare(list.at(*entry as u32), phrase)).ok()?;
        Some(group.start + at as u32)
    }

    /// Its memory.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
            + self.buckets.capacity() * size_of::<u32>()
            + self.nested.capacity() * size_of::<(u32, u32)>()
            + self.large.capacity() * size_of::<LargeGroup>()
            + self.tails.capacity() * size_of::<u128>()
    }
}

/// How many entries at the start have this hash.
fn group_size(entries: &[u64], hash: u32) -> usize {
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
        let size = group_size(&entries[from..], key(entries[from]));
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
    use std::collections::HashMap;

    use super::*;

    fn table(phrases: &str, window: usize, case: Case) -> (PhraseList, RollingHash, PhraseTable) {
        let list = PhraseList::parse(phrases.as_bytes().to_vec()).unwrap();
        let hash = RollingHash::new(window, case);
        let offsets: Vec<u32> = list.iter().map(|(offset, _)| offset).collect();
        let table = PhraseTable::build(&list, offsets.into_iter(), &hash, case);
        (list, hash, table)
    }

    /// What is found of phrases in two ways: one by one, and by the order of texts.
    fn found(phrases: &str, window: usize, case: Case, text: &str) -> (Vec<String>, Vec<String>) {
        let others = (0..SMALL_GROUP).map(|at| format!("\n{}~{at}", &phrases[..window])).collect::<Vec<_>>().concat();
        let (list, hash, table) = table(&(phrases.to_owned() + &others), window, case);
        let (hash, text) = (hash.of(text.as_bytes()), text.as_bytes());
        let group = table.group(hash, table.bucket(hash));
        let phrase = |number: u32| String::from_utf8(list.at(table.offset(number)).to_vec()).unwrap();
        let goes_on = |number: &u32| table.goes_on(*number, window, text);
        let is_at = |number: &u32| table.is_at(&list, *number, text);
        let mut one_by_one: Vec<String> = group.clone().filter(goes_on).filter(is_at).map(phrase).collect();
        one_by_one.reverse();
        let mut ordered = Vec::new();
        if !group.is_empty() {
            let is_found = table.phrases_at(&list, table.last(&list, &group, window, text), text, |number| {
                ordered.push(phrase(number));
                true
            });
            assert_eq!(is_found, !ordered.is_empty());
        }
        (one_by_one, ordered)
    }

    #[test]
    fn every_phrase_that_begins_at_a_place_is_found() {
        let phrases = "abc\nabcde\nabcd\nabd\nabcdf\nabcx\nabca\nxyz\nabcdez";
        let same = |found: (Vec<String>, Vec<String>), expected: &[&str]| {
            assert_eq!(found.0, expected);
            assert_eq!(found.1, expected);
        };
        same(found(phrases, 3, Case::Exact, "abcdef"), &["abcde", "abcd", "abc"]);
        same(found("abcd\nabce", 3, Case::Exact, "abcc"), &[]);
        same(found(phrases, 3, Case::Exact, "abc"), &["abc"]);
        same(found(phrases, 3, Case::Exact, "ABCD"), &[]);
        same(found(phrases, 3, Case::AsciiInsensitive, "ABCD!"), &["abcd", "abc"]);
    }

    #[test]
    fn duplicates_are_one_phrase_and_the_first_of_them_stays() {
        let (list, hash, table) = table("deer\nfawn\nDeer\ndeer\nelks", 4, Case::AsciiInsensitive);
        assert_eq!(table.count(), 3);
        let number = table.number_of(&list, hash.of(b"DEER"), b"DEER").unwrap();
        assert_eq!(list.at(table.offset(number)), b"deer");
        assert_eq!(table.number_of(&list, hash.of(b"deers"), b"deers"), None);
    }

    #[test]
    fn different_windows_of_one_hash_are_told_apart() {
        // So many windows that some share the bits of a hash that an entry has, with large groups among them.
        let plain = (0..30_000u32).map(|at| format!("{at:05}{}", if at % 3 == 0 { "x" } else { "" }));
        let more = (0..40).flat_map(|at| (0..200).map(move |group| format!("{:05}-{at}", group * 149)));
        let phrases = plain.chain(more).collect::<Vec<_>>().join("\n");
        let (list, hash, table) = table(&phrases, 5, Case::Exact);
        let mut by_window: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
        list.iter().for_each(|(_, phrase)| by_window.entry(&phrase[..5]).or_default().push(phrase));
        let mut keys = HashMap::new();
        let mut shared = 0;
        for (offset, phrase) in list.iter() {
            let window = &phrase[..5];
            shared += usize::from(*keys.entry(key_of(hash.of(phrase))).or_insert(window) != window);
            let group = table.group(hash.of(phrase), table.bucket(hash.of(phrase)));
            let text = [phrase, b"!"].concat();
            let mut found = Vec::new();
            if group.len() > SMALL_GROUP {
                let last = table.last(&list, &group, 5, &text);
                table.phrases_at(&list, last, &text, |number| {
                    found.push(table.offset(number));
                    true
                });
            } else {
                let is_at = |number: &u32| table.goes_on(*number, 5, &text) && table.is_at(&list, *number, &text);
                found.extend(group.filter(is_at).map(|number| table.offset(number)));
            }
            let expected = by_window[window].iter().filter(|other| text.starts_with(other)).count();
            assert_eq!(found.len(), expected, "{}", String::from_utf8_lossy(phrase));
            assert!(found.contains(&offset), "{}", String::from_utf8_lossy(phrase));
        }
        assert!(shared > 0, "no two windows share a key");
    }

    #[test]
    fn phrases_with_one_common_start_are_found_by_few_comparisons() {
        let phrases = (0..20_000).map(|number| format!("http{number:05}")).collect::<Vec<_>>().join("\n");
        let (list, hash, table) = table(&phrases, 4, Case::Exact);
        for number in [0, 1, 77, 19_999] {
            let phrase = format!("http{number:05}");
            let found = table.number_of(&list, hash.of(b"http"), phrase.as_bytes()).unwrap();
            assert_eq!(list.at(table.offset(found)), phrase.as_bytes());
        }
        assert_eq!(table.number_of(&list, hash.of(b"http"), b"http2000x"), None);
        let group = table.group(hash.of(b"http"), table.bucket(hash.of(b"http")));
        assert_eq!(group.len(), 20_000);
        assert!(table.has_window(&list, group, b"http"));
    }
}
