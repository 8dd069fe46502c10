//! Measures the page directory: bytes a page, nanoseconds a look-up, and the share of ranges that are longer than the
//! record needs.
//!
//! `cargo run --release -p fawn-store --example directory_bench -- [PAGES…]` (default: 20,000 and 1,000,000).

use fawn_store::directory::PageDirectory;
use std::hint::black_box;
use std::time::Instant;

/// Payload bytes of a page.
const PAYLOAD: u64 = 4088;
/// Look-ups timed.
const LOOKS: u64 = 2_000_000;

/// A fixed sequence of 64-bit numbers (`SplitMix64`), by place.
fn key(place: u64) -> u64 {
    let mut z = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn measure(pages: u64, record_bytes: u64) {
    let count = pages * PAYLOAD / record_bytes;
    let mut keys: Vec<u64> = (0..count).map(key).collect();
    keys.sort_unstable();
    let owner = |page: u64| {
        let number = ((page * PAYLOAD / record_bytes) as usize).min(keys.len() - 1);
        let begins = page > 0 && (page * PAYLOAD).is_multiple_of(record_bytes);
        if begins { PageDirectory::boundary(keys[number - 1], keys[number]) } else { keys[number] }
    };
    let owners: Vec<u64> = (0..pages).map(owner).collect();
    let directory = PageDirectory::new(&owners);
    let (mut long, mut two) = (0u64, 0u64);
    for (number, &prefix) in keys.iter().enumerate() {
        let first = number as u64 * record_bytes;
        let needed = (first + record_bytes - 1) / PAYLOAD - first / PAYLOAD + 1;
        let given = directory.locate(prefix).len() as u64;
        long += u64::from(given > needed);
        two += u64::from(given > 1);
    }
    let begun = Instant::now();
    for look in 0..LOOKS {
        black_box(directory.locate(black_box(key(look % count))));
    }
    println!(
        "{pages} pages of {record_bytes} B records: {:.3} B a page, {:.3} B an entry, {:.1} ns; {:.2} % of the ranges longer \
         than needed, {:.1} % longer than a page",
        directory.bytes() as f64 / pages as f64,
        directory.bytes() as f64 / count as f64,
        begun.elapsed().as_nanos() as f64 / LOOKS as f64,
        100.0 * long as f64 / count as f64,
        100.0 * two as f64 / count as f64
    );
}

fn main() {
    let pages: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    for pages in if pages.is_empty() { vec![20_000, 1_000_000] } else { pages } {
        for record_bytes in [88, 280, 1064] {
            measure(pages, record_bytes);
        }
    }
}
