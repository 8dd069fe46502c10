//! Listpacks: elements in one block, each followed by its own length, as Redis has them since version 7.0.
//!
//! Bytes of the block (u32) and number of elements (u16, 65,535: unknown), both little-endian; the elements; a byte 255.

/// Gives every element to `take`, numbers as text. An error says what is wrong with the block.
pub(crate) fn elements(block: &[u8], take: &mut dyn FnMut(&[u8])) -> Result<usize, &'static str> {
    const CUT: &str = "a listpack's element is cut off";
    let (head, mut rest) = block.split_first_chunk::<6>().ok_or("a listpack is too short")?;
    let bytes = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let told = u16::from_le_bytes([head[4], head[5]]);
    if bytes as usize != block.len() {
        return Err("a listpack has another length than it says");
    }
    let mut found = 0;
    loop {
        let (element, len) = match rest {
            [255] => break,
            [] | [255, ..] => return Err("a listpack does not end where it should"),
            [first, ..] => Element::parse(*first, rest).ok_or(CUT)?,
        };
        match element {
            Element::Text(text) => take(text),
            Element::Number(number) => take(itoa::Buffer::new().format(number).as_bytes()),
        }
        let behind = rest.get(len..).ok_or(CUT)?;
        let (back, back_len) = (backward(len), backward_len(len));
        if behind.get(..back_len) != Some(&back[5 - back_len..]) {
            return Err("the two lengths of a listpack's element differ");
        }
        rest = &behind[back_len..];
        found += 1;
    }
    if told != u16::MAX && usize::from(told) != found {
        return Err("a listpack has another number of elements than it says");
    }
    Ok(found)
}

enum Element<'a> {
    Text(&'a [u8]),
    Number(i64),
}

impl<'a> Element<'a> {
    /// The element that the bytes begin with, of which this is the `first`, and its bytes.
    fn parse(first: u8, bytes: &'a [u8]) -> Option<(Self, usize)> {
        let at = |index: usize| bytes.get(index).copied();
        let text = |head: usize, len: usize| Some((Self::Text(bytes.get(head..head.checked_add(len)?)?), head + len));
        match first {
            0..0x80 => Some((Self::Number(i64::from(first)), 1)),
            0x80..0xc0 => text(1, usize::from(first & 0x3f)),
            0xc0..0xe0 => {
                // 13 bits with a sign.
                let number = i64::from(u16::from(first & 0x1f) << 8 | u16::from(at(1)?));
                Some((Self::Number(if number >= 1 << 12 { number - (1 << 13) } else { number }), 2))
            }
            0xe0..0xf0 => text(2, usize::from(first & 0x0f) << 8 | usize::from(at(1)?)),
            0xf0 => text(5, u32::from_le_bytes(*bytes[1..].first_chunk()?) as usize),
            0xf1 => Some((Self::Number(i16::from_le_bytes(*bytes[1..].first_chunk()?).into()), 3)),
            0xf2 => Some((Self::Number(three_bytes(*bytes[1..].first_chunk()?)), 4)),
            0xf3 => Some((Self::Number(i32::from_le_bytes(*bytes[1..].first_chunk()?).into()), 5)),
            0xf4 => Some((Self::Number(i64::from_le_bytes(*bytes[1..].first_chunk()?)), 9)),
            0xf5.. => None,
        }
    }
}

/// A signed number of three bytes.
pub(crate) fn three_bytes(bytes: [u8; 3]) -> i64 {
    i64::from(i32::from_le_bytes([0, bytes[0], bytes[1], bytes[2]]) >> 8)
}

/// The length of an element as it is written behind it, to be read backwards: 7 bits a byte, the highest first, with the top bit in
/// all but the first byte. It is the end of what is returned.
fn backward(len: usize) -> [u8; 5] {
    let mut back: [u8; 5] = std::array::from_fn(|at| (len >> (7 * (4 - at)) & 0x7f) as u8 | 0x80);
    back[5 - backward_len(len)] &= 0x7f;
    back
}

/// The bytes of it.
fn backward_len(len: usize) -> usize {
    match len {
        0..128 => 1,
        128..16_384 => 2,
        16_384..2_097_152 => 3,
        2_097_152..268_435_456 => 4,
        _ => 5,
    }
}
