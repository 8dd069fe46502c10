//! Finds one key's record in the pages that the directory named.

use std::ops::Range;

use super::page_damage;
use crate::api::Damage;
use crate::flash::FileId;
use crate::format::page::{PAGE_BYTES, PAGE_HEADER_BYTES, PAGE_PAYLOAD_BYTES, Page, Place};
use crate::format::record::{HEADER_BYTES, Record};
use zerocopy::IntoBytes;

/// Where a key's record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordPlace {
    /// At these bytes of the pages given (which have been compacted, see [`find`]).
    At(Range<usize>),
    /// Not in these pages, where damage has taken a record of its prefix: what is left of it is at these bytes.
    Lost(Range<usize>),
    /// Not in these pages.
    Absent,
}

/// Finds the record of the key `name`, whose position has the prefix `prefix`, in `pages`, which are pages `first..` of
/// segment `file`. Every page's checksum is verified. Payloads of several pages are moved together in place, so that the
/// record is contiguous; the pages are not pages any more afterwards.
///
/// # Errors
/// Damage: the first page or record that does not parse, unless the record is whole beside it.
pub fn find(pages: &mut [Page], file: u64, first: u64, prefix: u64, name: &[u8]) -> Result<RecordPlace, Damage> {
    let is_bad = |(n, page): (usize, &Page)| !page.is_intact(Place { file, page: first + n as u64 });
    match pages.iter().enumerate().position(is_bad) {
        None => search(pages, file, first, prefix, name),
        Some(bad) => find_around(pages, bad, file, first, prefix, name),
    }
}

/// As [`find`], where page `bad` is the first that is not intact: a lookup may read a page that its record is not in.
#[cold]
fn find_around(
    pages: &mut [Page],
    mut bad: usize,
    file: u64,
    first: u64,
    prefix: u64,
    name: &[u8],
) -> Result<RecordPlace, Damage> {
    let damage = page_damage(FileId::Segment(file), first + bad as u64, "the page's checksum does not match");
    let mut from = 0;
    while from < pages.len() {
        let (offset, shift) = (first + from as u64, from * PAGE_BYTES);
        match search(&mut pages[from..bad], file, offset, prefix, name)? {
            RecordPlace::At(bytes) => return Ok(RecordPlace::At(bytes.start + shift..bytes.end + shift)),
            RecordPlace::Lost(bytes) => return Ok(RecordPlace::Lost(bytes.start + shift..bytes.end + shift)),
            RecordPlace::Absent => from = bad + 1,
        }
        let is_intact = |n: &usize| pages[*n].is_intact(Place { file, page: first + *n as u64 });
        bad = (from..pages.len()).find(|n| !is_intact(n)).unwrap_or(pages.len());
    }
    Err(damage)
}

/// As [`find`], in pages that are intact.
fn search(pages: &mut [Page], file: u64, first: u64, prefix: u64, name: &[u8]) -> Result<RecordPlace, Damage> {
    let Some((start, lead)) = first_start(pages) else {
        return Ok(RecordPlace::Absent);
    };
    let (from, to) = compact(pages, start, lead);
    let bytes = &pages.as_bytes()[from..to];
    let mut at = 0;
    let mut lost = RecordPlace::Absent;
    while at + HEADER_BYTES <= bytes.len() {
        let record = &bytes[at..];
        let len = Record::peek_len(record)
            .map_err(|error| page_damage(FileId::Segment(file), first, &format!("{error}, in an intact page")))?;
        if record.len() < len {
            break;
        }
        let key_len = usize::from(u16::from_le_bytes([record[6], record[7]]));
        let is_lost = Record::is_lost_at(record);
        if key_len == name.len() || is_lost {
            let decoded = Record::decode_trusted(record)
                .map_err(|error| page_damage(FileId::Segment(file), first, &format!("{error}, in an intact page")))?;
            if decoded.lost_prefix() == Some(prefix) {
                lost = RecordPlace::Lost(from + at..from + at + len);
            } else if decoded.key == name && !is_lost {
                return Ok(RecordPlace::At(from + at..from + at + len));
            }
        }
        at += len;
    }
    Ok(lost)
}

/// The first page in which a record starts, and the payload offset of that record.
fn first_start(pages: &[Page]) -> Option<(usize, usize)> {
    pages.iter().enumerate().find_map(|(n, page)| Some((n, page.first_record()?)))
}

/// Moves the payloads after page `start` together; returns the byte range of the stream that begins at payload offset
/// `lead` of page `start`.
fn compact(pages: &mut [Page], start: usize, lead: usize) -> (usize, usize) {
    let count = pages.len();
    let last_used = pages[count - 1].used();
    let bytes = pages.as_mut_bytes();
    let from = start * PAGE_BYTES + PAGE_HEADER_BYTES + lead;
    let mut end = (start + 1) * PAGE_BYTES;
    if start + 1 == count {
        return (from, start * PAGE_BYTES + PAGE_HEADER_BYTES + last_used);
    }
    for page in start + 1..count {
        let payload = page * PAGE_BYTES + PAGE_HEADER_BYTES;
        let used = if page + 1 == count { last_used } else { PAGE_PAYLOAD_BYTES };
        bytes.copy_within(payload..payload + used, end);
        end += used;
    }
    (from, end)
}
