//! What a text is searched with: filters and a table for each class of phrases.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Range;

use super::filter::{FirstFilter, SecondFilter, WindowMarks};
use super::hash::{Case, RollingHash};
use super::patterns::PhraseList;
use super::plan::{LengthClass, classes};
use super::scan::{Candidates, scan};
use super::table::{PhraseTable, SMALL_GROUP};
use crate::caches::CpuCache;

/// Bits of the first filter for each phrase, if the cache has room for them.
const FIRST_BITS: usize = 16;

/// Bits of the first filter for each phrase at least, even if it does not fit the cache.
const LEAST_FIRST_BITS: usize = 4;

/// Bytes of cache for the first filters where the system does not tell of a second level of caches.
pub const UNKNOWN_CACHE_BYTES: usize = 1 << 20;

/// Bytes of cache for the first filters on a machine with these caches: what a thread has of the second level.
pub fn cache_bytes(caches: &[CpuCache]) -> usize {
    let known = CpuCache::of_a_thread(caches).and_then(|bytes| usize::try_from(bytes).ok());
    known.unwrap_or(UNKNOWN_CACHE_BYTES)
}

/// How phrases are compared, and what is spent on it.
#[derive(Clone, Copy, Debug)]
pub struct MatcherOptions {
    /// Which bytes are the same.
    pub case: Case,
    /// Whether a phrase counts only where no letter, digit or `_` is before or behind it.
    pub words: bool,
    /// Whether windows that pass the filters count as phrases, unverified: no table is made.
    pub one_sided: bool,
    /// Bytes of cache for the first filters.
    pub cache_bytes: usize,
    /// Bits of the second filter for each phrase.
    pub filter_bits: usize,
}

impl Default for MatcherOptions {
    fn default() -> Self {
        Self { case: Case::Exact, words: false, one_sided: false, cache_bytes: UNKNOWN_CACHE_BYTES, filter_bits: 16 }
    }
}

/// How many windows came how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Windows of all classes.
    pub windows: u64,
    /// Those that passed the first filter.
    pub passed_first: u64,
    /// Those of them that passed the second one, too.
    pub passed_second: u64,
    /// Those of them with which no phrase begins; none is known unless they are verified.
    pub false_passes: u64,
}

impl WindowCounts {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.windows += other.windows;
        self.passed_first += other.passed_first;
        self.passed_second += other.passed_second;
        self.false_passes += other.false_passes;
    }
}

/// Memory of a matcher by what it is for, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatcherMemory {
    /// The phrases themselves.
    pub phrases: usize,
    /// First filters.
    pub first_filters: usize,
    /// Second filters.
    pub second_filters: usize,
    /// Tables.
    pub tables: usize,
}

/// Windows that are verified together.
const BATCH: usize = 512;

/// What a thread searches with.
#[derive(Clone, Debug)]
pub struct Scratch {
    candidates: Candidates,
    batch: VerifyBatch,
    /// How many windows came how far.
    pub counts: WindowCounts,
}

/// Windows that have passed the filters, and what the table has for them.
#[derive(Clone, Debug, Default)]
struct VerifyBatch {
    places: Vec<u32>,
    hashes: Vec<u64>,
    buckets: Vec<(u32, u32)>,
    groups: Vec<Range<u32>>,
    /// For each phrase of each small group, whether it goes on as the text does.
    goes_on: Vec<bool>,
    /// The last phrase of each large group that does not follow the text.
    lasts: Vec<u32>,
    /// Phrases that are compared.
    offsets: Vec<u32>,
}

impl Scratch {
    /// For one thread.
    pub fn new() -> Box<Self> {
        Box::new(Self {
            candidates: Candidates::default(),
            batch: VerifyBatch::default(),
            counts: WindowCounts::default(),
        })
    }

    /// Its memory.
    pub fn bytes(&self) -> usize {
        let VerifyBatch { places, hashes, buckets, groups, goes_on, lasts, offsets } = &self.batch;
        size_of::<Self>()
            + 4 * (places.capacity() + lasts.capacity() + offsets.capacity())
            + 8 * (hashes.capacity() + buckets.capacity() + groups.capacity())
            + goes_on.capacity()
    }
}

/// Phrases of similar lengths, and what finds them.
#[derive(Clone, Debug)]
struct Class {
    lengths: LengthClass,
    hash: RollingHash,
    first: FirstFilter,
    second: SecondFilter,
    /// `None`: nothing is verified.
    table: Option<PhraseTable>,
    /// What the numbers of its phrases begin with.
    base: u32,
}

/// Finds phrases in texts.
#[derive(Clone, Debug)]
pub struct Matcher {
    list: PhraseList,
    options: MatcherOptions,
    classes: Vec<Class>,
}

/// The marks of each class of a matcher, for what passed its filters.
#[derive(Debug)]
pub struct MatcherMarks(Vec<WindowMarks>);

impl Matcher {
    /// Prepares a search for these phrases.
    pub fn build(mut list: PhraseList, options: MatcherOptions) -> Self {
        if options.one_sided {
            // Otherwise the tables do.
            list.remove_duplicates(options.case);
        }
        let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
        list.iter().for_each(|(_, phrase)| *lengths.entry(phrase.len()).or_default() += 1);
        let planned = classes(&lengths.into_iter().collect::<Vec<_>>());
        let cache_bits = options.cache_bytes * 8 / planned.len();
        let mut base = 0;
        let classes = planned.into_iter().map(|lengths| {
            let class = Class::build(&list, lengths, cache_bits, base, &options);
            base += class.table.as_ref().map_or(0, PhraseTable::count) as u32;
            class
        });
        let classes = classes.collect();
        Self { list, options, classes }
    }

    /// The phrases.
    pub fn list(&self) -> &PhraseList {
        &self.list
    }

    /// How it compares.
    pub fn options(&self) -> &MatcherOptions {
        &self.options
    }

    /// How many different phrases there are.
    pub fn phrases(&self) -> usize {
        let count = |class: &Class| class.table.as_ref().map_or(class.lengths.phrases, PhraseTable::count);
        self.classes.iter().map(count).sum()
    }

    /// The classes.
    pub fn classes(&self) -> impl Iterator<Item = LengthClass> {
        self.classes.iter().map(|class| class.lengths)
    }

    /// The share of windows of which no phrase begins that pass both filters: the mean over classes, all of which see each window.
    pub fn predicted_false_share(&self) -> f64 {
        let share = |class: &Class| class.first.false_share() * class.second.false_share();
        self.classes.iter().map(share).sum::<f64>() / self.classes.len() as f64
    }

    /// Its memory.
    pub fn memory(&self) -> MatcherMemory {
        let sum = |bytes: fn(&Class) -> usize| self.classes.iter().map(bytes).sum();
        MatcherMemory {
            phrases: self.list.bytes(),
            first_filters: sum(|class| class.first.bytes()),
            second_filters: sum(|class| class.second.bytes()),
            tables: sum(|class| class.table.as_ref().map_or(0, PhraseTable::bytes)),
        }
    }

    /// Finds every phrase that begins in `starts`, which no byte of the text before `starts` is a part of; the text has at least one such
    /// byte. `found` is given the place and the phrase's number; if it returns false, no more phrases of that place are looked for. Places
    /// come in no order.
    ///
    /// # Panics
    /// The matcher is one-sided.
    pub fn find(
        &self,
        text: &[u8],
        starts: &Range<usize>,
        scratch: &mut Scratch,
        mut found: impl FnMut(u32, u32) -> bool,
    ) {
        let Scratch { candidates, batch, counts } = scratch;
        for class in &self.classes {
            batch.clear();
            let windows = scan(text, starts.clone(), &class.hash, &class.first, candidates, |candidates| {
                class.sift(candidates, counts);
                for (place, hash) in candidates.iter() {
                    batch.places.push(place);
                    batch.hashes.push(hash);
                }
                if batch.places.len() >= BATCH {
                    counts.false_passes += self.verify(class, text, batch, &mut found);
                    batch.clear();
                }
            });
            counts.windows += windows as u64;
            counts.false_passes += self.verify(class, text, batch, &mut found);
        }
    }

    /// Finds the phrases at the places of a batch. Returns at how many of them no phrase begins with the window.
    fn verify(
        &self,
        class: &Class,
        text: &[u8],
        batch: &mut VerifyBatch,
        found: &mut impl FnMut(u32, u32) -> bool,
    ) -> u64 {
        let table = class.table.as_ref().expect("a matcher that is not one-sided has tables");
        let (list, window) = (&self.list, class.hash.window());
        let VerifyBatch { places, hashes, buckets, groups, goes_on, lasts, offsets } = batch;
        // Loops in each of which no access to memory waits for another one; short ones, so that a core has many under way, bring what
        // the next one needs into the cache.
        buckets.extend(hashes.iter().map(|hash| table.bucket(*hash)));
        black_box(buckets.iter().fold(0, |touched, bucket| touched ^ table.touch(*bucket)));
        groups.extend(hashes.iter().zip(&*buckets).map(|(hash, bucket)| table.group(*hash, *bucket)));
        for (place, group) in places.iter().zip(&*groups) {
            let rest = &text[*place as usize..];
            if group.len() <= SMALL_GROUP {
                for number in group.clone() {
                    let is_wanted = table.goes_on(number, window, rest);
                    goes_on.push(is_wanted);
                    if is_wanted {
                        offsets.push(table.offset(number));
                    }
                }
            } else {
                let last = table.last(list, group, window, rest);
                lasts.push(last);
                offsets.push(table.offset(last));
            }
        }
        black_box(offsets.iter().fold(0, |touched, offset| touched ^ list.touch(*offset)));
        let (mut goes_on, mut lasts, mut false_passes) = (goes_on.iter(), lasts.iter(), 0);
        for (place, group) in places.iter().zip(groups) {
            let rest = &text[*place as usize..];
            let mut is_wanted = true;
            let mut found = |number: u32| {
                // The length of a phrase is only known if it is looked for its end.
                if self.options.words || list.has_carriage_return {
                    let (place, length) = (*place as usize, list.at(table.offset(number)).len());
                    let is_word = !self.options.words || stands_alone(text, place, length);
                    if !is_word || has_line_end(text, place, length) {
                        return true;
                    }
                }
                found(*place, class.base + number)
            };
            let is_found = if group.len() <= SMALL_GROUP {
                group.clone().zip(&mut goes_on).fold(false, |is_found, (number, goes_on)| {
                    let is_at = *goes_on && table.is_at(list, number, rest);
                    is_wanted = is_wanted && (!is_at || found(number));
                    is_found || is_at
                })
            } else {
                lasts.next().is_some_and(|last| table.phrases_at(list, *last, rest, found))
            };
            if !is_found && !table.has_window(list, group.clone(), &rest[..window]) {
                false_passes += 1;
            }
        }
        false_passes
    }

    /// Finds every window in `starts` that passes the filters, and marks it. No phrase begins at another place; at these, phrases may begin.
    pub fn find_windows(
        &self,
        text: &[u8],
        starts: &Range<usize>,
        scratch: &mut Scratch,
        marks: &MatcherMarks,
        mut found: impl FnMut(u32),
    ) {
        let Scratch { candidates, counts, .. } = scratch;
        for (class, marks) in self.classes.iter().zip(&marks.0) {
            let windows = scan(text, starts.clone(), &class.hash, &class.first, candidates, |candidates| {
                class.sift(candidates, counts);
                for (place, hash) in candidates.iter() {
                    let (place_of_window, length) = (place as usize, class.hash.window());
                    let window = &text[place_of_window..][..length];
                    // No phrase has a line feed.
                    if memchr::memchr(b'\n', window).is_none() && !has_line_end(text, place_of_window, length) {
                        marks.mark(&class.second, hash);
                        found(place);
                    }
                }
            });
            counts.windows += windows as u64;
        }
    }

    /// Filters for the marks of a search.
    pub fn marks(&self) -> MatcherMarks {
        MatcherMarks(self.classes.iter().map(|class| WindowMarks::new(&class.second)).collect())
    }

    /// The class of a phrase.
    fn class_of(&self, phrase: &[u8]) -> &Class {
        let class = self.classes.iter().find(|class| phrase.len() <= class.lengths.longest);
        class.expect("classes have all lengths")
    }

    /// Whether the phrase may be in a text, by the marks of the windows that passed.
    pub fn may_be_in(&self, marks: &MatcherMarks, phrase: &[u8]) -> bool {
        let class = self.class_of(phrase);
        let at = self.classes.iter().position(|other| other.lengths == class.lengths).expect("it is one of them");
        marks.0[at].has(&class.second, class.hash.of(phrase))
    }

    /// The number of a phrase of the list, by which it is found; the same for its duplicates.
    ///
    /// # Panics
    /// The matcher is one-sided, or there is no such phrase.
    pub fn number_of(&self, phrase: &[u8]) -> u32 {
        let class = self.class_of(phrase);
        let table = class.table.as_ref().expect("a matcher that is not one-sided has tables");
        let number = table.number_of(&self.list, class.hash.of(phrase), phrase);
        class.base + number.expect("each phrase of the list is in its class's table")
    }

    /// Where the phrase with this number begins in the list: the first one of duplicates.
    ///
    /// # Panics
    /// The matcher is one-sided, or there is no such phrase.
    pub fn offset(&self, number: u32) -> u32 {
        let class = self.classes.iter().rfind(|class| class.base <= number).expect("the first class begins with 0");
        class.table.as_ref().expect("a matcher that is not one-sided has tables").offset(number - class.base)
    }
}

/// Whether neither a letter nor a digit nor `_` is before or behind a phrase. Bytes beyond ASCII are taken for letters.
fn stands_alone(text: &[u8], place: usize, length: usize) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    !is_letter(&text[place - 1]) && !text.get(place + length).is_some_and(is_letter)
}

/// Whether what is there ends with the carriage return of its line's end.
fn has_line_end(text: &[u8], place: usize, length: usize) -> bool {
    text[place + length - 1] == b'\r' && text.get(place + length) == Some(&b'\n')
}

impl MatcherMarks {
    /// Their memory.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(WindowMarks::bytes).sum()
    }
}

impl VerifyBatch {
    fn clear(&mut self) {
        let Self { places, hashes, buckets, groups, goes_on, lasts, offsets } = self;
        places.clear();
        hashes.clear();
        buckets.clear();
        groups.clear();
        goes_on.clear();
        lasts.clear();
        offsets.clear();
    }
}

impl Class {
    fn build(list: &PhraseList, lengths: LengthClass, cache_bits: usize, base: u32, options: &MatcherOptions) -> Self {
        let hash = RollingHash::new(lengths.window(), options.case);
        let all = lengths.shortest..=lengths.longest;
        let phrases = || list.iter().filter(|(_, phrase)| all.contains(&phrase.len()));
        let table = (!options.one_sided)
            .then(|| PhraseTable::build(list, phrases().map(|(offset, _)| offset), &hash, options.case));
        let count = lengths.phrases;
        // The cache's bits, of which a power of two is taken.
        let cache_bits = 1 << cache_bits.max(64).ilog2();
        let first_bits = (count * FIRST_BITS).min(cache_bits).max(count * LEAST_FIRST_BITS);
        let mut first = FirstFilter::new(first_bits);
        let mut second = SecondFilter::new(count * options.filter_bits);
        for (_, phrase) in phrases() {
            let hash = hash.of(phrase);
            first.insert(hash);
            second.insert(hash);
        }
        Self { lengths, hash, first, second, table, base }
    }

    /// Keeps the candidates that pass the second filter.
    fn sift(&self, candidates: &mut Candidates, counts: &mut WindowCounts) {
        counts.passed_first += candidates.count() as u64;
        candidates.retain(|hash| self.second.has(hash));
        counts.passed_second += candidates.count() as u64;
    }
}
