//! The file of releases up to 0.1, `manager.redb`: a database of the library redb, in its format 3, with two tables. It is read
//! once, at the upgrade, by its checksums alone.
//!
//! Only what redb's own documentation says of the format is needed: a header with two slots, of which the newer whole one has the
//! root of a B-tree of tables. Each page is under a checksum that is beside its number, in the slot or in the page above. A page of
//! the newest commit that does not match is damage: redb takes the commit before, which may lack a vote.

use super::JournalImage;
use xxhash_rust::xxh3::xxh3_128;

/// How such a file begins.
pub const MAGIC: &[u8] = b"redb\x1A\n\xA9\r\n";

const PAGE_BYTES: u64 = 4096;
const SLOTS: [usize; 2] = [64, 192];
const SLOT_BYTES: usize = 128;
const SUM_BYTES: usize = 16;
const FORMAT: u8 = 3;
const LEAF: u8 = 1;
const BRANCH: u8 = 2;

/// Pages have at most 2^20 pages of the smallest size.
const MOST_ORDER: u64 = 20;

/// A B-tree of 2^64 keys is not as deep.
const MOST_DEPTH: u32 = 64;

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedbError {
    /// Its header.
    #[error("its header is damaged")]
    Header,
    /// A slot.
    #[error("the checksum of its newest commit is wrong")]
    Slot,
    /// A page.
    #[error("the page at byte {0} is damaged")]
    Page(u64),
    /// A table.
    #[error("one of its tables is damaged")]
    Table,
}

/// A key or a value.
type Bytes<'a> = &'a [u8];

/// A page, and the checksum that it must have.
#[derive(Clone, Copy)]
struct Root {
    page: u64,
    sum: u128,
    /// Pairs below it, if that is known.
    length: Option<u64>,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn u128_at(bytes: &[u8], at: usize) -> Option<u128> {
    Some(u128::from_le_bytes(bytes.get(at..at + SUM_BYTES)?.try_into().ok()?))
}

impl Root {
    /// What a flag and 32 bytes after a gap say.
    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        Some(Self { page: u64_at(bytes, at)?, sum: u128_at(bytes, at + 8)?, length: Some(u64_at(bytes, at + 24)?) })
    }
}

struct RedbFile<'a> {
    bytes: &'a [u8],
    /// Pages before the data of a region, and pages of a region in all.
    region: (u64, u64),
}

/// Reads all that is kept.
///
/// # Errors
/// [`RedbError`].
pub fn read(bytes: &[u8]) -> Result<JournalImage, RedbError> {
    if !bytes.starts_with(MAGIC) || bytes.len() < 2 * PAGE_BYTES as usize {
        return Err(RedbError::Header);
    }
    let number = |at| u32_at(bytes, at).map(|number| number as u64).ok_or(RedbError::Header);
    let (page_bytes, head, data) = (number(12)?, number(16)?, number(20)?);
    if page_bytes != PAGE_BYTES || data == 0 || data > 1 << MOST_ORDER || head > 1 << MOST_ORDER {
        return Err(RedbError::Header);
    }
    let file = RedbFile { bytes, region: (head, head + data) };
    let Some(root) = newest(bytes)? else { return Ok(JournalImage::default()) };
    let mut image = JournalImage::default();
    for (name, definition) in file.pairs(root, None)? {
        let root = match definition.get(9) {
            Some(0) => continue,
            Some(_) => Root::read(definition, 10).ok_or(RedbError::Table)?,
            None => return Err(RedbError::Table),
        };
        match name {
            b"facts" => {
                for (name, bytes) in file.pairs(root, None)? {
                    let name = std::str::from_utf8(name).map_err(|_| RedbError::Table)?;
                    image.facts.insert(name.to_owned(), bytes.to_owned());
                }
            }
            b"entries" => {
                for (index, bytes) in file.pairs(root, Some(8))? {
                    let index = u64_at(index, 0).ok_or(RedbError::Table)?;
                    image.entries.insert(index, bytes.to_owned());
                }
            }
            _ => return Err(RedbError::Table),
        }
    }
    Ok(image)
}

/// The root of the newest commit; `None`: nothing was committed.
fn newest(bytes: &[u8]) -> Result<Option<Root>, RedbError> {
    let primary = usize::from(bytes[MAGIC.len()] & 1);
    let slot = |which: usize| &bytes[SLOTS[which]..][..SLOT_BYTES];
    let end = SLOT_BYTES - SUM_BYTES;
    let is_whole = |which| slot(which)[0] == FORMAT && u128_at(slot(which), end) == Some(xxh3_128(&slot(which)[..end]));
    if !is_whole(primary) {
        return Err(RedbError::Slot);
    }
    let number = |which| u64_at(slot(which), end - 8);
    let other = 1 - primary;
    let which = if is_whole(other) && number(other) > number(primary) { other } else { primary };
    Ok(if slot(which)[1] == 0 { None } else { Root::read(slot(which), 8) })
}

impl<'a> RedbFile<'a> {
    /// All pairs below a page, in order.
    fn pairs(&self, root: Root, key_bytes: Option<usize>) -> Result<Vec<(Bytes<'a>, Bytes<'a>)>, RedbError> {
        let mut pairs = Vec::new();
        self.walk(root, key_bytes, MOST_DEPTH, &mut pairs)?;
        if root.length.is_some_and(|length| length != pairs.len() as u64) {
            return Err(RedbError::Table);
        }
        Ok(pairs)
    }

    fn walk(
        &self,
        root: Root,
        key_bytes: Option<usize>,
        depth: u32,
        pairs: &mut Vec<(Bytes<'a>, Bytes<'a>)>,
    ) -> Result<(), RedbError> {
        let (at, page) = self.page(root.page).ok_or(RedbError::Page(root.page))?;
        let damaged = RedbError::Page(at);
        let end = match page[0] {
            LEAF => leaf_end(page, key_bytes),
            BRANCH => branch_end(page, key_bytes),
            _ => None,
        };
        let used = end.and_then(|end| page.get(..end)).ok_or(damaged)?;
        if xxh3_128(used) != root.sum {
            return Err(damaged);
        }
        if page[0] == LEAF {
            return leaf(used, key_bytes, pairs).ok_or(damaged);
        }
        let depth = depth.checked_sub(1).ok_or(damaged)?;
        let children = u16_at(used, 2).ok_or(damaged)? + 1;
        for child in 0..children {
            let sum = u128_at(used, 8 + SUM_BYTES * child).ok_or(damaged)?;
            let page = u64_at(used, 8 + SUM_BYTES * children + 8 * child).ok_or(damaged)?;
            self.walk(Root { page, sum, length: None }, key_bytes, depth, pairs)?;
        }
        Ok(())
    }

    /// Where a page is, and its bytes.
    fn page(&self, number: u64) -> Option<(u64, &'a [u8])> {
        let (order, region) = (number >> 59, number >> 20 & 0xF_FFFF);
        if order > MOST_ORDER {
            return None;
        }
        let index = number & (0xF_FFFF >> order);
        let (head, pages) = self.region;
        let at = (1 + region * pages + head + (index << order)) * PAGE_BYTES;
        let page = self.bytes.get(usize::try_from(at).ok()?..)?.get(..usize::try_from(PAGE_BYTES << order).ok()?)?;
        Some((at, page))
    }
}

/// Where the ends of keys and of values are in a leaf, and how many pairs it has.
fn leaf_tables(page: &[u8], key_bytes: Option<usize>) -> Option<(usize, usize)> {
    let count = u16_at(page, 2)?;
    let keys = if key_bytes.is_none() { 4 * count } else { 0 };
    Some((count, 4 + keys))
}

fn leaf_end(page: &[u8], key_bytes: Option<usize>) -> Option<usize> {
    let (count, values) = leaf_tables(page, key_bytes)?;
    u32_at(page, values + 4 * count.checked_sub(1)?)
}

fn branch_end(page: &[u8], key_bytes: Option<usize>) -> Option<usize> {
    let keys = u16_at(page, 2)?;
    let ends = 8 + (SUM_BYTES + 8) * (keys + 1);
    match key_bytes {
        Some(bytes) => Some(ends + bytes * keys),
        None => u32_at(page, ends + 4 * keys.checked_sub(1)?),
    }
}

fn leaf<'a>(page: &'a [u8], key_bytes: Option<usize>, pairs: &mut Vec<(Bytes<'a>, Bytes<'a>)>) -> Option<()> {
    let (count, values) = leaf_tables(page, key_bytes)?;
    let mut key_at = values + 4 * count;
    let key_end = |place: usize, at: usize| match key_bytes {
        Some(bytes) => Some(at + bytes),
        None => u32_at(page, 4 + 4 * place),
    };
    let last = count.checked_sub(1)?;
    let mut value_at = match key_bytes {
        Some(bytes) => key_at + bytes * count,
        None => u32_at(page, 4 + 4 * last)?,
    };
    for place in 0..count {
        let (key, value) = (key_end(place, key_at)?, u32_at(page, values + 4 * place)?);
        pairs.push((page.get(key_at..key)?, page.get(value_at..value)?));
        (key_at, value_at) = (key, value);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::redb::{Builder, Database, ReadableDatabase as _, TableDefinition};
    use std::path::Path;

    const ENTRIES: TableDefinition<u64, &[u8]> = TableDefinition::new("entries");
    const FACTS: TableDefinition<&str, &[u8]> = TableDefinition::new("facts");

    /// Writes as older releases do, and what there is then.
    fn write(path: &Path) -> (Database, JournalImage) {
        let database = Builder::new().create(path).unwrap();
        let mut image = JournalImage::default();
        let mut commit = |changes: &[(&str, u64, usize)]| {
            let begun = database.begin_write().unwrap();
            for (name, index, length) in changes {
                let bytes: Vec<u8> = (0..*length).map(|at| (at as u64 * 7 + index) as u8).collect();
                if *name == "entry" {
                    begun.open_table(ENTRIES).unwrap().insert(index, bytes.as_slice()).unwrap();
                    image.entries.insert(*index, bytes);
                } else {
                    begun.open_table(FACTS).unwrap().insert(*name, bytes.as_slice()).unwrap();
                    image.facts.insert((*name).to_owned(), bytes);
                }
            }
            begun.commit().unwrap();
        };
        commit(&[("member", 1, 20)]);
        for some in 0..20 {
            let entries = (some * 20..some * 20 + 20).map(|index| ("entry", index, 30 + index as usize % 300));
            commit(&entries.chain([("vote", some, 12)]).collect::<Vec<_>>());
        }
        commit(&[("snapshot", 9, 30_000)]);
        let begun = database.begin_write().unwrap();
        begun.open_table(ENTRIES).unwrap().retain_in(..=100, |_, _| false).unwrap();
        begun.commit().unwrap();
        image.entries.retain(|index, _| *index > 100);
        (database, image)
    }

    #[test]
    fn the_file_of_an_older_release_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("manager.redb");
        let empty = Builder::new().create(&path).unwrap();
        drop(empty);
        assert_eq!(read(&std::fs::read(&path).unwrap()), Ok(JournalImage::default()));
        let (database, image) = write(&path);
        assert_eq!(read(&std::fs::read(&path).unwrap()).as_ref(), Ok(&image), "as after kill -9");
        let table = database.begin_read().unwrap().open_table(ENTRIES).unwrap();
        assert_eq!(table.range(0..).unwrap().count(), image.entries.len());
        drop((table, database));
        assert_eq!(read(&std::fs::read(&path).unwrap()).as_ref(), Ok(&image), "as after a stop in good order");
    }

    #[test]
    fn a_flipped_bit_or_a_cut_is_harmless_or_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("manager.redb");
        let (database, image) = write(&path);
        let running = std::fs::read(&path).unwrap();
        drop(database);
        let stopped = std::fs::read(&path).unwrap();
        for bytes in [running, stopped] {
            let mut refused = 0;
            let mut bytes = bytes;
            let places: Vec<usize> = (0..320 * 8).step_by(3).chain((320 * 8..bytes.len() * 8).step_by(9777)).collect();
            for at in places {
                bytes[at / 8] ^= 1 << (at % 8);
                match read(&bytes) {
                    Ok(found) => assert!(found == image, "bit {at}"),
                    Err(_) => refused += 1,
                }
                bytes[at / 8] ^= 1 << (at % 8);
            }
            assert!(refused > 200, "{refused}");
            for length in (0..bytes.len()).step_by(4099) {
                assert!(read(&bytes[..length]).is_err() || read(&bytes[..length]).as_ref() == Ok(&image));
            }
        }
    }
}
