//! Files that are packed or empty. Their first bytes show it, and the user learns what to do.

use std::io::BufRead;

use anyhow::bail;

/// Kinds of packed files: their first bytes, what they are, and what unpacks them.
const PACKED: [(&[u8], &str, &str); 6] = [
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x"),
    (b"\x1f\x8b", "packed by gzip", "gunzip"),
    (b"\xfd7zXZ\0", "packed by xz", "unxz"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "unzstd"),
    (b"BZh", "packed by bzip2", "bunzip2"),
    (b"PK\x03\x04", "a zip archive", "unzip"),
];

/// What a tar archive has behind the name and the numbers of its first file.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// Refuses an input that is empty or packed. A failure to read is left to whoever reads on.
///
/// # Errors
/// It is one of these.
pub fn refuse_packed(input: &mut impl BufRead, name: &str) -> anyhow::Result<()> {
    let Ok(first) = input.fill_buf() else { return Ok(()) };
    if first.is_empty() {
        bail!("{name} is empty: record it again, or give the file that was meant");
    }
    let is_tar = first.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1));
    let packed =
        PACKED.into_iter().find(|(magic, ..)| first.starts_with(magic)).map(|(_, what, unpack)| (what, unpack));
    if let Some((what, unpack)) = packed.or(is_tar.then_some(("a tar archive", "tar xf"))) {
        bail!("{name} is {what}: unpack it with `{unpack}` first, and give the file that comes out");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Failing;

    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::TimedOut.into())
        }
    }

    fn refusal(bytes: &[u8]) -> Option<String> {
        refuse_packed(&mut &bytes[..], "web.trace").err().map(|error| error.to_string())
    }

    #[test]
    fn packed_and_empty_files_are_told_with_what_to_do() {
        let tar = [&[b'a'; 257][..], b"ustar\0", &[0; 249]].concat();
        for (bytes, says) in [
            (&b"7z\xbc\xaf\x27\x1c\0\x04"[..], "is a 7z archive: unpack it with `7z x` first"),
            (b"\x1f\x8b\x08\0", "is packed by gzip: unpack it with `gunzip` first"),
            (b"\xfd7zXZ\0\0", "is packed by xz: unpack it with `unxz` first"),
            (b"\x28\xb5\x2f\xfd\x04", "is packed by zstd: unpack it with `unzstd` first"),
            (b"BZh91AY", "is packed by bzip2: unpack it with `bunzip2` first"),
            (b"PK\x03\x04\x14", "is a zip archive: unpack it with `unzip` first"),
            (&tar, "is a tar archive: unpack it with `tar xf` first"),
            (b"", "is empty: record it again"),
        ] {
            let refused = refusal(bytes);
            assert!(refused.as_ref().is_some_and(|text| text.contains(says)), "{says}: {refused:?}");
        }
    }

    #[test]
    fn text_and_compact_traces_are_no_packed_files() {
        for bytes in [&b"fawn recording 1\n"[..], b"7z,0,Read\n", b"BZ", b"1", &[b'a'; 300]] {
            assert_eq!(refusal(bytes), None, "{bytes:?}");
        }
        assert!(refuse_packed(&mut std::io::BufReader::new(Failing), "web.trace").is_ok(), "the reader says it");
    }
}
