//! LZF, as Redis compresses strings: runs of bytes, and references to at most 8 KiB back.

/// Appends the `len` bytes that `packed` stands for. An error says what is wrong with it.
pub(crate) fn unpack(packed: &[u8], out: &mut Vec<u8>, len: usize) -> Result<(), &'static str> {
    const CUT: &str = "a compressed string is cut off";
    const WRONG_LEN: &str = "a compressed string has another length than it says";
    let (first, end) = (out.len(), out.len() + len);
    let mut input = packed;
    while let Some((&control, behind)) = input.split_first() {
        input = behind;
        if control < 32 {
            let (bytes, behind) = input.split_at_checked(usize::from(control) + 1).ok_or(CUT)?;
            input = behind;
            if out.len() + bytes.len() > end {
                return Err(WRONG_LEN);
            }
            out.extend_from_slice(bytes);
            continue;
        }
        let mut byte = || {
            let (&byte, behind) = input.split_first().ok_or(CUT)?;
            input = behind;
            Ok::<_, &'static str>(usize::from(byte))
        };
        let mut run = usize::from(control >> 5) + 2;
        if run == 9 {
            run += byte()?;
        }
        let back = (usize::from(control & 31) << 8 | byte()?) + 1;
        if out.len() + run > end {
            return Err(WRONG_LEN);
        }
        if out.len() - first < back {
            return Err("a compressed string refers to bytes before its first");
        }
        // The bytes that it refers to may be some that it makes.
        let start = out.len() - back;
        (start..start + run).for_each(|at| out.push(out[at]));
    }
    if out.len() == end { Ok(()) } else { Err(WRONG_LEN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(packed: &[u8], len: usize) -> Result<Vec<u8>, &'static str> {
        let mut out = b"before".to_vec();
        unpack(packed, &mut out, len).map(|()| out.split_off(6))
    }

    #[test]
    fn runs_and_references_make_up_a_string() {
        assert_eq!(unpacked(b"", 0), Ok(Vec::new()));
        assert_eq!(unpacked(b"\x02abc", 3), Ok(b"abc".to_vec()));
        // The shortest reference, and one that refers to what it makes.
        assert_eq!(unpacked(b"\x02abc\x20\x02", 6), Ok(b"abcabc".to_vec()));
        assert_eq!(unpacked(b"\x00a\xe0\xff\x00", 265), Ok(vec![b'a'; 265]));
        // As far back as there is.
        let far: Vec<u8> = (0..256).flat_map(|n| [&[31_u8][..], &[n as u8; 32]].concat()).chain([0x3f, 0xff]).collect();
        assert_eq!(unpacked(&far, 8195).unwrap()[8192..], [0; 3]);
    }

    #[test]
    fn what_is_no_compressed_string_is_refused() {
        for (packed, len) in [
            (&b"\x02ab"[..], 3),
            (b"\x02abc", 2),
            (b"\x02abc", 4),
            (b"\x20", 3),
            (b"\x20\x00", 3),
            (b"\x00a\xe0", 10),
            (b"\x00a\x20\x01", 4),
            (b"\x00a\x20\x00", 3),
        ] {
            assert!(unpacked(packed, len).is_err(), "{packed:?}");
        }
    }
}
