//! Bodies in chunks: where they end, and their bytes.
//!
//! A body stays in the connection's input until it is whole. So a scan remembers how far it came, and each byte is looked at
//! once.

use crate::refusal::{HttpStatus, RequestRefusal};

/// The longest line of a chunk's size, or of a trailer.
const MOST_LINE_BYTES: usize = 256;
/// Most bytes of all trailers.
const MOST_TRAILER_BYTES: usize = 4096;
/// Chunks may take this many bytes beside what they carry: tiny ones would make a small body large.
const MOST_FRAMING_BYTES: usize = 64 << 10;

/// How far a body was scanned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkScan {
    /// Bytes that were scanned: a line begins there.
    at: usize,
    /// Bytes of the body so far.
    bytes: usize,
    /// The last chunk was seen at this place.
    trailers_from: Option<usize>,
}

/// What a scan came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanResult {
    /// The encoded body has this many bytes, and carries so many.
    Whole {
        /// Bytes with all framing.
        encoded: usize,
        /// Bytes without.
        bytes: usize,
    },
    /// The encoded body has at least this many bytes.
    NeedMore(usize),
}

const BROKEN: RequestRefusal = RequestRefusal::malformed("the body's chunks are not SIZE CR LF BYTES CR LF");

impl ChunkScan {
    /// Goes on with `body`, which begins as before, up to `most` bytes that chunks carry.
    ///
    /// # Errors
    /// It has no chunks, or carries more.
    pub fn go_on(&mut self, body: &[u8], most: usize) -> Result<ScanResult, RequestRefusal> {
        loop {
            let Some(line) = line_at(body, self.at)? else { return Ok(ScanResult::NeedMore(body.len() + 1)) };
            let after = self.at + line.len() + 2;
            if let Some(from) = self.trailers_from {
                self.at = after;
                if line.is_empty() {
                    return Ok(ScanResult::Whole { encoded: after, bytes: self.bytes });
                }
                if after - from > MOST_TRAILER_BYTES {
                    return Err(RequestRefusal::new(
                        HttpStatus::HeaderFieldsTooLarge,
                        "the body's trailers have more than 4 KiB",
                    ));
                }
                continue;
            }
            let size = size_of(line)?;
            if size > most - self.bytes {
                return Err(RequestRefusal::new(HttpStatus::ContentTooLarge, "the value exceeds --max-item-size"));
            }
            if size == 0 {
                (self.at, self.trailers_from) = (after, Some(after));
                continue;
            }
            let end = after + size;
            let behind = &body[end.min(body.len())..(end + 2).min(body.len())];
            if !b"\r\n".starts_with(behind) {
                return Err(BROKEN);
            }
            if behind.len() < 2 {
                return Ok(ScanResult::NeedMore(end + 2));
            }
            self.bytes += size;
            self.at = end + 2;
            if self.at - self.bytes > MOST_FRAMING_BYTES + self.bytes {
                return Err(RequestRefusal::new(HttpStatus::ContentTooLarge, "send the body in larger chunks"));
            }
        }
    }
}

/// The line that begins at `at`, without its end; `None`: it is not whole.
fn line_at(body: &[u8], at: usize) -> Result<Option<&[u8]>, RequestRefusal> {
    let rest = &body[at..];
    let seen = &rest[..rest.len().min(MOST_LINE_BYTES)];
    match memchr::memchr2(b'\r', b'\n', seen) {
        None if seen.len() == MOST_LINE_BYTES => Err(BROKEN),
        None => Ok(None),
        Some(end) if seen[end] == b'\n' => Err(BROKEN),
        Some(end) => match rest.get(end + 1) {
            None => Ok(None),
            Some(b'\n') => Ok(Some(&seen[..end])),
            Some(_) => Err(BROKEN),
        },
    }
}

/// The size in the line of a chunk. Extensions mean nothing here.
fn size_of(line: &[u8]) -> Result<usize, RequestRefusal> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = &line[digits..];
    let is_extension = rest.is_empty() || (rest[0] == b';' && rest.iter().all(|byte| (b' '..=b'~').contains(byte)));
    if !(1..=8).contains(&digits) || !is_extension {
        return Err(BROKEN);
    }
    let text = std::str::from_utf8(&line[..digits]).map_err(|_| BROKEN)?;
    usize::from_str_radix(text, 16).map_err(|_| BROKEN)
}

/// Appends what the chunks of a body carry that was scanned to its end.
pub fn decode(body: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Ok(Some(line)) = line_at(body, at)
        && let Ok(size @ 1..) = size_of(line)
    {
        let start = at + line.len() + 2;
        out.extend_from_slice(&body[start..start + size]);
        at = start + size + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_found_however_they_come() {
        let body = b"3\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nrest";
        let encoded = body.len() - 4;
        let mut scan = ChunkScan::default();
        for cut in 0..encoded {
            let ScanResult::NeedMore(total) = scan.go_on(&body[..cut], 100).unwrap() else { panic!("cut at {cut}") };
            assert!(total > cut && total <= encoded, "{cut}: {total}");
        }
        assert_eq!(scan.go_on(body, 100), Ok(ScanResult::Whole { encoded, bytes: 13 }));
        let mut out = Vec::new();
        decode(&body[..encoded], &mut out);
        assert_eq!(out, b"abc0123456789");
    }

    #[test]
    fn whatever_is_no_chunk_is_refused() {
        for body in [
            "3\nabc\r\n",
            "3 \r\nabc\r\n",
            " 3\r\n",
            "\r\n",
            "g\r\n",
            "-1\r\n",
            "+3\r\nabc\r\n",
            "0x3\r\nabc\r\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n",
            "123456789\r\n",
            "3;\u{7f}\r\n",
            "3\rx",
            "0\r\nx\n",
            "0\r\n\rx",
        ] {
            let refusal = ChunkScan::default().go_on(body.as_bytes(), 1 << 40).unwrap_err();
            assert_eq!(refusal.status, HttpStatus::BadRequest, "{body:?}");
        }
    }

    #[test]
    fn large_bodies_tiny_chunks_and_long_trailers_are_refused() {
        let status = |body: &str, most| ChunkScan::default().go_on(body.as_bytes(), most).unwrap_err().status;
        assert_eq!(status("4\r\n", 3), HttpStatus::ContentTooLarge);
        assert_eq!(status("2\r\nab\r\n2\r\n", 3), HttpStatus::ContentTooLarge);
        assert_eq!(status(&"1\r\nx\r\n".repeat(20_000), 1 << 20), HttpStatus::ContentTooLarge);
        let trailers = format!("0\r\n{}", format!("a: {}\r\n", "x".repeat(200)).repeat(30));
        assert_eq!(status(&trailers, 3), HttpStatus::HeaderFieldsTooLarge);
        assert_eq!(status(&format!("3;{}", "x".repeat(300)), 3), HttpStatus::BadRequest);
    }
}
