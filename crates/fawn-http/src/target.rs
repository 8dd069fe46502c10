//! Request targets: a path, and parameters behind it.

use crate::MOST_KEY_BYTES;
use crate::refusal::{HttpStatus, RequestRefusal};

/// What a target names. Its key is decoded into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// An item.
    Key,
    /// A counter.
    Counter,
    /// Several keys.
    Batch,
    /// The server as a whole.
    Server,
}

impl Resource {
    /// The methods that it has.
    pub fn allow(self) -> &'static str {
        match self {
            Self::Key => "GET, HEAD, PUT, DELETE, OPTIONS",
            Self::Counter | Self::Batch => "POST, OPTIONS",
            Self::Server => "OPTIONS",
        }
    }
}

/// A target that was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// What it names.
    pub resource: Resource,
    /// `format=json`
    pub json: bool,
    /// `by=N`: the step of a counter, downwards if it is true.
    pub by: Option<(u64, bool)>,
}

/// A path beyond this server's.
const UNKNOWN: RequestRefusal =
    RequestRefusal::new(HttpStatus::NotFound, "no such path: use /v1/keys/KEY, /v1/counters/KEY or /v1/batch");

/// Whether the target has a form that this server takes: a path, or `*`.
///
/// # Errors
/// A refusal after which the connection is closed.
pub fn check(target: &str) -> Result<(), RequestRefusal> {
    if target != "*" && !target.starts_with('/') {
        return Err(RequestRefusal::malformed("send a path as the request's target, as in GET /v1/keys/KEY HTTP/1.1"));
    }
    if !target.bytes().all(|byte| byte.is_ascii_graphic() && !b"#\\\"<>^`{|}".contains(&byte)) {
        return Err(RequestRefusal::malformed("percent-encode whatever a path may not contain"));
    }
    Ok(())
}

/// What `target` names; its key goes into `key`.
///
/// # Errors
/// A refusal, which leaves the connection in step.
pub fn parse(target: &str, key: &mut Vec<u8>) -> Result<Target, RequestRefusal> {
    key.clear();
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let (resource, encoded) = if let Some(encoded) = path.strip_prefix("/v1/keys/") {
        (Resource::Key, encoded)
    } else if let Some(encoded) = path.strip_prefix("/v1/counters/") {
        (Resource::Counter, encoded)
    } else {
        match path {
            "/v1/batch" => (Resource::Batch, ""),
            "*" => (Resource::Server, ""),
            _ => return Err(UNKNOWN),
        }
    };
    if matches!(resource, Resource::Key | Resource::Counter) {
        decode(encoded, key)?;
    }
    let mut target = Target { resource, json: false, by: None };
    for parameter in query.into_iter().flat_map(|query| query.split('&')) {
        match (resource, parameter.split_once('=')) {
            (Resource::Key, Some(("format", "json"))) => target.json = true,
            (Resource::Counter, Some(("by", number))) if target.by.is_none() => target.by = Some(step(number)?),
            _ => {
                return Err(RequestRefusal::new(
                    HttpStatus::BadRequest,
                    "unknown parameter: ?format=json is of keys, ?by=N of counters",
                ));
            }
        }
    }
    Ok(target)
}

/// The bytes of a key in a path.
fn decode(encoded: &str, key: &mut Vec<u8>) -> Result<(), RequestRefusal> {
    let mut bytes = encoded.bytes();
    while let Some(byte) = bytes.next() {
        let decoded = if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            match (digit(bytes.next()), digit(bytes.next())) {
                (Some(high), Some(low)) => (high << 4 | low) as u8,
                _ => {
                    return Err(RequestRefusal::new(
                        HttpStatus::BadRequest,
                        "a % in the path is not followed by two digits",
                    ));
                }
            }
        } else {
            byte
        };
        if key.len() == MOST_KEY_BYTES {
            return Err(RequestRefusal::new(
                HttpStatus::UriTooLong,
                "the key has more than 250 bytes: use a shorter one",
            ));
        }
        key.push(decoded);
    }
    if key.is_empty() {
        return Err(RequestRefusal::new(HttpStatus::NotFound, "name a key: /v1/keys/KEY"));
    }
    Ok(())
}

/// The step of a counter, and whether it goes down.
fn step(text: &str) -> Result<(u64, bool), RequestRefusal> {
    let (digits, down) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_number);
    let number =
        number.ok_or(RequestRefusal::new(HttpStatus::BadRequest, "?by= takes a whole number of at most 64 bits"))?;
    Ok((number, down))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_any_bytes_and_paths_have_no_meaning_within_them() {
        for (target, key) in [
            ("/v1/keys/a", &b"a"[..]),
            ("/v1/keys/a/b/../%2e%2e%2Fc", b"a/b/../../c"),
            ("/v1/keys/%00%ff%25", b"\0\xff%"),
            ("/v1/keys/a+b;c=d", b"a+b;c=d"),
        ] {
            let mut found = Vec::new();
            assert_eq!(parse(target, &mut found).unwrap().resource, Resource::Key);
            assert_eq!(found, key);
        }
        let (mut key, longest) = (Vec::new(), "%41".repeat(250));
        assert!(parse(&format!("/v1/keys/{longest}"), &mut key).is_ok() && key.len() == 250);
        assert_eq!(parse(&format!("/v1/keys/{longest}A"), &mut key).unwrap_err().status, HttpStatus::UriTooLong);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (target, status) in [
            ("/", 404),
            ("/v1/keys/", 404),
            ("/v1/keys", 404),
            ("/v2/keys/a", 404),
            ("/v1/keys/%", 400),
            ("/v1/keys/%4", 400),
            ("/v1/keys/%+4", 400),
            ("/v1/keys/a?format=xml", 400),
            ("/v1/keys/a?", 400),
            ("/v1/keys/a?by=1", 400),
            ("/v1/counters/a?by=", 400),
            ("/v1/counters/a?by=1&by=2", 400),
            ("/v1/counters/a?by=%2B1", 400),
            ("/v1/counters/a?by=18446744073709551616", 400),
            ("/v1/batch?a", 400),
        ] {
            assert_eq!(parse(target, &mut Vec::new()).unwrap_err().status as u16, status, "{target}");
        }
        assert_eq!(parse("/v1/counters/a?by=-3", &mut Vec::new()).unwrap().by, Some((3, true)));
    }
}
