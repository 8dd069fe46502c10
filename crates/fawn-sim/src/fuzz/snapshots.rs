//! Redis's snapshots, on bytes that arrive in pieces: the same keys and errors as in one piece, no value above the limit, and no
//! key after an error or a wrong checksum.

use fawn_check::random::Random;
use fawn_rdb::{RdbReader, RdbSource, RdbValue, checksum};

use super::pieces::Pieces;
use super::target::{Input, Target};

/// [`RdbReader`].
pub(super) struct Snapshots;

/// Bytes of a value at most.
const MOST_VALUE_BYTES: usize = 2048;

/// Bytes of memory that two readers may hold, whatever they read: what they ask for at a time, a key, a value packed and not, and
/// the block of a hash, each as a vector that has grown.
const MOST_BYTES: u64 = 256 << 10;

impl RdbSource for Pieces<'_> {}

/// Keys, the last error, and a sum over everything.
type Outcome = (u64, Option<String>, u64);

fn read(source: impl RdbSource) -> Outcome {
    let (mut keys, mut sum) = (0, 0_u64);
    let mut add = |bytes: &[u8]| {
        for byte in [bytes, &[0]].concat() {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        }
    };
    let mut reader = match RdbReader::open(source, MOST_VALUE_BYTES) {
        Ok(reader) => reader,
        Err(error) => return (0, Some(error.to_string()), 0),
    };
    let error = loop {
        match reader.next_entry() {
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
            Ok(Some(entry)) => {
                keys += 1;
                add(&entry.key);
                add(&entry.expires_ms.unwrap_or(7).to_le_bytes());
                match entry.value {
                    RdbValue::String(value) => {
                        assert!(value.len() <= MOST_VALUE_BYTES, "a string is longer than the limit");
                        add(&value);
                    }
                    RdbValue::Hash(fields) => {
                        assert!(fields.bytes() <= MOST_VALUE_BYTES, "a hash is larger than the limit");
                        assert!(!fields.is_empty(), "a hash has no fields");
                        for (name, value) in fields.iter() {
                            add(name);
                            add(value);
                        }
                    }
                    RdbValue::TooLarge => add(b"too large"),
                    RdbValue::Other(kind) => add(kind.to_string().as_bytes()),
                }
            }
        }
    };
    assert!(matches!(reader.next_entry(), Ok(None)), "a reader that has ended goes on");
    (keys, error, sum)
}

impl Target for Snapshots {
    fn name(&self) -> &'static str {
        "redis-snapshot"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut bytes = format!("REDIS{:04}", random.within(5, 11)).into_bytes();
        push_string(&mut bytes, &[250], b"redis-ver");
        push_string(&mut bytes, &[], b"7.2.0");
        bytes.extend_from_slice(&[254, 0, 251, 9, 1]);
        for _ in 0..random.within(1, 8) {
            push_key(&mut bytes, random);
        }
        bytes.push(255);
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let rest = bytes.split_off(random.within(1, bytes.len() as u64 - 1) as usize);
        vec![bytes, rest]
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        if random.chance(1, 4) {
            return;
        }
        // Its checksum, or none.
        let mut whole = input.concat();
        if let Some(end) = whole.len().checked_sub(8) {
            let sum = if random.chance(1, 2) { checksum(&whole[..end]) } else { 0 };
            whole[end..].copy_from_slice(&sum.to_le_bytes());
        }
        let rest = whole.split_off(random.below(whole.len() as u64 + 1) as usize);
        *input = vec![whole, rest];
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // The input is joined to be read once more.
        MOST_BYTES + 2 * input.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    fn execute(&self, input: &Input) -> bool {
        let in_pieces = read(Pieces::new(input));
        let whole = input.concat();
        assert_eq!(in_pieces, read(&whole[..]), "pieces matter");
        let (keys, error, _) = in_pieces;
        assert!(keys <= whole.len() as u64 / 3, "a key takes a byte for its type, its length and its value");
        error.is_none()
    }
}

fn push_string(out: &mut Vec<u8>, before: &[u8], text: &[u8]) {
    assert!(text.len() < 1 << 14, "such lengths are written in two bytes");
    out.extend_from_slice(before);
    out.extend_from_slice(&[0x40 | (text.len() >> 8) as u8, text.len() as u8]);
    out.extend_from_slice(text);
}

/// Appends a key of any type.
fn push_key(out: &mut Vec<u8>, random: &mut Random) {
    let longest = if random.chance(1, 16) { 3000 } else { 40 };
    let mut text = vec![b'v'; random.below(longest) as usize];
    random.fill(&mut text);
    match random.below(4) {
        0 => out.extend_from_slice(&[253, 1, 2, 3, 100]),
        1 => out.extend_from_slice(&[252, 1, 2, 3, 4, 5, 1, 0, 0, 248, 5]),
        _ => {}
    }
    let number = *random.pick(&[0, 0, 0, 1, 2, 3, 4, 4, 5, 7, 9, 9, 10, 13, 13, 13, 15, 16, 16, 16, 18, 19, 20, 21]);
    push_string(out, &[number], b"key");
    match number {
        0 => match random.below(3) {
            0 => out.extend_from_slice(&[0xc2, 1, 2, 3, 4]),
            1 => out.extend_from_slice(b"\xc3\x05\x40\x0a\x00a\xe0\x00\x00"),
            _ => push_string(out, &[], &text),
        },
        3 => out.extend_from_slice(&[2, 1, b'a', 253, 1, b'b', 1, b'7']),
        4 => {
            push_string(out, &[2], b"a");
            push_string(out, &[], &text);
            push_string(out, &[], b"b");
            out.extend_from_slice(&[0xc0, 7]);
        }
        5 => out.extend_from_slice(&[1, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0]),
        7 => {
            out.extend_from_slice(&[
                0x81, 0, 0, 0, 0, 0, 0, 4, 1, 1, 1, 5, 2, b'a', b'b', 4, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ]);
        }
        9 => push_string(out, &[], b"\x02\x01a\x03\x02one..\xfe\x01\0\0\0b\x00\x00\xff"),
        13 => push_string(out, &[], b"\x12\0\0\0\x0d\0\0\0\x02\0\0\x01a\x03\xc0\x01\x02\xff"),
        15 | 19 | 21 => push_stream(out, number),
        16 => push_string(out, &[], b"\x12\0\0\0\x04\0\x81a\x02\x05\x01\x81b\x02\xdf\xfe\x02\xff"),
        18 => push_string(out, &[1, 2], &text),
        10 | 20 => push_string(out, &[], &text),
        _ => {
            push_string(out, &[2], &text);
            push_string(out, &[], b"b");
        }
    }
}

fn push_stream(out: &mut Vec<u8>, number: u8) {
    push_string(out, &[1], &[7; 16]);
    push_string(out, &[], b"listpack");
    out.extend_from_slice(&[1, 2, 3]);
    out.extend_from_slice(if number == 15 { &[] } else { &[1, 1, 1, 1, 1] });
    push_string(out, &[1], b"group");
    out.extend_from_slice(if number == 15 { &[4, 4] } else { &[4, 4, 5] });
    out.push(1);
    out.extend_from_slice(&[2; 24]);
    out.push(3);
    push_string(out, &[1], b"consumer");
    out.extend_from_slice(if number == 21 { &[9; 16] } else { &[9; 8] });
    out.push(1);
    out.extend_from_slice(&[8; 16]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_valid_snapshot_is_read_to_its_end() {
        let mut random = Random::new(1);
        for _ in 0..2000 {
            let input = Snapshots.valid(&mut random);
            let (keys, error, _) = read(&input.concat()[..]);
            assert!(keys > 0 && error.is_none(), "{error:?}: {input:?}");
        }
    }
}
