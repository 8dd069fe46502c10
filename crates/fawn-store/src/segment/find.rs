//! Finds one key's record in the pages that the directory named.

use std::ops::Range;

use super::page_damage;
use crate::api::Damage;
use crate::flash::FileId;
use crate::page::{PAGE_BYTES, PAGE_HEADER_BYTES, PAGE_PAYLOAD_BYTES, Page, Place};
use crate::record::{HEADER_BYTES, Record};
use zerocopy::IntoBytes;

/// Where a key's record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// At these bytes of the pages given (which have been compacted, see [`find`]).
    At(Range<usize>),
    /// Not in these pages.
    Absent,
}

/// Finds the record of the key `name` in `pages`, which are pages `first..` of segment `file`. Every page's checksum is
/// verified. Payloads of several pages are moved together in place, so that the record is contiguous; the pages are
/// not pages any more afterwards.
///
/// # Errors
/// Damage: the first page or record that does not parse.
pub fn find(pages: &mut [Page], file: u64, first: u64, name: &[u8]) -> Result<Sought, Damage> {
    for (n, page) in pages.iter().enumerate() {
        let place = Place { file, page: first + n as u64 };
        if !page.is_intact(place) {
            return Err(page_damage(FileId::Segment(file), place.page, "the page's checksum does not match"));
        }
    }
    let Some((start, lead)) = first_start(pages) else {
        return Ok(Sought::Absent);
    };
    let (from, to) = compact(pages, start, lead);
    let bytes = &pages.as_bytes()[from..to];
    let mut at = 0;
    while at + HEADER_BYTES <= bytes.len() {
        let record = &bytes[at..];
        let len = Record::peek_len(record)
            .map_err(|error| page_damage(FileId::Segment(file), first, &format!("{error}, in an intact page")))?;
        if record.len() < len {
            break;
        }
        let key_len = usize::from(u16::from_le_bytes([record[6], record[7]]));
        if key_len == name.len() {
            let decoded = Record::decode_trusted(record)
                .map_err(|error| page_damage(FileId::Segment(file), first, &format!("{error}, in an intact page")))?;
            if decoded.key == name {
                return Ok(Sought::At(from + at..from + at + len));
            }
        }
        at += len;
    }
    Ok(Sought::Absent)
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
