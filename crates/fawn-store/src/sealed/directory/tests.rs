//! The directory against brute force, over runs of straddling records.

use super::*;
use proptest::prelude::*;

/// Payload bytes of a page in these runs.
const PAYLOAD: u64 = 4088;

/// A run: each record's prefix and the pages it lies in, and each page's owner.
struct Run {
    records: Vec<(u64, Range<u32>)>,
    owners: Vec<u64>,
}

impl Run {
    /// Lays out records of these prefixes (sorted here) and sizes one after another. A page that begins with a record
    /// has as its owner what `boundary` makes of the prefixes before and after.
    fn new(mut records: Vec<(u64, u64)>, boundary: fn(u64, u64) -> u64) -> Self {
        records.sort_unstable();
        let mut run = Self { records: Vec::new(), owners: Vec::new() };
        let mut at = 0;
        for (prefix, bytes) in records {
            let (first, last) = ((at / PAYLOAD) as u32, ((at + bytes - 1) / PAYLOAD) as u32);
            if at > 0 && at.is_multiple_of(PAYLOAD) {
                let before = run.records[run.records.len() - 1].0;
                run.owners.push(boundary(before, prefix));
            }
            run.records.push((prefix, first..last + 1));
            while run.owners.len() <= last as usize {
                run.owners.push(prefix);
            }
            at += bytes;
        }
        run
    }

    /// The range that the owner rule gives, by brute force at the directory's precision.
    fn by_the_rule(&self, frame: &Frame, prefix: u64) -> Range<u32> {
        if self.owners.is_empty() || prefix < self.owners[0] {
            return 0..0;
        }
        if prefix > self.owners[self.owners.len() - 1] {
            return self.owners.len() as u32 - 1..self.owners.len() as u32;
        }
        let sought = frame.position(prefix);
        let positions: Vec<u64> = self.owners.iter().map(|&owner| frame.position(owner)).collect();
        let first = positions.iter().rposition(|&position| position < sought).unwrap_or(0);
        let last = positions.iter().rposition(|&position| position <= sought).expect("page 0 is not above");
        first as u32..last as u32 + 1
    }
}

/// The plain owner rule.
fn own(_before: u64, first: u64) -> u64 {
    first
}

fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Prefixes that are spread, clustered or equal, and sizes from a few bytes to many pages.
fn records() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let prefix = prop_oneof![
        6 => any::<u64>(),
        2 => any::<u16>().prop_map(|near| (0xabcd << 40) + u64::from(near)),
        1 => Just(7u64 << 60),
        1 => prop_oneof![Just(0), Just(u64::MAX)],
    ];
    let bytes = prop_oneof![8 => 20..600u64, 2 => 600..9_000u64, 1 => Just(PAYLOAD), 1 => 9_000..200_000u64];
    proptest::collection::vec((prefix, bytes), 0..400)
}

proptest! {
    #[test]
    fn a_record_always_lies_in_its_range(
        records in records(),
        absent in proptest::collection::vec(any::<u64>(), 50),
        middle in any::<bool>(),
    ) {
        let run = Run::new(records, if middle { PageDirectory::boundary } else { own });
        let directory = PageDirectory::new(&run.owners);
        prop_assert_eq!(directory.pages() as usize, run.owners.len());
        for (prefix, pages) in &run.records {
            let range = directory.locate(*prefix);
            prop_assert!(range.start <= pages.start && pages.end <= range.end, "{:?} outside {:?}", pages, range);
        }
        let near = run.records.iter().flat_map(|(prefix, _)| [prefix.saturating_sub(1), *prefix, prefix.saturating_add(1)]);
        for prefix in near.chain(absent) {
            prop_assert_eq!(directory.locate(prefix), run.by_the_rule(&directory.frame, prefix));
        }
    }

    #[test]
    fn a_span_covers_every_record_of_an_interval(records in records(), ends in any::<(u64, u64)>()) {
        let run = Run::new(records, PageDirectory::boundary);
        let directory = PageDirectory::new(&run.owners);
        let (low, high) = (ends.0.min(ends.1), ends.0.max(ends.1));
        let span = directory.page_span(low, high);
        prop_assert!(span.start <= span.end && span.end <= directory.pages());
        for (_, pages) in run.records.iter().filter(|(prefix, _)| (low..=high).contains(prefix)) {
            prop_assert!(span.start <= pages.start && pages.end <= span.end);
        }
        prop_assert_eq!(directory.page_span(0, u64::MAX), 0..directory.pages());
    }

    #[test]
    fn select_finds_each_one(word in any::<u64>()) {
        let ones = (0..64).filter(|bit| word >> bit & 1 == 1);
        for (number, bit) in ones.enumerate() {
            prop_assert_eq!(select(word, number as u32), bit);
        }
    }
}

/// A run of `count` records of `bytes` each, with hashed keys.
fn uniform(count: u64, bytes: u64) -> Run {
    Run::new((0..count).map(|number| (mix(number), bytes)).collect(), PageDirectory::boundary)
}

#[test]
fn a_page_takes_a_byte_and_three_tenths() {
    for count in [20_000, 1_000_000] {
        let directory = PageDirectory::new(&uniform(count, 280).owners);
        let bytes = directory.bytes() as f64 / f64::from(directory.pages());
        let fixed = size_of::<PageDirectory>() as f64 / f64::from(directory.pages());
        assert!(bytes - fixed <= 1.30, "{bytes}");
    }
}

#[test]
fn few_ranges_are_longer_than_needed() {
    for bytes in [88, 280, 1_064, 10_000] {
        let run = uniform(200_000, bytes);
        let directory = PageDirectory::new(&run.owners);
        let longer = run.records.iter().filter(|(prefix, pages)| directory.locate(*prefix).len() > pages.len()).count();
        let share = longer as f64 / run.records.len() as f64;
        assert!(share <= 0.01, "{share} of the ranges for records of {bytes} bytes");
    }
}

#[test]
fn a_record_of_thousands_of_pages_is_one_range() {
    let mut records: Vec<(u64, u64)> = (0..2_000).map(|number| (mix(number), 280)).collect();
    records.push((mix(7_777), 32 << 20));
    let run = Run::new(records, own);
    let directory = PageDirectory::new(&run.owners);
    let (prefix, pages) = run.records.iter().max_by_key(|(_, pages)| pages.len()).expect("there are records");
    assert!(pages.len() > 8_000);
    let range = directory.locate(*prefix);
    assert!(range.start <= pages.start && pages.end <= range.end && range.len() <= pages.len() + 2);
}

#[test]
fn an_empty_run_has_no_pages_to_read() {
    let directory = PageDirectory::new(&[]);
    assert_eq!((directory.locate(0), directory.locate(u64::MAX), directory.page_span(0, 9)), (0..0, 0..0, 0..0));
}

#[test]
fn a_run_of_one_page_holds_everything_from_its_owner_on() {
    let directory = PageDirectory::new(&[500]);
    assert_eq!((directory.locate(499), directory.locate(500), directory.locate(u64::MAX)), (0..0, 0..1, 0..1));
}
