//! Segments over arbitrary pages: footer, directory, fragments, the search for one key, and a walk over all records.
//!
//! The first part says which key is looked for, where, and how many pages are read at a time; the others are the file's
//! pages.

use fawn_check::random::Random;
use fawn_ring::{Interval, Key, Secret};
use fawn_store::directory::PageDirectory;
use fawn_store::flash::{FileId, Flash as _};
use fawn_store::page::{PAGE_BYTES, PageBuf};
use fawn_store::segment::{Cursor, Footer, ReadAhead, RecordPlace, Writer, find, read_prefixes};

use super::pages::{OneFile, page_checksum, whole};
use super::record::encoded;
use super::target::{Input, Target};

const NUMBER: u64 = 6;
const FILE: FileId = FileId::Segment(NUMBER);
const SECRET: Secret = Secret([5; 32]);

/// Everything that reads a segment.
pub(super) struct Segments;

impl Target for Segments {
    fn name(&self) -> &'static str {
        "segment"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut records: Vec<(Key, Vec<u8>)> = (0..random.within(1, 60))
            .map(|n| {
                let name = format!("key-{n}").into_bytes();
                (SECRET.position(&name), encoded(random, &name, n))
            })
            .collect();
        if random.chance(1, 4) {
            let long = vec![b'l'; 9000];
            records.push((SECRET.position(&long), encoded(random, &long, 100)));
        }
        records.sort();
        let flash = OneFile::new(FILE, &[]);
        let mut writer = Writer::create(&flash, NUMBER, 1).expect("memory takes a segment");
        for (key, record) in &records {
            writer.push(&flash, key, record).expect("memory takes a record");
        }
        writer.finish(&flash).expect("memory takes a segment");
        let sought = vec![random.below(60) as u8, random.below(4) as u8, random.word() as u8, random.word() as u8];
        [vec![sought], flash.parts()].concat()
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        if random.chance(1, 8) || input.is_empty() {
            return;
        }
        let footer_moves = random.chance(1, 2);
        let last = input.len() - 1;
        for (page, part) in input[1..].iter_mut().enumerate() {
            // A footer that names pages that are not there is refused at once, and its directory never read.
            if footer_moves && page + 1 == last && part.len() >= 48 {
                let total = last as u64;
                let (directory, fragments) = (u64_at(part, 32), u64_at(part, 40));
                let data = total.saturating_sub(1).wrapping_sub(directory).wrapping_sub(fragments);
                part[24..32].copy_from_slice(&data.to_le_bytes());
            }
            whole(part);
            // Of no use beyond the payload: the page would be refused at once.
            part[5] &= 0x1f;
            let checksum = page_checksum(NUMBER, page as u64, part);
            part[..4].copy_from_slice(&checksum.to_le_bytes());
        }
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // The flash, buffers of pages, and prefixes of eight bytes for records of as little as one byte in a fragment.
        4 * (input.len() * PAGE_BYTES) as u64 + 4096
    }

    fn execute(&self, input: &Input) -> bool {
        let Some((sought, pages)) = input.split_first() else { return false };
        let sought = |n: usize| sought.get(n).copied().unwrap_or(0);
        let name = format!("key-{}", sought(0)).into_bytes();
        let flash = OneFile::new(FILE, pages);
        search(&flash, u64::from(sought(2)) % (pages.len() as u64 + 1), u64::from(sought(3)) % 4, &name);
        let Ok(footer) = Footer::read(&flash, NUMBER, pages.len() as u64) else { return false };
        footer.numbered_up_to(u64::from(sought(0)));
        let half = Interval::new(Key::MIN, SECRET.position(&name));
        for interval in [Interval::ALL, half] {
            if let Ok(prefixes) = read_prefixes(&flash, &footer, &interval) {
                assert!(prefixes.is_sorted(), "prefixes are read in order");
            }
        }
        let Ok(directory) = footer.read_directory(&flash) else { return false };
        let directory = PageDirectory::new(&directory);
        let found = directory.locate(SECRET.position(&name).prefix());
        search(&flash, u64::from(found.start), u64::from(found.end - found.start), &name);
        let span = directory.page_span(half.low.prefix(), half.high.prefix());
        let mut cursor = Cursor::new(&footer, span, half, usize::from(sought(1)));
        // Its buffer is as large as whoever reads says; what is read must not make anything larger.
        let mut ahead = ReadAhead::new(usize::from(sought(1)).min(pages.len()));
        while ahead.advance(&mut cursor, &flash, &SECRET).is_ok_and(|found| found) {
            assert!(half.contains(cursor.key()), "a cursor stays in its interval");
            assert!(!cursor.record().is_empty(), "a cursor stands on a record");
        }
        true
    }
}

/// Looks for `name` in pages `first..first + count`, as far as there are so many.
fn search(flash: &OneFile, first: u64, count: u64, name: &[u8]) {
    let mut pages = PageBuf::zeroed(count as usize);
    if flash.read(FILE, first, pages.pages_mut()).is_ok()
        && let Ok(RecordPlace::At(place) | RecordPlace::Lost(place)) =
            find(pages.pages_mut(), NUMBER, first, SECRET.position(name).prefix(), name)
    {
        assert!(place.end <= pages.bytes().len(), "a record lies in the pages that were read");
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}
