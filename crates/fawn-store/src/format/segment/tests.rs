//! Segments written to a flash of vectors and read back in every way.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use fawn_ring::{Interval, Key, Secret};

use super::*;
use crate::flash::{Flash, Space};
use crate::format::page::{Page, PageBuf, Place};
use crate::format::record::{Kind, Marks, Record};
use crate::sealed::directory::PageDirectory;

/// A flash of vectors; while its flag is set, it has no space for new files.
#[derive(Default)]
pub(crate) struct Memory(RefCell<BTreeMap<FileId, Vec<Page>>>, Cell<bool>);

impl Memory {
    /// Whether there is no space for new files from here on.
    pub(crate) fn set_full(&self, full: bool) {
        self.1.set(full);
    }
}

impl Flash for Memory {
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        if self.1.get() {
            return Err(FlashError::NoSpace);
        }
        self.0.borrow_mut().insert(file, vec![Page::zeroed(); pages as usize]);
        Ok(())
    }

    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        let files = self.0.borrow();
        let from = files.get(&file).ok_or(FlashError::NotFound(file))?;
        let from = from.get(first as usize..first as usize + pages.len()).ok_or(FlashError::Short(file))?;
        pages.clone_from_slice(from);
        Ok(())
    }

    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        let mut files = self.0.borrow_mut();
        let to = files.get_mut(&file).ok_or(FlashError::NotFound(file))?;
        let end = first as usize + pages.len();
        if to.len() < end {
            to.resize(end, Page::zeroed());
        }
        to[first as usize..end].clone_from_slice(pages);
        Ok(())
    }

    fn sync(&self, _: FileId) -> Result<(), FlashError> {
        Ok(())
    }

    fn sync_names(&self) -> Result<(), FlashError> {
        Ok(())
    }

    fn punch(&self, _: FileId, _: u64, _: u64) -> Result<(), FlashError> {
        Ok(())
    }

    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.0.borrow_mut().get_mut(&file).ok_or(FlashError::NotFound(file))?.truncate(pages as usize);
        Ok(())
    }

    fn remove(&self, file: FileId) -> Result<(), FlashError> {
        self.0.borrow_mut().remove(&file).map(|_| ()).ok_or(FlashError::NotFound(file))
    }

    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
        Ok(self.0.borrow().iter().map(|(file, pages)| (*file, pages.len() as u64)).collect())
    }

    fn space(&self) -> Result<Space, FlashError> {
        Ok(Space { total: u64::MAX, free: u64::MAX })
    }
}

const FILE: u64 = 6;

/// `count` records with values of up to `longest` bytes, sorted.
fn records(count: u32, longest: usize) -> Vec<(Key, Vec<u8>, Vec<u8>)> {
    let secret = Secret([5; 32]);
    let mut records: Vec<_> = (0..count)
        .map(|n| {
            let name = format!("key-{n}").into_bytes();
            let value = vec![n as u8; (n as usize * 7919) % (longest + 1)];
            (secret.position(&name), name, value)
        })
        .collect();
    records.sort();
    records
}

fn write(flash: &Memory, records: &[(Key, Vec<u8>, Vec<u8>)]) -> CompleteSegment {
    let mut writer = Writer::create(flash, FILE, 1).unwrap();
    for (key, name, value) in records {
        let record = Record {
            kind: Kind::Value,
            marks: Marks::default(),
            epoch: 0,
            seq: 9,
            client_flags: 0,
            expiry: 0,
            client_cas: None,
            key: name,
            value,
        };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        writer.push(flash, key, &bytes).unwrap();
    }
    writer.finish(flash).unwrap()
}

fn look_up(flash: &Memory, directory: &PageDirectory, key: &Key, name: &[u8]) -> Option<Vec<u8>> {
    let range = directory.locate(key.prefix());
    let mut pages = PageBuf::zeroed((range.end - range.start) as usize);
    flash.read(FileId::Segment(FILE), u64::from(range.start), pages.pages_mut()).unwrap();
    match find(pages.pages_mut(), FILE, u64::from(range.start), key.prefix(), name).unwrap() {
        RecordPlace::At(bytes) => Some(Record::decode(&pages.bytes()[bytes]).unwrap().0.value.to_vec()),
        RecordPlace::Lost(_) | RecordPlace::Absent => None,
    }
}

#[test]
fn every_record_is_found_by_one_read() {
    for (count, longest) in [(1, 0), (2000, 60), (3000, 300), (500, 5_000), (40, 100_000)] {
        let flash = Memory::default();
        let records = records(count, longest);
        let written = write(&flash, &records);
        let footer = Footer::read(&flash, FILE, written.footer.total_pages()).unwrap();
        assert_eq!(footer, written.footer);
        assert_eq!(footer.read_directory(&flash).unwrap(), written.directory);
        let directory = PageDirectory::new(&written.directory);
        for (key, name, value) in &records {
            assert_eq!(look_up(&flash, &directory, key, name).as_ref(), Some(value), "values up to {longest} bytes");
        }
        let last = &records[records.len() - 1];
        assert_eq!(look_up(&flash, &directory, &last.0, b"another name"), None);
    }
}

#[test]
fn prefixes_read_back_exactly_for_any_interval() {
    let flash = Memory::default();
    let records = records(5000, 40);
    let written = write(&flash, &records);
    let all: Vec<u64> = records.iter().map(|(key, ..)| key.prefix()).collect();
    assert_eq!(written.prefixes, all);
    let mut intervals = Interval::ALL.divide(37);
    intervals.extend([Interval::ALL, Interval::new(records[100].0, records[100].0)]);
    for interval in intervals {
        let within: Vec<u64> = all
            .iter()
            .copied()
            .filter(|prefix| (interval.low.prefix()..=interval.high.prefix()).contains(prefix))
            .collect();
        assert_eq!(read_prefixes(&flash, &written.footer, &interval).unwrap(), within);
    }
}

#[test]
fn a_cursor_reads_its_interval_and_nothing_else() {
    let secret = Secret([5; 32]);
    for (count, longest) in [(2000, 100), (60, 30_000)] {
        let flash = Memory::default();
        let records = records(count, longest);
        let written = write(&flash, &records);
        let directory = PageDirectory::new(&written.directory);
        for interval in Interval::ALL.divide(9) {
            for read_pages in [1, 3, 64] {
                let pages = directory.page_span(interval.low.prefix(), interval.high.prefix());
                let mut cursor = Cursor::new(&written.footer, pages, interval, read_pages);
                let mut ahead = ReadAhead::new(read_pages);
                let mut found = Vec::new();
                while ahead.advance(&mut cursor, &flash, &secret).unwrap() {
                    found.push((*cursor.key(), Record::decode(cursor.record()).unwrap().0.value.to_vec()));
                }
                let expected: Vec<_> = records
                    .iter()
                    .filter(|(key, ..)| interval.contains(key))
                    .map(|(key, _, value)| (*key, value.clone()))
                    .collect();
                assert_eq!(found, expected);
            }
        }
    }
}

/// Damages a page, or mends it again.
fn flip(flash: &Memory, page: u64) {
    flash.0.borrow_mut().get_mut(&FileId::Segment(FILE)).unwrap()[page as usize].0[2000] ^= 4;
}

#[test]
fn every_damaged_page_behind_the_data_is_named() {
    let flash = Memory::default();
    let written = write(&flash, &records(500, 100));
    let total = written.footer.total_pages();
    for page in written.footer.data_pages..total {
        flip(&flash, page);
        let outcome = (|| -> Result<(), SegmentError> {
            let footer = Footer::read(&flash, FILE, total)?;
            footer.read_directory(&flash)?;
            read_prefixes(&flash, &footer, &Interval::ALL)?;
            Ok(())
        })();
        let Err(SegmentError::Damage(damage)) = outcome else {
            panic!("damage to page {page} went unseen");
        };
        assert_eq!(damage.offset, page * 4096, "the damage is where it was done");
        flip(&flash, page);
    }
}

#[test]
fn a_cursor_names_the_pages_that_it_cannot_read_and_yields_a_lost_record_for_each_that_was_in_them() {
    let secret = Secret([5; 32]);
    for (count, longest) in [(500, 100), (30, 20_000)] {
        let flash = Memory::default();
        let records = records(count, longest);
        let written = write(&flash, &records);
        let directory = PageDirectory::new(&written.directory);
        for first in 0..written.footer.data_pages {
            // One page, two side by side, two with one between them.
            for bad in [vec![first], vec![first, first + 1], vec![first, first + 2]] {
                let bad: Vec<u64> = bad.into_iter().filter(|page| *page < written.footer.data_pages).collect();
                for page in &bad {
                    flip(&flash, *page);
                }
                for interval in Interval::ALL.divide(2).into_iter().chain([Interval::ALL]) {
                    let pages = directory.page_span(interval.low.prefix(), interval.high.prefix());
                    let is_read = |page: &&u64| pages.contains(&(**page as u32));
                    let expected: Vec<u64> = bad.iter().filter(is_read).map(|page| page * 4096).collect();
                    for read_pages in [1, 4] {
                        let mut cursor = Cursor::new(&written.footer, pages.clone(), interval, read_pages);
                        let mut ahead = ReadAhead::new(read_pages);
                        let (mut found, mut lost) = (Vec::new(), 0);
                        while ahead.advance(&mut cursor, &flash, &secret).unwrap() {
                            let (record, _) = Record::decode(cursor.record()).unwrap();
                            assert_eq!(record.kind == Kind::Lost, cursor.is_in_gap());
                            lost += u64::from(cursor.is_in_gap());
                            found.push(cursor.key().prefix());
                        }
                        let all = records.iter().map(|(key, ..)| key).filter(|key| interval.contains(key));
                        assert!(found.iter().copied().eq(all.map(Key::prefix)), "{bad:?}: each is found or lost");
                        assert!(lost <= bad.len() as u64 * 4096 / 24 && (lost > 0 || interval != Interval::ALL));
                        let named: Vec<u64> = cursor.bad_pages().iter().map(|damage| damage.offset).collect();
                        assert_eq!(named, expected, "the damage is where it was done");
                    }
                }
                for page in &bad {
                    flip(&flash, *page);
                }
            }
        }
    }
}

/// Changes page `page` of a small segment under a checksum that is right, and reads the segment in every way.
fn forged(page: impl Fn(&Footer) -> u64, change: impl FnOnce(&mut [u8])) -> Result<(), SegmentError> {
    let flash = Memory::default();
    let written = write(&flash, &records(2000, 100));
    let total = written.footer.total_pages();
    let number = page(&written.footer);
    {
        let mut files = flash.0.borrow_mut();
        let page = &mut files.get_mut(&FileId::Segment(FILE)).unwrap()[number as usize];
        let (used, first) = (page.used(), page.first_record());
        change(page.payload_mut());
        page.seal(Place { file: FILE, page: number }, used, first);
    }
    let footer = Footer::read(&flash, FILE, total)?;
    footer.numbered_up_to(100);
    PageDirectory::new(&footer.read_directory(&flash)?);
    for interval in Interval::ALL.divide(3) {
        read_prefixes(&flash, &footer, &interval)?;
    }
    Ok(())
}

type Change = Box<dyn FnOnce(&mut [u8])>;

fn word(at: usize, value: u64) -> impl FnOnce(&mut [u8]) {
    move |payload| payload[at..at + 8].copy_from_slice(&value.to_le_bytes())
}

#[test]
fn a_footer_that_cannot_be_true_is_damage() {
    let last = |footer: &Footer| footer.total_pages() - 1;
    assert_eq!(forged(last, |_| {}), Ok(()));
    let (data, directory, seq_low) = (16, 24, 64);
    let (common, shared_bits, bucket_bits, low) = (88, 100, 101, 102);
    let cases: [(&str, Change); 7] = [
        ("pages beyond all numbers", Box::new(word(data, u64::MAX))),
        ("more pages than there are", Box::new(word(directory, 1 << 40))),
        ("numbers out of order", Box::new(word(seq_low, u64::MAX))),
        ("more shared bits than there are", Box::new(move |payload: &mut [u8]| payload[shared_bits] = 65)),
        ("more buckets than are allowed", Box::new(move |payload: &mut [u8]| payload[bucket_bits] = 60)),
        ("a lowest position above the highest", Box::new(move |payload: &mut [u8]| payload[low..low + 20].fill(0xff))),
        (
            "bits that the lowest position does not share",
            Box::new(move |payload: &mut [u8]| {
                payload[shared_bits] = 4;
                payload[common + 7] ^= 0x80;
            }),
        ),
    ];
    for (what, change) in cases {
        assert!(matches!(forged(last, change), Err(SegmentError::Damage(_))), "{what}");
    }
}

#[test]
fn a_directory_out_of_order_is_damage() {
    let outcome = forged(|footer| footer.data_pages, |payload| payload[..16].rotate_left(8));
    assert!(matches!(outcome, Err(SegmentError::Damage(damage)) if damage.what.contains("not in order")));
}

#[test]
fn fragments_out_of_order_are_damage() {
    // The last page holds nothing but records' rests.
    let last = |footer: &Footer| footer.fragments_at() + footer.fragment_pages - 1;
    let outcome = forged(last, |payload| payload[..64].reverse());
    assert!(matches!(outcome, Err(SegmentError::Damage(damage)) if damage.what.contains("not in order")));
    let counts = forged(Footer::fragments_at, |payload| payload[4..8].fill(0xff));
    assert!(matches!(counts, Err(SegmentError::Damage(_))));
}

#[test]
fn a_record_is_found_beside_a_page_that_cannot_be_read_if_it_is_not_in_it() {
    let flash = Memory::default();
    let records = records(2000, 60);
    let written = write(&flash, &records);
    let directory = PageDirectory::new(&written.directory);
    let mut found_beside = 0;
    for (key, name, value) in &records {
        // One page more to either side than it needs, as where the directory cannot tell two owners apart.
        let range = directory.locate(key.prefix());
        let (first, end) = (range.start.saturating_sub(1), (range.end + 1).min(directory.pages()));
        for bad in first..end {
            flip(&flash, u64::from(bad));
            let mut pages = PageBuf::zeroed((end - first) as usize);
            flash.read(FileId::Segment(FILE), u64::from(first), pages.pages_mut()).unwrap();
            match find(pages.pages_mut(), FILE, u64::from(first), key.prefix(), name) {
                Ok(RecordPlace::At(bytes)) => {
                    assert_eq!(Record::decode(&pages.bytes()[bytes]).unwrap().0.value, value);
                    found_beside += 1;
                }
                Err(damage) => assert!(range.contains(&bad) && damage.offset == u64::from(bad) * 4096),
                other => panic!("{other:?}"),
            }
            flip(&flash, u64::from(bad));
        }
    }
    assert!(found_beside > records.len());
}
