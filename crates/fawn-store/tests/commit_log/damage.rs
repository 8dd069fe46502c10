//! Damage: it is reported, or what is lost was never acknowledged.

use fawn_store::flash::{FileId, Flash, FlashError};
use fawn_store::log::{Entry, LogError, LogExpectation, LogPosition, LogRecovery, LogShape, LogWriter, VERSION};
use fawn_store::page::{PAGE_BYTES, Page};

use crate::harness::{Logger, SALT, record, replay, writer};

const RING_PAGES: u64 = 24;

/// A log of 19 pages, in batches of one to five pages that are all acknowledged. Returns the file page at which each
/// batch begins, and the end.
fn small() -> (Logger, Vec<u64>) {
    let mut log = Logger::create(RING_PAGES);
    let mut begins = vec![0];
    for bytes in [100, 5000, 20_000, 3000, 15_000, 9000, 100] {
        assert!(log.append_record(bytes));
        assert!(log.append_record(50));
        log.commit().unwrap();
        begins.push(log.writer.position().page);
    }
    assert!(*begins.last().unwrap() * PAGE_BYTES as u64 > 64 << 10);
    (log, begins)
}

/// Recovers after damage to the batch that begins at file page `begin`: the log must say so, unless it is the last one.
fn demand(log: &Logger, begins: &[u64], begin: u64) {
    let result = replay(&log.flash, RING_PAGES, log.expected);
    if begin == begins[begins.len() - 2] {
        let (found, entries) = result.expect("damage to the last batch looks like a torn tail");
        assert_eq!((found.end.page, entries.len()), (begin, log.appended.len() - 2));
    } else {
        let at = begin * PAGE_BYTES as u64;
        assert!(matches!(&result, Err(LogError::Damage { offset, .. }) if *offset == at), "{begin}: {result:?}");
    }
}

#[test]
fn every_bit_flip_below_the_last_batch_is_damage() {
    let (log, begins) = small();
    let end = *begins.last().unwrap();
    for byte in 0..end * PAGE_BYTES as u64 {
        let page = byte / PAGE_BYTES as u64;
        let begin = *begins.iter().rfind(|begin| **begin <= page).unwrap();
        // Every bit where a page's head may lie, and one of each byte behind it.
        let every = byte % (PAGE_BYTES as u64) < 64;
        for bit in (0..8).filter(|bit| every || byte % 8 == u64::from(*bit)) {
            log.flash.flip_bit(FileId::CommitLog, byte, bit);
            demand(&log, &begins, begin);
            log.flash.flip_bit(FileId::CommitLog, byte, bit);
        }
    }
    assert_eq!(replay(&log.flash, RING_PAGES, log.expected).unwrap().1.len(), log.appended.len());
}

#[test]
fn every_page_that_is_lost_or_swapped_is_damage() {
    let (log, begins) = small();
    for page in 0..*begins.last().unwrap() {
        let begin = *begins.iter().rfind(|begin| **begin <= page).unwrap();
        for with in (0..RING_PAGES).filter(|with| *with != page) {
            let mut other = Logger::create(RING_PAGES);
            other.flash = log.flash.clone();
            (other.expected, other.appended) = (log.expected, log.appended.clone());
            other.flash.overwrite(FileId::CommitLog, page, Some((FileId::CommitLog, with)));
            demand(&other, &begins, begin);
        }
    }
}

#[test]
fn a_mark_makes_damage_to_the_last_batch_known() {
    let (mut log, begins) = small();
    let mark = log.writer.take_mark().unwrap();
    assert_eq!(mark.pages.len(), 1);
    log.flash.write_durably(FileId::CommitLog, mark.first, mark.pages.pages()).unwrap();
    log.writer.written(mark.gate, mark.pages);
    assert!(log.writer.take_mark().is_none(), "one mark is enough");
    assert_eq!(replay(&log.flash, RING_PAGES, log.expected).unwrap().1.len(), log.appended.len());
    let last = begins[begins.len() - 2];
    log.flash.flip_bit(FileId::CommitLog, last * PAGE_BYTES as u64 + 60, 3);
    assert!(matches!(replay(&log.flash, RING_PAGES, log.expected), Err(LogError::Damage { .. })));
}

#[test]
fn no_damaged_batch_is_passed_over_at_the_end_of_the_ring() {
    // Batches of all lengths end where the next one begins the next lap, or leave pages unused before it.
    for last in 1..=5usize {
        for unused in 0..3 {
            let mut log = Logger::create(RING_PAGES);
            let at = RING_PAGES - last as u64 - unused;
            for _ in 0..at {
                assert!(log.append_record(100));
                log.commit().unwrap();
            }
            log.seal();
            assert!(log.append_record(last * PAGE_BYTES - 200));
            log.commit().unwrap();
            assert!(log.append_record(4 * PAGE_BYTES - 200));
            log.commit().unwrap();
            assert_eq!(log.writer.position().page, RING_PAGES + 4);
            assert_eq!(replay(&log.flash, RING_PAGES, log.expected).unwrap().1.len(), 2);
            log.flash.flip_bit(FileId::CommitLog, at * PAGE_BYTES as u64 + 90, 1);
            let result = replay(&log.flash, RING_PAGES, log.expected);
            let at = at * PAGE_BYTES as u64;
            assert!(matches!(&result, Err(LogError::Damage { offset, .. }) if *offset == at), "{result:?}");
        }
    }
}

#[test]
fn every_truncation_of_the_file_is_damage() {
    let (log, _) = small();
    for pages in (0..RING_PAGES).rev() {
        log.flash.cut(FileId::CommitLog, pages);
        let at = pages * PAGE_BYTES as u64;
        let result = replay(&log.flash, RING_PAGES, log.expected);
        assert!(matches!(result, Err(LogError::Damage { offset, .. }) if offset == at));
    }
    log.flash.lose(FileId::CommitLog);
    let result = replay(&log.flash, RING_PAGES, log.expected);
    assert_eq!(result.unwrap_err(), LogError::Flash(FlashError::NotFound(FileId::CommitLog)));
}

#[test]
fn a_clean_stop_makes_every_loss_known() {
    let (mut log, begins) = small();
    log.expected.clean_end = Some(*begins.last().unwrap());
    let (found, entries) = replay(&log.flash, RING_PAGES, log.expected).unwrap();
    assert_eq!((found.torn, entries.len()), (None, log.appended.len()));
    for begin in &begins[..begins.len() - 1] {
        log.flash.flip_bit(FileId::CommitLog, begin * PAGE_BYTES as u64 + 100, 0);
        let at = begin * PAGE_BYTES as u64;
        let result = replay(&log.flash, RING_PAGES, log.expected);
        assert!(matches!(result, Err(LogError::Damage { offset, .. }) if offset == at));
        log.flash.flip_bit(FileId::CommitLog, begin * PAGE_BYTES as u64 + 100, 0);
    }
}

#[test]
fn a_generation_that_the_manifest_does_not_know_is_refused() {
    let (log, _) = small();
    let expected = LogExpectation { generation: 0, ..log.expected };
    let result = replay(&log.flash, RING_PAGES, expected);
    assert!(matches!(result, Err(LogError::OlderManifest { manifest: 1, offset: 0, .. })), "{result:?}");
}

#[test]
fn the_page_of_an_opening_that_was_cut_short_is_passed_over() {
    let (log, _) = small();
    let end = log.writer.position();
    for generation in [2, 3] {
        let mut writer = writer(RING_PAGES, generation, 0, end);
        let page = writer.take_opening(77).unwrap();
        assert_eq!((page.pages.len(), page.first), (1, end.page));
        log.flash.write_durably(FileId::CommitLog, page.first, page.pages.pages()).unwrap();
        writer.written(page.gate, page.pages);
        let result = replay(&log.flash, RING_PAGES, log.expected);
        match generation {
            2 => assert_eq!(result.unwrap().0, log_end(&log)),
            // The one before it must have been known, and so be in the manifest.
            _ => assert!(matches!(result, Err(LogError::OlderManifest { .. })), "{result:?}"),
        }
        let expected = LogExpectation { generation, reached: writer.durable_at(), ..log.expected };
        assert_eq!(replay(&log.flash, RING_PAGES, expected).unwrap().0.end, writer.position());
        // Another opening's page is another one.
        let reached = LogPosition { previous: expected.reached.previous ^ 1, ..expected.reached };
        let result = replay(&log.flash, RING_PAGES, LogExpectation { reached, ..expected });
        assert!(matches!(result, Err(LogError::OlderLog { .. })), "{result:?}");
    }
}

fn log_end(log: &Logger) -> LogRecovery {
    let (batches, entries) = (7, log.appended.len() as u64);
    LogRecovery { end: log.writer.position(), batches, entries, torn: None }
}

/// Writes one value whose pages hold, page-aligned, a batch that a log with `salt` would write a lap later, then forgets
/// everything below that place; what does recovery make of the rest?
fn with_posing_value(salt: u32) -> Result<usize, LogError> {
    let mut log = Logger::create(RING_PAGES);
    let shape = LogShape { ring_pages: RING_PAGES, salt };
    // The value's record begins at byte 48 + 13 of page 0; its value after 24 + 3 bytes more.
    let mut value = vec![0; 4 * PAGE_BYTES - 88];
    let place = log.writer.position();
    let posing = fawn_store::log::LogPosition { page: RING_PAGES + 4, ..place };
    let mut poser = LogWriter::new(shape, 1, posing.page, posing, 1 << 20);
    let Owned(bytes) = Owned::of_record();
    poser.append(7, &Entry::Record(&bytes)).unwrap();
    value.extend_from_slice(poser.take().unwrap().pages.bytes());
    value.resize(value.len() + 100, 0);
    assert!(log.append(7, record(1, &value)));
    log.commit().unwrap();
    log.seal();
    // Up to the end of the lap, and onto the value's first page.
    while log.writer.position().page <= RING_PAGES {
        assert!(log.append_record(10));
        log.commit().unwrap();
        log.seal();
    }
    replay(&log.flash, RING_PAGES, log.expected).map(|(_, entries)| entries.len())
}

struct Owned(Vec<u8>);

impl Owned {
    fn of_record() -> Self {
        match record(1, b"posing") {
            crate::harness::Owned::Record(bytes) => Self(bytes),
            other => panic!("{other:?} is a record"),
        }
    }
}

#[test]
fn a_value_cannot_pose_as_a_batch_without_the_salt() {
    assert_eq!(with_posing_value(SALT ^ 1), Ok(0));
    // With the salt it could, so that the page is where it must be.
    assert!(matches!(with_posing_value(SALT), Err(LogError::Damage { .. })));
}

/// A log of one batch, changed by `change` and given a right checksum again.
fn forged(change: impl FnOnce(&mut [u8])) -> Result<usize, LogError> {
    let log = Logger::create(RING_PAGES);
    let mut writer = writer(RING_PAGES, 1, 0, log.expected.start);
    writer.append(1, &Entry::Flush { watermark: 9 }).unwrap();
    let mut batch = writer.take().unwrap();
    let bytes = batch.pages.bytes_mut();
    change(bytes);
    let body = crc32c::crc32c_append(SALT, &bytes[48..]);
    let checksum = crc32c::crc32c_append(body, &bytes[8..48]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    let pages: &[Page] = batch.pages.pages();
    log.flash.write_durably(FileId::CommitLog, 0, pages).unwrap();
    replay(&log.flash, RING_PAGES, log.expected).map(|(_, entries)| entries.len())
}

#[test]
fn what_a_newer_version_wrote_is_refused_by_name() {
    assert_eq!(forged(|_| {}), Ok(1));
    let version = forged(|bytes| bytes[8..10].copy_from_slice(&(VERSION + 1).to_le_bytes()));
    let kind = forged(|bytes| bytes[48 + 4] = 77);
    for error in [version.unwrap_err(), kind.unwrap_err()] {
        assert!(matches!(error, LogError::Newer { offset: 0, .. }));
        assert!(error.to_string().contains("open the store with that version"), "{error}");
    }
}

#[test]
fn entries_that_make_no_sense_are_damage() {
    let shorter: fn(&mut [u8]) = |bytes| bytes[48] = 7;
    let longer: fn(&mut [u8]) = |bytes| bytes[48] = 9;
    let missing: fn(&mut [u8]) = |bytes| bytes[44] = 2;
    let surplus: fn(&mut [u8]) = |bytes| bytes[44] = 0;
    let no_record: fn(&mut [u8]) = |bytes| bytes[52] = 1;
    for change in [shorter, longer, missing, surplus, no_record] {
        assert!(matches!(forged(change), Err(LogError::Damage { offset: 0, .. })));
    }
}
