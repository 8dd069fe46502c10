//! The table against a model: a multiset of (position, segment number).

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A fixed sequence of 64-bit numbers (`SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn segment(number: u64) -> SegmentNumber {
    SegmentNumber::new((number % 32_767) as u16 + 1).expect("1 to 32,767")
}

fn candidates(table: &Table, prefix: u64) -> Vec<SegmentNumber> {
    let mut found = Vec::new();
    table.candidates(prefix, &mut found);
    found.sort_unstable();
    found
}

fn sorted(table: &Table) -> Vec<(u64, SegmentNumber)> {
    let mut all: Vec<_> = table.iter().collect();
    all.sort_unstable();
    all
}

/// The table and the multiset that it must be.
struct Pair {
    table: Table,
    model: BTreeMap<u64, Vec<SegmentNumber>>,
    len: usize,
}

impl Pair {
    fn new(table: Table) -> Self {
        Self { table, model: BTreeMap::new(), len: 0 }
    }

    fn at(&mut self, prefix: u64) -> &mut Vec<SegmentNumber> {
        self.model.entry(self.table.frame().position(prefix)).or_default()
    }

    fn insert(&mut self, prefix: u64, segment: SegmentNumber) -> Insertion {
        let inserted = self.table.insert(prefix, segment);
        assert_eq!(inserted.equal as usize, self.at(prefix).len());
        self.at(prefix).push(segment);
        self.len += 1;
        inserted
    }

    fn remove(&mut self, prefix: u64, segment: SegmentNumber) {
        let known = self.at(prefix).iter().position(|&other| other == segment);
        assert_eq!(self.table.remove(prefix, segment), known.is_some());
        if let Some(known) = known {
            self.at(prefix).swap_remove(known);
            self.len -= 1;
        }
    }

    fn replace(&mut self, prefix: u64, from: SegmentNumber, to: SegmentNumber) {
        let known = self.at(prefix).iter().position(|&other| other == from);
        assert_eq!(self.table.replace(prefix, from, to), known.is_some());
        if let Some(known) = known {
            self.at(prefix)[known] = to;
        }
    }

    fn agree_at(&mut self, prefix: u64) {
        let mut expected = self.at(prefix).clone();
        expected.sort_unstable();
        assert_eq!(candidates(&self.table, prefix), expected);
    }

    fn agree(&self) {
        assert_eq!(self.table.len(), self.len);
        let mut expected: Vec<(u64, SegmentNumber)> =
            self.model.iter().flat_map(|(&position, all)| all.iter().map(move |&one| (position, one))).collect();
        expected.sort_unstable();
        assert_eq!(sorted(&self.table), expected);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u64),
    Remove(u64, u64),
    Replace(u64, u64, u64),
    /// Many inserts spread over the interval.
    Spread(u64, u16),
    /// Many inserts in a narrow window.
    Aim(u64, u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..200u64;
    let number = 0..5u64;
    proptest::collection::vec(
        prop_oneof![
            8 => (key.clone(), number.clone()).prop_map(|(key, to)| Step::Insert(key, to)),
            4 => (key.clone(), number.clone()).prop_map(|(key, from)| Step::Remove(key, from)),
            4 => (key, number.clone(), number).prop_map(|(key, from, to)| Step::Replace(key, from, to)),
            1 => (any::<u64>(), 0..3000u16).prop_map(|(seed, count)| Step::Spread(seed, count)),
            1 => (any::<u64>(), 0..1500u16).prop_map(|(seed, count)| Step::Aim(seed, count)),
        ],
        0..60,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn a_table_is_a_multiset(
        low in any::<u64>(),
        width in any::<u64>(),
        narrow in 0u32..44,
        expected in prop_oneof![Just(0), 0..2000usize, 0..40_000usize],
        steps in steps(),
    ) {
        let high = low.saturating_add(width >> narrow);
        let spread = |at: u64| low + ((u128::from(at) * (u128::from(high - low) + 1)) >> 64) as u64;
        let key = |key: u64| spread(Numbers(key).next());
        let mut pair = Pair::new(Table::new(low, high, expected));
        for step in steps {
            match step {
                Step::Insert(at, to) => {
                    pair.insert(key(at), segment(to));
                }
                Step::Remove(at, from) => pair.remove(key(at), segment(from)),
                Step::Replace(at, from, to) => pair.replace(key(at), segment(from), segment(to)),
                Step::Spread(seed, count) => {
                    let mut numbers = Numbers(seed);
                    for _ in 0..count {
                        let prefix = spread(numbers.next());
                        pair.insert(prefix, segment(numbers.next()));
                    }
                }
                Step::Aim(seed, count) => {
                    let mut numbers = Numbers(seed);
                    let around = numbers.next() >> 1;
                    for _ in 0..count {
                        let prefix = spread(around + (numbers.next() >> 14));
                        pair.insert(prefix, segment(numbers.next()));
                    }
                }
            }
        }
        (0..200).for_each(|at| pair.agree_at(key(at)));
        pair.agree();
    }

    #[test]
    fn a_bulk_build_equals_one_by_one(seed in any::<u64>(), count in 0..3000usize, shift in 0u32..30) {
        let mut numbers = Numbers(seed);
        let mut entries: Vec<_> = (0..count).map(|_| (numbers.next() >> shift, segment(numbers.next()))).collect();
        entries.sort_unstable();
        let table = Table::from_sorted(0, u64::MAX, 0, entries.iter().copied());
        let mut expected: Vec<_> = entries.iter().map(|&(prefix, to)| (table.frame().position(prefix), to)).collect();
        expected.sort_unstable();
        prop_assert_eq!(sorted(&table), expected);
        prop_assert_eq!(table.len(), count);
    }
}

#[test]
fn a_million_entries_are_found_again_after_any_growth() {
    const COUNT: usize = 1_000_000;
    for expected in [COUNT, COUNT / 8] {
        let mut table = Table::new(0, u64::MAX, expected);
        let mut numbers = Numbers(1);
        for number in 0..COUNT as u64 {
            table.insert(numbers.next(), segment(number));
        }
        assert_eq!(table.len(), COUNT);
        assert_eq!(table.spilled(), 0);
        let bytes = table.bytes() as f64 / COUNT as f64;
        assert!(bytes <= 4.6, "{bytes} bytes an entry, {expected} expected");
        let mut numbers = Numbers(1);
        for number in 0..COUNT as u64 {
            let found = candidates(&table, numbers.next());
            assert!(found.contains(&segment(number)));
        }
    }
}

#[test]
fn absent_keys_match_as_seldom_as_the_rate_says() {
    for (count, expected) in [(300_000, 300_000), (300_000, 40_000), (3_000, 3_000), (100, 100)] {
        let mut table = Table::new(1 << 60, 1 << 63, expected);
        let mut numbers = Numbers(2);
        let mut key = || (1 << 60) + numbers.next() % ((1 << 63) - (1 << 60));
        for number in 0..count {
            table.insert(key(), segment(number));
        }
        let tried = 2_000_000;
        let matched = (0..tried).filter(|_| !candidates(&table, key()).is_empty()).count() as f64;
        let rate = table.false_match_rate();
        let expected_matches = rate * f64::from(tried);
        assert!((matched - expected_matches).abs() <= 5.0 * expected_matches.sqrt(), "{matched}, {expected_matches}");
        if count <= expected as u64 {
            assert!(rate < 1.0 / 2_000.0, "{rate}");
        }
    }
}

#[test]
fn a_bulk_build_takes_what_it_needs() {
    for count in [100_000, 700_000, 1_000_000] {
        let mut numbers = Numbers(3);
        let mut entries: Vec<_> = (0..count).map(|number| (numbers.next(), segment(number))).collect();
        entries.sort_unstable();
        let table = Table::from_sorted(0, u64::MAX, 0, entries.iter().copied());
        assert_eq!((table.len(), table.spilled()), (count as usize, 0));
        let bytes = table.bytes() as f64 / count as f64;
        assert!(bytes <= 4.6, "{bytes} bytes an entry");
        assert!(entries.iter().all(|&(prefix, to)| candidates(&table, prefix).contains(&to)));
    }
}

#[test]
fn ten_thousand_entries_of_one_key_are_all_kept() {
    let mut pair = Pair::new(Table::new(0, u64::MAX, 5_000));
    let mut numbers = Numbers(4);
    for number in 0..3_000 {
        pair.insert(numbers.next(), segment(number));
    }
    let bytes = pair.table.bytes();
    for number in 0..10_000 {
        let inserted = pair.insert(77 << 40, segment(number / 2));
        assert!(!inserted.grew, "equal positions make no room by growing");
    }
    assert_eq!(pair.table.spilled(), 10_000 - 32);
    assert!(pair.table.bytes() < bytes + 10_000 * 64);
    pair.agree_at(77 << 40);
    pair.replace(77 << 40, segment(3), segment(30_000));
    (0..5_000).for_each(|number| pair.remove(77 << 40, segment(number)));
    pair.agree_at(77 << 40);
    pair.agree();
}

#[test]
fn keys_aimed_at_one_window_are_kept_in_bounded_memory() {
    let mut pair = Pair::new(Table::new(0, u64::MAX, 100_000));
    let mut numbers = Numbers(5);
    let prefixes: Vec<u64> = (0..50_000).map(|_| (0xabcd << 48) + (numbers.next() >> 20)).collect();
    for (number, &prefix) in prefixes.iter().enumerate() {
        pair.insert(prefix, segment(number as u64));
    }
    assert!(pair.table.spilled() > 0);
    assert!(pair.table.bytes() < 50_000 * 64 + 600_000, "{}", pair.table.bytes());
    pair.agree();
    prefixes.iter().step_by(7).for_each(|&prefix| pair.agree_at(prefix));
    for (number, &prefix) in prefixes.iter().enumerate() {
        pair.remove(prefix, segment(number as u64));
    }
    assert!(pair.table.is_empty());
    assert_eq!((pair.table.spilled(), pair.table.iter().count()), (0, 0));
}

#[test]
fn keys_that_lie_in_a_part_of_the_table_take_as_much_as_any() {
    for (count, parts) in [(40_000, 4), (9_000, 5), (900, 40), (900, 200), (300, 250)] {
        let mut numbers = Numbers(9);
        let (low, width) = (u64::MAX / 3, u64::MAX / parts);
        let mut entries: Vec<_> = (0..count).map(|at| (low + numbers.next() % width, segment(at))).collect();
        let mut pair = Pair::new(Table::new(0, u64::MAX, count as usize));
        for (prefix, segment) in &entries {
            pair.insert(*prefix, *segment);
        }
        pair.agree();
        entries.iter().step_by(3).for_each(|(prefix, _)| pair.agree_at(*prefix));
        entries.sort_unstable();
        let built = Table::from_sorted(0, u64::MAX, 0, entries.iter().copied());
        assert_eq!(built.len(), count as usize);
        assert!(entries.iter().all(|&(prefix, to)| candidates(&built, prefix).contains(&to)));
        for table in [&pair.table, &built] {
            let bytes = table.bytes() as f64 / count as f64;
            assert_eq!(table.spilled(), 0, "{count} in a part of {parts}");
            assert!(
                bytes <= if count > 1000 { 6.0 } else { 24.0 },
                "{count} in a part of {parts}: {bytes} bytes an entry"
            );
        }
        for (prefix, segment) in entries {
            pair.remove(prefix, segment);
        }
        assert!(pair.table.is_empty());
    }
}

#[test]
fn a_table_far_beyond_its_layout_still_keeps_everything() {
    let mut table = Table::new(0, u64::MAX, 0);
    let mut numbers = Numbers(6);
    for number in 0..200_000 {
        table.insert(numbers.next(), segment(number));
    }
    assert_eq!((table.len(), table.iter().count()), (200_000, 200_000));
    let mut numbers = Numbers(6);
    assert!((0..200_000).all(|number| candidates(&table, numbers.next()).contains(&segment(number))));
}

#[test]
fn a_table_for_few_entries_is_small() {
    assert!(Table::new(0, u64::MAX, 0).bytes() < 512);
    let mut table = Table::new(0, u64::MAX, 200);
    let mut numbers = Numbers(7);
    for number in 0..200 {
        table.insert(numbers.next(), segment(number));
    }
    assert!(table.bytes() < 2048, "{}", table.bytes());
}

#[test]
fn removed_slots_are_used_again() {
    let mut table = Table::new(0, u64::MAX, 10_000);
    let mut numbers = Numbers(8);
    let mut live: Vec<u64> = (0..10_000).map(|_| numbers.next()).collect();
    for &prefix in &live {
        table.insert(prefix, segment(1));
    }
    let bytes = table.bytes();
    for turn in 0..300_000 {
        let new = numbers.next();
        let old = std::mem::replace(&mut live[turn % 10_000], new);
        assert!(table.remove(old, segment(1)));
        table.insert(new, segment(1));
    }
    assert_eq!((table.len(), table.spilled()), (10_000, 0));
    assert!(table.bytes() <= bytes * 107 / 100, "{} grew from {bytes}", table.bytes());
}
