//! Zipmaps: small hashes in one block, as Redis had them before version 2.6.
//!
//! A byte with the number of pairs (254 and more: unknown); of each pair the length and bytes of the name, the length of the value, a
//! byte with the number of unused bytes behind the value, and its bytes; a byte 255. A length is a byte, or 254 and a u32,
//! little-endian.

/// Gives every name and every value to `take`, in turn. An error says what is wrong with the block.
pub(crate) fn elements(block: &[u8], take: &mut dyn FnMut(&[u8])) -> Result<usize, &'static str> {
    const CUT: &str = "a zipmap is cut off";
    let (&told, mut rest) = block.split_first().ok_or(CUT)?;
    let mut found = 0;
    while rest != [255] {
        let (name, behind) = string(rest, false).ok_or(CUT)?;
        let (value, behind) = string(behind, true).ok_or(CUT)?;
        take(name);
        take(value);
        rest = behind;
        found += 2;
    }
    if told < 254 && usize::from(told) * 2 != found {
        return Err("a zipmap has another number of pairs than it says");
    }
    Ok(found)
}

/// A string and what is behind it, and behind the unused bytes of a value.
fn string(bytes: &[u8], is_value: bool) -> Option<(&[u8], &[u8])> {
    let (len, behind) = match bytes {
        [254, a, b, c, d, behind @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, behind),
        [len @ 0..254, behind @ ..] => (usize::from(*len), behind),
        _ => return None,
    };
    let (unused, behind) =
        if is_value { behind.split_first().map(|(byte, behind)| (*byte, behind))? } else { (0, behind) };
    let (string, behind) = behind.split_at_checked(len)?;
    Some((string, behind.get(usize::from(unused)..)?))
}
