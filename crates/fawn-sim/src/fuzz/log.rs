//! The commit log over arbitrary pages.
//!
//! The first part says what the manifest knows, made to fit what a manifest that was checked can say; the others are the
//! ring's pages.

use fawn_check::random::Random;
use fawn_store::flash::FileId;
use fawn_store::flash::Flash as _;
use fawn_store::log::{Entry, LogExpectation, LogPosition, LogRecovery, LogShape, LogWriter, ReplayEntry, recover};
use fawn_store::page::PAGE_BYTES;
use fawn_store::record::Record;

use super::pages::{OneFile, whole};
use super::record::encoded;
use super::target::{Input, Target};

const SALT: u32 = 0x5eed_5a17;
const MAGIC: &[u8] = b"fwnL";
const HEADER_BYTES: usize = 48;
const MAX_BATCH_BYTES: usize = 16_384 * PAGE_BYTES;

/// Logical pages that no log reaches.
const MAX_PAGE: u64 = 1 << 62;

/// [`recover`].
pub(super) struct CommitLog;

impl Target for CommitLog {
    fn name(&self) -> &'static str {
        "log"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let ring_pages = random.within(2, 8);
        let flash = OneFile::new(FileId::CommitLog, &vec![Vec::new(); ring_pages as usize]);
        let mut start = LogPosition { page: random.below(3 * ring_pages), previous: random.word() as u32 };
        // What an earlier life left behind, then the log.
        let mut generation = random.within(1, 3);
        write(random, &flash, ring_pages, generation, start);
        start.page += random.below(ring_pages);
        generation += random.below(2);
        let end = write(random, &flash, ring_pages, generation, start);
        let clean_end = random.chance(1, 3).then_some(end.page);
        let reached = if random.chance(1, 2) { end } else { LogPosition::default() };
        let known = LogExpectation { manifest: 1, start, generation, clean_end, reached };
        [vec![encode(&known)], flash.parts()].concat()
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        if random.chance(1, 8) || input.len() < 2 {
            return;
        }
        let (mut previous, chains) = (None, random.chance(1, 2));
        for at in 1..input.len() {
            if input[at].len() < HEADER_BYTES || &input[at][..4] != MAGIC {
                continue;
            }
            if chains && let Some(previous) = previous {
                input[at][12..16].copy_from_slice(&u32::to_le_bytes(previous));
            }
            let bytes = u32::from_le_bytes([input[at][40], input[at][41], input[at][42], input[at][43]]) as usize;
            let pages = (HEADER_BYTES + bytes).div_ceil(PAGE_BYTES);
            if bytes > MAX_BATCH_BYTES || at + pages > input.len() {
                continue;
            }
            input[at..at + pages].iter_mut().for_each(whole);
            let body = input[at..at + pages].concat();
            let checksum = crc32c::crc32c_append(SALT, &body[HEADER_BYTES..]);
            let checksum = crc32c::crc32c_append(checksum, &body[8..HEADER_BYTES]);
            input[at][4..8].copy_from_slice(&checksum.to_le_bytes());
            previous = Some(checksum);
        }
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // The flash itself, what recovery has read of it, and room to grow into.
        4 * (input.len() * PAGE_BYTES) as u64 + 4096
    }

    fn execute(&self, input: &Input) -> bool {
        let Some((known, pages)) = input.split_first().filter(|(_, pages)| pages.len() >= 2) else { return false };
        let ring_pages = pages.len() as u64;
        let known = decode(known, ring_pages);
        let flash = OneFile::new(FileId::CommitLog, pages);
        let replayed = replay(&flash, ring_pages, known);
        if let Some(found) = replayed {
            let lap = known.start.page..=known.start.page + ring_pages;
            assert!(lap.contains(&found.end.page), "a log is a lap long at most");
            assert_eq!(replay(&flash, ring_pages, known), Some(found), "recovery changes nothing for the next");
        }
        replayed.is_some()
    }
}

/// What recovery finds, if it goes well.
fn replay(flash: &OneFile, ring_pages: u64, known: LogExpectation) -> Option<LogRecovery> {
    let mut entries = 0;
    let shape = LogShape { ring_pages, salt: SALT };
    let sink = |replayed: ReplayEntry<'_>| {
        entries += 1;
        if let Entry::Record(bytes) = replayed.entry {
            assert_eq!(Record::peek_len(bytes), Ok(bytes.len()), "an entry's record has its length");
            Record::decode_trusted(bytes).expect("an entry's record can be read");
        }
    };
    let found = recover(flash, shape, known, sink).ok()?;
    assert_eq!(found.entries, entries, "every entry is replayed");
    Some(found)
}

/// Writes a few batches from `start` on; returns their end.
fn write(random: &mut Random, flash: &OneFile, ring_pages: u64, generation: u64, start: LogPosition) -> LogPosition {
    let shape = LogShape { ring_pages, salt: SALT };
    let mut writer = LogWriter::new(shape, generation, start.page, start, 1 << 20);
    for seq in 0..random.below(6) {
        for _ in 0..random.within(1, 3) {
            let (record, number) = (encoded(random, b"key", seq), random.word());
            let entry = match random.below(6) {
                0 => Entry::Flush { watermark: number },
                1 => Entry::FlushScheduled { deadline: number as u32 },
                2 => Entry::SequenceReserved { limit: number },
                _ => Entry::Record(&record),
            };
            // A full ring ends the log.
            let _ = writer.append(random.below(3), &entry);
        }
        if let Some(batch) = writer.take() {
            flash.write(FileId::CommitLog, batch.first, batch.pages.pages()).expect("memory takes pages");
            writer.written(batch.gate, batch.pages);
        }
    }
    writer.position()
}

fn encode(known: &LogExpectation) -> Vec<u8> {
    let LogExpectation { manifest: _, start, generation, clean_end, reached } = known;
    let end = clean_end.map_or(0, |end| 1 + end - start.page);
    let words = [start.page, u64::from(start.previous), *generation, end, reached.page, u64::from(reached.previous)];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn decode(part: &[u8], ring_pages: u64) -> LogExpectation {
    let word = |n: usize| {
        let bytes = part.get(8 * n..8 * n + 8).unwrap_or(&[0; 8]);
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    let start = LogPosition { page: word(0) % MAX_PAGE, previous: word(1) as u32 };
    let clean_end = word(3).checked_sub(1).map(|pages| start.page + pages % (ring_pages + 1));
    let reached = LogPosition { page: word(4) % MAX_PAGE, previous: word(5) as u32 };
    LogExpectation { manifest: 1, start, generation: word(2), clean_end, reached }
}
