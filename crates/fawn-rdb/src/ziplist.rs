//! Ziplists: elements in one block, each preceded by the length of the one before, as Redis had them before version 7.0.
//!
//! Bytes of the block (u32), offset of the last element (u32), number of elements (u16, 65,535: unknown), all little-endian; the
//! elements; a byte 255.

use crate::listpack::three_bytes;

/// Gives every element to `take`, numbers as text. An error says what is wrong with the block.
pub(crate) fn elements(block: &[u8], take: &mut dyn FnMut(&[u8])) -> Result<usize, &'static str> {
    const CUT: &str = "a ziplist's element is cut off";
    let (head, mut rest) = block.split_first_chunk::<10>().ok_or("a ziplist is too short")?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
    let told = u16::from_le_bytes([head[8], head[9]]);
    if word(0) != block.len() {
        return Err("a ziplist has another length than it says");
    }
    let (mut found, mut before, mut last) = (0, 0, 10);
    loop {
        let at = block.len() - rest.len();
        let (told_before, head) = match rest {
            [255] => break,
            [] | [255, ..] => return Err("a ziplist does not end where it should"),
            [254, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 5),
            [254, ..] => return Err(CUT),
            [len, ..] => (usize::from(*len), 1),
        };
        if told_before != before {
            return Err("a ziplist's element says another length of the one before it");
        }
        let len = element(&rest[head..], take).ok_or(CUT)?;
        (before, last) = (head + len, at);
        rest = rest.get(before..).ok_or(CUT)?;
        found += 1;
    }
    if word(4) != last {
        return Err("a ziplist says another place of its last element");
    }
    if told != u16::MAX && usize::from(told) != found {
        return Err("a ziplist has another number of elements than it says");
    }
    Ok(found)
}

/// Gives the element that the bytes begin with, after the length of the one before; its bytes.
fn element(bytes: &[u8], take: &mut dyn FnMut(&[u8])) -> Option<usize> {
    let (&first, behind) = bytes.split_first()?;
    let (head, len) = match first {
        0..0x40 => (1_usize, usize::from(first)),
        0x40..0x80 => (2, usize::from(first & 0x3f) << 8 | usize::from(*behind.first()?)),
        0x80 => (5, u32::from_be_bytes(*behind.first_chunk()?) as usize),
        _ => {
            let (number, len) = match first {
                0xc0 => (i64::from(i16::from_le_bytes(*behind.first_chunk()?)), 3),
                0xd0 => (i64::from(i32::from_le_bytes(*behind.first_chunk()?)), 5),
                0xe0 => (i64::from_le_bytes(*behind.first_chunk()?), 9),
                0xf0 => (three_bytes(*behind.first_chunk()?), 4),
                0xfe => (i64::from(i8::from_le_bytes(*behind.first_chunk()?)), 2),
                // Numbers from 0 to 12 are in the first byte itself.
                0xf1..=0xfd => (i64::from(first & 0x0f) - 1, 1),
                _ => return None,
            };
            take(itoa::Buffer::new().format(number).as_bytes());
            return Some(len);
        }
    };
    take(bytes.get(head..head.checked_add(len)?)?);
    Some(head + len)
}
