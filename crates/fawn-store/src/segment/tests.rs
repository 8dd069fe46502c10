//! Segments written to a flash of vectors and read back in every way.

use std::cell::RefCell;
use std::collections::BTreeMap;

use fawn_ring::{Interval, Key, Secret};

use super::*;
use crate::directory::PageDirectory;
use crate::flash::{Flash, Space};
use crate::page::{Page, PageBuf, Place};
use crate::record::{Kind, Marks, Record};

#[derive(Default)]
struct Memory(RefCell<BTreeMap<FileId, Vec<Page>>>);

impl Flash for Memory {
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
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

fn write(flash: &Memory, records: &[(Key, Vec<u8>, Vec<u8>)]) -> Written {
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
    match find(pages.pages_mut(), FILE, u64::from(range.start), name).unwrap() {
        Sought::At(bytes) => Some(Record::decode(&pages.bytes()[bytes]).unwrap().0.value.to_vec()),
        Sought::Absent => None,
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

#[test]
fn every_damaged_page_is_named() {
    let flash = Memory::default();
    let records = records(500, 100);
    let written = write(&flash, &records);
    let total = written.footer.total_pages();
    for page in 0..total {
        flash.0.borrow_mut().get_mut(&FileId::Segment(FILE)).unwrap()[page as usize].0[2000] ^= 4;
        let directory = PageDirectory::new(&written.directory);
        let pages = 0..directory.pages();
        let mut cursor = Cursor::new(&written.footer, pages, Interval::ALL, 4);
        let secret = Secret([5; 32]);
        let outcome = (|| -> Result<(), SegmentError> {
            let footer = Footer::read(&flash, FILE, total)?;
            footer.read_directory(&flash)?;
            read_prefixes(&flash, &footer, &Interval::ALL)?;
            let mut ahead = ReadAhead::new(4);
            while ahead.advance(&mut cursor, &flash, &secret)? {}
            Ok(())
        })();
        let Err(SegmentError::Damage(damage)) = outcome else {
            panic!("damage to page {page} went unseen");
        };
        assert_eq!(damage.offset, page * 4096, "the damage is where it was done");
        flash.0.borrow_mut().get_mut(&FileId::Segment(FILE)).unwrap()[page as usize].0[2000] ^= 4;
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
