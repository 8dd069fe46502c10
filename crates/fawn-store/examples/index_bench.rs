//! Measures the slice index: nanoseconds an insertion, a hit and a miss, and bytes an entry.
//!
//! `cargo run --release -p fawn-store --example index_bench -- [ENTRIES…] [only=PHASE]` (default: 1 and 10 million
//! entries). Figures are of one thread on an otherwise idle core. With `only=none|insert|hit|miss` the other phases
//! are left out, so that a profiler's counts can be told apart.

use fawn_store::index::{SegmentNumber, Table};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A fixed sequence of 64-bit numbers (`SplitMix64`), by place.
fn key(place: u64) -> u64 {
    let mut z = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn segment(number: u64) -> SegmentNumber {
    SegmentNumber::new((number % 32_767) as u16 + 1).expect("1 to 32,767")
}

/// Counts candidates without storing them.
struct Counter(u64);

impl Extend<SegmentNumber> for Counter {
    fn extend<T: IntoIterator<Item = SegmentNumber>>(&mut self, found: T) {
        for one in found {
            self.0 += u64::from(one.get() > 0);
        }
    }
}

fn nanoseconds(name: &str, count: u64, work: impl FnOnce()) {
    let begun = Instant::now();
    work();
    println!("  {name:28} {:8.1} ns", begun.elapsed().as_nanos() as f64 / count as f64);
}

fn look_up(table: &Table, places: impl Iterator<Item = u64>) -> u64 {
    let mut counter = Counter(0);
    places.for_each(|place| table.candidates(black_box(key(place)), &mut counter));
    counter.0
}

fn report(table: &Table, name: &str) {
    println!(
        "  {name:28} {:8.3} B an entry, {} spilled, one false match in {:.0}",
        table.bytes() as f64 / table.len() as f64,
        table.spilled(),
        1.0 / table.false_match_rate()
    );
}

fn grown(count: u64, expected: u64) -> Table {
    let mut table = Table::new(0, u64::MAX, expected as usize);
    for place in 0..count {
        black_box(table.insert(key(place), segment(place)));
    }
    table
}

fn measure(count: u64, only: Option<&str>) {
    println!("{count} entries");
    let wanted = |phase| only.is_none_or(|only| only == phase);
    if wanted("insert") && only.is_some() {
        grown(count, count);
        return;
    }
    let mut entries: Vec<_> = (0..count).map(|place| (key(place), segment(place))).collect();
    entries.sort_unstable();
    let mut table = None;
    nanoseconds("bulk build", count, || table = Some(Table::from_sorted(0, u64::MAX, 0, entries.iter().copied())));
    let table = table.expect("it was built");
    drop(entries);
    report(&table, "bulk build");
    let looks = 4_000_000;
    if wanted("hit") {
        nanoseconds("hit", looks, || {
            let found = look_up(&table, (0..looks).map(|look| key(look ^ 0x5555) % count));
            assert!(found >= looks, "every key is found");
        });
    }
    if wanted("miss") {
        nanoseconds("miss", looks, || {
            black_box(look_up(&table, count..count + looks));
        });
    }
    if only.is_some() {
        return;
    }
    for factor in [1, 2, 8] {
        let mut table = None;
        let name = format!("insert, laid out for 1/{factor}");
        nanoseconds(&name, count, || table = Some(grown(count, count / factor)));
        report(&table.expect("it was built"), "after growth");
    }
    steps(count);
}

/// The longest insertions, most of which grew or split a piece.
fn steps(count: u64) {
    let mut table = Table::new(0, u64::MAX, count as usize / 4);
    let mut times: Vec<Duration> = Vec::with_capacity(count as usize);
    for place in 0..count {
        let begun = Instant::now();
        table.insert(key(place), segment(place));
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "  one insertion: median {:?}, p99.9 {:?}, p99.999 {:?}, longest {:?}",
        at(0.5),
        at(0.999),
        at(0.99999),
        at(1.0)
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = arguments.iter().find_map(|argument| argument.strip_prefix("only="));
    let counts: Vec<u64> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    for &count in if counts.is_empty() { &[1_000_000, 10_000_000][..] } else { &counts } {
        measure(count, only);
    }
}
