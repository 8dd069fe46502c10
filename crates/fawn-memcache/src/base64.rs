//! Base64 of keys (`b`), with memcached's leniency: bytes outside the alphabet are skipped.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends `bytes` in base64, padded.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = ALPHABET[(word >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= group.len() { digit } else { b'=' });
        }
    }
}

/// Decodes into `out`, which is at least 3/4 as long as `text`, and says how many bytes came out; `None` when the text
/// is not base64 or is empty.
pub fn decode(text: &[u8], out: &mut [u8]) -> Option<usize> {
    let digits = || text.iter().filter_map(|&byte| Some((digit(byte)?, byte)));
    if !digits().count().is_multiple_of(4) {
        return None;
    }
    let (mut len, mut word, mut count, mut padding) = (0, 0u32, 0, 0);
    for (value, byte) in digits() {
        padding += usize::from(byte == b'=');
        word = word << 6 | value;
        count += 1;
        if count == 4 {
            out.get_mut(len..len + 3)?.copy_from_slice(&word.to_be_bytes()[1..]);
            len += 3;
            (word, count) = (0, 0);
            match padding {
                0 => {}
                1 | 2 => return Some(len - padding),
                _ => return None,
            }
        }
    }
    (len > 0).then_some(len)
}

fn digit(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        b'=' => 0,
        _ => return None,
    } as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_the_standards_vectors_both_ways() {
        for (plain, text) in [
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut encoded = Vec::new();
            encode(plain.as_bytes(), &mut encoded);
            assert_eq!(encoded, text.as_bytes());
            let mut decoded = [0; 6];
            let len = decode(text.as_bytes(), &mut decoded).unwrap();
            assert_eq!(&decoded[..len], plain.as_bytes());
        }
    }

    #[test]
    fn text_that_is_not_base64_is_refused() {
        for text in ["", "!!!!", "Zm9", "Zm9vY", "A===", "===="] {
            assert_eq!(decode(text.as_bytes(), &mut [0; 8]), None, "{text}");
        }
    }
}
