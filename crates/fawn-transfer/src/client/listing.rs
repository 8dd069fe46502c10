//! Lists a server's keys with `lru_crawler metadump`.
//!
//! memcached's `metadump all` walks its LRU lists and misses items that move between them meanwhile, as new items soon
//! do (4 of 100,000 right after a load, in one try). `metadump hash` walks the hash table and misses none, so it is
//! asked for first; servers that do not know it refuse it, and are then asked for `all`.

use super::error::excerpt;
use super::{ClientError, ServerConnection};

/// A key that was there when it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKey {
    /// The key's bytes.
    pub key: Vec<u8>,
    /// Unix second of expiry; 0 for never.
    pub exptime: u32,
    /// Bytes that the server keeps for it; 0 when not told.
    pub size: usize,
}

/// Lists every key, in batches: those that arrived together. How many keys the server cannot read and has left out.
///
/// # Errors
/// The connection broke, the server does not list keys, or `take` fails.
pub fn list_keys(
    mut connection: ServerConnection,
    mut take: impl FnMut(Vec<ListedKey>) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let mut ways = [&b"lru_crawler metadump hash\r\n"[..], b"lru_crawler metadump all\r\n"].into_iter();
    connection.send(ways.next().expect("there are two"))?;
    let mut any = false;
    loop {
        let mut batch = Vec::new();
        let ended = loop {
            let line = connection.line()?;
            if line == b"END" {
                break Some(0);
            }
            if let Some(left_out) = left_out(line) {
                break Some(left_out);
            }
            // Newer servers say first that they will answer.
            if line == b"OK" {
                continue;
            }
            if let Some(listed) = parse_line(line) {
                batch.push(listed);
                any = true;
            } else if let (false, Some(way)) = (any, ways.next()) {
                connection.send(way)?;
                continue;
            } else {
                let line = excerpt(line);
                let address = connection.address().clone();
                let error =
                    if any { ClientError::Refused { address, line } } else { ClientError::NoListing { address, line } };
                return Err(error.into());
            }
            if batch.len() == BATCH_KEYS || !connection.has_line() {
                break None;
            }
        };
        if !batch.is_empty() {
            take(batch)?;
        }
        if let Some(left_out) = ended {
            return Ok(left_out);
        }
    }
}

/// What a listing ends with when the server, a fawn, has left out keys that it cannot read: how many.
fn left_out(line: &[u8]) -> Option<u64> {
    let said = std::str::from_utf8(line).ok()?.strip_prefix("SERVER_ERROR ")?;
    let (count, rest) = said.split_once(' ')?;
    count.parse().ok().filter(|_| rest.starts_with("keys cannot be read"))
}

/// Keys that are fetched together.
const BATCH_KEYS: usize = 256;

/// Parses `key=foo%20bar exp=-1 la=… cas=… fetch=no cls=1 size=63`.
fn parse_line(line: &[u8]) -> Option<ListedKey> {
    let mut listed = ListedKey { key: Vec::new(), exptime: 0, size: 0 };
    for (number, token) in line.split(|&byte| byte == b' ').filter(|token| !token.is_empty()).enumerate() {
        match token.split_at(token.iter().position(|&byte| byte == b'=')? + 1) {
            (b"key=", key) if number == 0 => listed.key = percent_decode(key)?,
            (b"exp=", text) => listed.exptime = number_in(text)?.max(0) as u32,
            (b"size=", text) => listed.size = number_in(text)?.max(0) as usize,
            _ if number == 0 => return None,
            _ => {}
        }
    }
    (!listed.key.is_empty()).then_some(listed)
}

/// A decimal number, perhaps negative.
fn number_in(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Turns `%XX` into the byte it names.
fn percent_decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            out.push(byte);
            rest = after;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_metadump_gives_key_expiry_and_size() {
        let line = b"key=foo%20%25%C3%A9 exp=1900000000 la=1763762400 cas=2 fetch=no cls=1 size=63 flags=0 ";
        let expected = ListedKey { key: "foo %é".as_bytes().to_vec(), exptime: 1_900_000_000, size: 63 };
        assert_eq!(parse_line(line), Some(expected));
        assert_eq!(parse_line(b"key=k exp=-1 la=1").map(|listed| listed.exptime), Some(0));
    }

    #[test]
    fn the_end_of_a_listing_says_how_many_keys_were_left_out() {
        assert_eq!(
            left_out(b"SERVER_ERROR 113 keys cannot be read and are not listed, see the server's log"),
            Some(113)
        );
        assert_eq!(left_out(b"SERVER_ERROR the keys cannot be listed, see the server's log"), None);
        assert_eq!(left_out(b"END"), None);
    }

    #[test]
    fn what_is_no_line_of_a_metadump_is_refused() {
        for line in ["ERROR", "BUSY currently processing crawler request", "key= exp=-1", "key=%4 exp=-1", "exp=-1", ""]
        {
            assert_eq!(parse_line(line.as_bytes()), None, "{line}");
        }
    }
}
