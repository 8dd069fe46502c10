//! The media types that client flags can name.
//!
//! An item has a value and 32 bits of client flags, and clients of memcached read both. So a value is kept as it came,
//! and its media type is a number in the upper half of the flags: `0x48`, then the type's number. The lower half, which
//! client libraries use for their own marks, stays 0. Bit 7 of the number is `charset=utf-8`.

/// The type of an item whose flags name none.
pub const OCTET_STREAM: &str = "application/octet-stream";

/// The upper byte of flags that name a type.
const MARK: u32 = 0x48 << 24;
/// Bits that are fixed in such flags.
const FIXED: u32 = 0xff00_ffff;
/// The bit of a type's number that says `charset=utf-8`.
const UTF_8: u32 = 0x80;

/// The types by their numbers. Items on flash have the numbers: types are appended, never moved.
pub const TYPES: &[&str] = &[
    OCTET_STREAM,
    "text/plain",
    "text/html",
    "text/css",
    "text/csv",
    "text/xml",
    "text/javascript",
    "text/markdown",
    "text/calendar",
    "text/vtt",
    "text/tab-separated-values",
    "application/json",
    "application/ld+json",
    "application/geo+json",
    "application/problem+json",
    "application/manifest+json",
    "application/x-ndjson",
    "application/xml",
    "application/xhtml+xml",
    "application/atom+xml",
    "application/rss+xml",
    "application/javascript",
    "application/x-www-form-urlencoded",
    "application/pdf",
    "application/zip",
    "application/gzip",
    "application/zstd",
    "application/x-tar",
    "application/wasm",
    "application/cbor",
    "application/msgpack",
    "application/protobuf",
    "application/yaml",
    "application/toml",
    "application/sql",
    "application/vnd.apache.parquet",
    "application/vnd.apache.arrow.stream",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/svg+xml",
    "image/x-icon",
    "image/vnd.microsoft.icon",
    "image/bmp",
    "image/tiff",
    "image/jxl",
    "image/heic",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/flac",
    "audio/aac",
    "video/mp4",
    "video/webm",
    "video/ogg",
    "font/woff",
    "font/woff2",
    "font/ttf",
    "font/otf",
    "model/gltf+json",
    "model/gltf-binary",
];

/// The client flags that stand for the value of a `Content-Type` field; `None`: no flags do.
pub fn flags_of(content_type: &str) -> Option<u32> {
    let (essence, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    let number = TYPES.iter().position(|known| known.eq_ignore_ascii_case(essence.trim()))? as u32;
    let charset = match parameters.trim() {
        "" => 0,
        text => {
            let (name, value) = text.split_once('=')?;
            let value = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
            let is_utf_8 = name.eq_ignore_ascii_case("charset") && value.eq_ignore_ascii_case("utf-8");
            is_utf_8.then_some(UTF_8)?
        }
    };
    Some(MARK | (number | charset) << 16)
}

/// The media type that client flags name, and what is to follow it.
pub fn of_flags(flags: u32) -> (&'static str, &'static str) {
    let number = flags >> 16 & 0xff;
    let known = TYPES.get((number & !UTF_8) as usize).filter(|_| flags & FIXED == MARK);
    let charset = if number & UTF_8 == 0 { "" } else { "; charset=utf-8" };
    known.map_or((OCTET_STREAM, ""), |known| (known, charset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back_as_it_was_given_with_and_without_charset() {
        for known in TYPES {
            for suffix in ["", "; charset=utf-8"] {
                let flags = flags_of(&format!("{known}{suffix}")).unwrap();
                assert_eq!(of_flags(flags), (*known, suffix));
                assert_eq!(flags & 0xffff, 0, "the half that client libraries use is free");
            }
        }
        assert!(TYPES.len() <= 128, "a number has 7 bits");
    }

    #[test]
    fn numbers_on_flash_stay_what_they_are() {
        for (number, known) in [(0, OCTET_STREAM), (2, "text/html"), (11, "application/json"), (42, "image/svg+xml")] {
            assert_eq!(of_flags(0x4800_0000 | number << 16), (known, ""));
        }
        assert_eq!(TYPES.last(), Some(&"model/gltf-binary"), "append, and name the new last one here");
    }

    #[test]
    fn spellings_of_one_type_are_one_and_what_cannot_be_kept_is_refused() {
        let flags = flags_of("text/html; charset=utf-8");
        assert_eq!(flags_of("Text/HTML ;Charset=\"UTF-8\""), flags);
        for refused in ["", "text", "text/html; charset=latin-1", "text/html; q=1", "text/x-unheard", "text/html; x"] {
            assert_eq!(flags_of(refused), None, "{refused}");
        }
        for flags in [0, 1, 0x4800_0001, 0x4900_0000, 0x487f_0000, u32::MAX] {
            assert_eq!(of_flags(flags), (OCTET_STREAM, ""), "{flags:x}");
        }
    }
}
