//! Heads of requests: where they end, and what they say.
//!
//! `httparse` reads the syntax. What it is lenient about and readers could understand differently is refused here before: line
//! ends other than CR LF.

use crate::fields::Fields;
use crate::refusal::{HttpStatus, RequestRefusal};
use crate::target;
use memchr::memchr2_iter;

/// The longest head, in bytes.
pub const MOST_HEAD_BYTES: usize = 8 << 10;
/// The longest first line. A key takes 750 bytes at most.
pub const MOST_LINE_BYTES: usize = 4 << 10;
/// Most fields of a head.
const MOST_FIELDS: usize = 64;

/// Methods that are known, named as RFC 9110 names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Head,
    Put,
    Delete,
    Post,
    Options,
    /// One that exists and that no resource here has.
    Other,
}

impl Method {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "PUT" => Self::Put,
            "DELETE" => Self::Delete,
            "POST" => Self::Post,
            "OPTIONS" => Self::Options,
            "PATCH" | "TRACE" | "CONNECT" => Self::Other,
            _ => return None,
        })
    }

    /// Whether it may change something.
    pub fn is_unsafe(self) -> bool {
        matches!(self, Self::Put | Self::Delete | Self::Post)
    }
}

/// A head that was understood.
#[derive(Debug)]
pub struct RequestHead<'a> {
    /// The method; `None`: an unknown one.
    pub method: Option<Method>,
    /// The target.
    pub target: &'a str,
    /// It is of HTTP/1.0.
    pub is_old: bool,
    /// The fields.
    pub fields: Fields<'a>,
}

/// Where the head at the start of `input` ends; `None`: not yet.
///
/// # Errors
/// It will never be a head.
pub fn find_end(input: &[u8]) -> Result<Option<usize>, RequestRefusal> {
    let seen = &input[..input.len().min(MOST_HEAD_BYTES)];
    let mut line_start = 0;
    for at in memchr2_iter(b'\r', b'\n', seen) {
        if seen[at] == b'\r' {
            if seen.get(at + 1).is_some_and(|next| *next != b'\n') {
                return Err(RequestRefusal::malformed("end each line with CR LF: a CR stands alone"));
            }
            continue;
        }
        if at == 0 || seen[at - 1] != b'\r' {
            return Err(RequestRefusal::malformed("end each line with CR LF: an LF stands alone"));
        }
        if line_start == 0 && at > MOST_LINE_BYTES {
            return Err(TOO_LONG);
        }
        if at - 1 == line_start && line_start > 0 {
            return Ok(Some(at + 1));
        }
        line_start = at + 1;
    }
    if line_start == 0 && seen.len() > MOST_LINE_BYTES {
        return Err(TOO_LONG);
    }
    if seen.len() == MOST_HEAD_BYTES {
        return Err(RequestRefusal::new(HttpStatus::HeaderFieldsTooLarge, "the request's head has more than 8 KiB"));
    }
    Ok(None)
}

const TOO_LONG: RequestRefusal =
    RequestRefusal::new(HttpStatus::UriTooLong, "the request's first line has more than 4 KiB");

/// Reads a whole head.
///
/// # Errors
/// A refusal after which the connection is closed.
pub fn parse(head: &[u8]) -> Result<RequestHead<'_>, RequestRefusal> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(bytes)) if bytes == head.len() => {}
        Ok(_) => return Err(RequestRefusal::malformed("an empty line comes before the request's first line")),
        Err(error) => return Err(refusal_of(error, head)),
    }
    let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version) else {
        return Err(RequestRefusal::malformed("the request's first line is not METHOD PATH HTTP/1.1"));
    };
    target::check(path)?;
    if path == "*" && method != "OPTIONS" {
        return Err(RequestRefusal::malformed("only OPTIONS has the target *"));
    }
    let is_old = version == 0;
    let fields = Fields::read(request.headers, is_old)?;
    Ok(RequestHead { method: Method::parse(method), target: path, is_old, fields })
}

fn refusal_of(error: httparse::Error, head: &[u8]) -> RequestRefusal {
    match error {
        httparse::Error::TooManyHeaders => {
            RequestRefusal::new(HttpStatus::HeaderFieldsTooLarge, "the request has more than 64 fields")
        }
        httparse::Error::Version if names_another_version(head) => {
            RequestRefusal::new(HttpStatus::VersionNotSupported, "this server speaks HTTP/1.1 and HTTP/1.0")
        }
        httparse::Error::HeaderName | httparse::Error::HeaderValue => {
            RequestRefusal::malformed("a field of the request is not NAME: VALUE")
        }
        _ => RequestRefusal::malformed("the request's first line is not METHOD PATH HTTP/1.1"),
    }
}

/// Whether the first line ends with a version of HTTP.
fn names_another_version(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let version = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    matches!(version, [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit())
}
