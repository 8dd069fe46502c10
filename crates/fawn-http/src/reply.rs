//! Replies.

use crate::date;
use crate::media_type;
use crate::refusal::{HttpStatus, RequestRefusal};
use crate::responder::{ReplyKind, Responder, TagCondition};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What every item is sent with: nobody guesses its type, and a page that a client stored runs no scripts and has no origin.
const SECURITY: &[u8] = b"X-Content-Type-Options: nosniff\r\nContent-Security-Policy: sandbox\r\n";

/// An item that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundItem<'a> {
    /// Its value.
    pub value: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// The version's cas.
    pub cas: u64,
    /// Seconds until it expires; `None` for never.
    pub ttl: Option<u32>,
}

/// What is known about an item beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemFacts {
    /// Bytes of the value.
    pub length: usize,
    /// The client's flags.
    pub flags: u32,
    /// The version's cas.
    pub cas: u64,
    /// Seconds until it expires; `None` for never.
    pub ttl: Option<u32>,
}

/// No item.
const MISS: RequestRefusal = RequestRefusal::new(HttpStatus::NotFound, "there is no item with this key");
/// A condition that does not hold.
const FAILED: RequestRefusal =
    RequestRefusal::new(HttpStatus::PreconditionFailed, "the item is not as If-Match or If-None-Match has it");

impl Responder {
    /// Appends a status line, and the fields of every reply.
    fn begin(&self, out: &mut Vec<u8>, status: HttpStatus) {
        push(out, &["HTTP/1.1 ", status.line(), "\r\n"]);
        date::append(out, self.date);
        out.extend_from_slice(b"Server: fawn\r\n");
        if self.close {
            out.extend_from_slice(b"Connection: close\r\n");
        }
    }

    /// Appends the length and the body.
    fn end(&self, out: &mut Vec<u8>, body: &[u8]) {
        push_number(out, "Content-Length: ", body.len() as u64, "\r\n\r\n");
        if !self.is_head {
            out.extend_from_slice(body);
        }
    }

    /// Appends a refusal.
    pub fn refuse(&self, out: &mut Vec<u8>, refusal: &RequestRefusal) {
        self.fail(out, refusal.status, refusal.text, refusal.allow);
    }

    /// Appends an error with a sentence for people.
    pub fn fail(&self, out: &mut Vec<u8>, status: HttpStatus, text: &str, allow: Option<&str>) {
        self.begin(out, status);
        if let Some(allow) = allow {
            push(out, &["Allow: ", allow, "\r\n"]);
        }
        match status {
            HttpStatus::Unauthorized => {
                out.extend_from_slice(b"WWW-Authenticate: Basic realm=\"fawn\", charset=\"UTF-8\"\r\n");
            }
            HttpStatus::ServiceUnavailable => out.extend_from_slice(b"Retry-After: 1\r\n"),
            _ => {}
        }
        out.extend_from_slice(b"Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n");
        out.extend_from_slice(b"X-Content-Type-Options: nosniff\r\n");
        self.end(out, &[text.as_bytes(), b"\n"].concat());
    }

    /// Appends the methods of a resource.
    pub fn options(&self, out: &mut Vec<u8>, allow: &str) {
        self.begin(out, HttpStatus::NoContent);
        push(out, &["Allow: ", allow, "\r\n\r\n"]);
    }

    /// Appends the reply where the request's condition decides it.
    fn decided(&self, out: &mut Vec<u8>, cas: u64, ttl: Option<u32>) -> bool {
        match self.condition {
            TagCondition::Match if !self.matches(cas) => self.refuse(out, &FAILED),
            TagCondition::NoneMatch if self.matches(cas) => {
                self.begin(out, HttpStatus::NotModified);
                push_version(out, cas, ttl);
                out.extend_from_slice(b"\r\n");
            }
            _ => return false,
        }
        true
    }

    /// Appends the reply to a get that found `item` under `key`.
    pub fn item(&self, out: &mut Vec<u8>, key: &[u8], item: &FoundItem<'_>) {
        if self.kind == ReplyKind::Batch {
            return self.part(out, key, Some(item));
        }
        if self.decided(out, item.cas, item.ttl) {
            return;
        }
        if self.kind == ReplyKind::Json {
            let mut text = Vec::new();
            json(&mut text, key, Some(item));
            self.begin(out, HttpStatus::Ok);
            push_version(out, item.cas, item.ttl);
            out.extend_from_slice(b"Content-Type: application/json\r\n");
            out.extend_from_slice(SECURITY);
            return self.end(out, &text);
        }
        let wanted = self.range.filter(|_| self.if_range.is_none_or(|cas| cas == item.cas));
        match wanted.map(|range| range.of(item.value.len())) {
            None => {
                self.begin(out, HttpStatus::Ok);
                push_description(out, item.flags, item.cas, item.ttl);
                self.end(out, item.value);
            }
            Some(Some(bytes)) => {
                self.begin(out, HttpStatus::PartialContent);
                let (first, last, length) = (bytes.start, bytes.end - 1, item.value.len());
                push(out, &["Content-Range: bytes ", &format!("{first}-{last}/{length}"), "\r\n"]);
                push_description(out, item.flags, item.cas, item.ttl);
                self.end(out, &item.value[bytes]);
            }
            Some(None) => {
                self.begin(out, HttpStatus::RangeNotSatisfiable);
                push_number(out, "Content-Range: bytes */", item.value.len() as u64, "\r\n");
                self.end(out, b"");
            }
        }
    }

    /// Appends the reply to a HEAD.
    pub fn facts(&self, out: &mut Vec<u8>, facts: &ItemFacts) {
        if !self.decided(out, facts.cas, facts.ttl) {
            self.begin(out, HttpStatus::Ok);
            push_description(out, facts.flags, facts.cas, facts.ttl);
            push_number(out, "Content-Length: ", facts.length as u64, "\r\n\r\n");
        }
    }

    /// Appends the reply to a request for an item that does not exist.
    pub fn missing(&self, out: &mut Vec<u8>, key: &[u8]) {
        match (self.kind, self.condition) {
            (ReplyKind::Batch, _) => self.part(out, key, None),
            (ReplyKind::Put | ReplyKind::Add, _) | (_, TagCondition::Match) => self.refuse(out, &FAILED),
            _ => self.refuse(out, &MISS),
        }
    }

    /// Appends the reply to a change whose condition did not hold.
    pub fn unmet(&self, out: &mut Vec<u8>) {
        self.refuse(out, &FAILED);
    }

    /// Appends the reply to a put.
    pub fn stored(&self, out: &mut Vec<u8>, cas: u64) {
        let is_new = self.kind == ReplyKind::Add;
        self.begin(out, if is_new { HttpStatus::Created } else { HttpStatus::NoContent });
        push_number(out, "ETag: \"", cas, "\"\r\n");
        out.extend_from_slice(if is_new { b"Content-Length: 0\r\n\r\n" } else { b"\r\n" });
    }

    /// Appends the reply to a delete.
    pub fn deleted(&self, out: &mut Vec<u8>) {
        self.begin(out, HttpStatus::NoContent);
        out.extend_from_slice(b"\r\n");
    }

    /// Appends a counter's value, which is a JSON number.
    pub fn number(&self, out: &mut Vec<u8>, value: u64, cas: u64) {
        self.begin(out, HttpStatus::Ok);
        push_number(out, "ETag: \"", cas, "\"\r\n");
        out.extend_from_slice(b"Content-Type: application/json\r\nCache-Control: no-store\r\n");
        out.extend_from_slice(SECURITY);
        self.end(out, itoa::Buffer::new().format(value).as_bytes());
    }

    /// Appends the reply of a counter whose value is no number.
    pub fn no_number(&self, out: &mut Vec<u8>) {
        let text = "the item is not a number of at most 64 bits: put one, or delete it";
        self.refuse(out, &RequestRefusal::new(HttpStatus::Conflict, text));
    }

    /// Appends the reply to a batch without keys.
    pub fn empty_batch(&self, out: &mut Vec<u8>) {
        self.begin(out, HttpStatus::Ok);
        out.extend_from_slice(b"Content-Type: application/json\r\nCache-Control: no-store\r\n");
        out.extend_from_slice(SECURITY);
        self.end(out, b"{\"items\":[]}");
    }

    /// Appends one item of a batch: a chunk. The first has the reply's head before it, the last the end behind it. So a batch
    /// may leave while parts of it are missing, and is cut short, which clients notice, if one of those fails.
    fn part(&self, out: &mut Vec<u8>, key: &[u8], item: Option<&FoundItem<'_>>) {
        let mut text = Vec::new();
        text.extend_from_slice(if self.is_first { b"{\"items\":[" } else { b"," });
        json(&mut text, key, item);
        if self.is_last {
            text.extend_from_slice(b"]}");
        }
        if self.is_first {
            self.begin(out, HttpStatus::Ok);
            out.extend_from_slice(b"Content-Type: application/json\r\nCache-Control: no-store\r\n");
            out.extend_from_slice(SECURITY);
            out.extend_from_slice(if self.is_old { b"\r\n" } else { b"Transfer-Encoding: chunked\r\n\r\n" });
        }
        if self.is_old {
            return out.extend_from_slice(&text);
        }
        out.extend_from_slice(format!("{:x}\r\n", text.len()).as_bytes());
        out.extend_from_slice(&text);
        out.extend_from_slice(if self.is_last { b"\r\n0\r\n\r\n" } else { b"\r\n" });
    }
}

/// Appends an error to a request that is not at hand any more. It has no body, as it may be the reply to a HEAD.
pub fn append_error(out: &mut Vec<u8>, status: HttpStatus) {
    push(out, &["HTTP/1.1 ", status.line(), "\r\nServer: fawn\r\nContent-Length: 0\r\n\r\n"]);
}

/// Appends what tells a version from others, and for how long it is good.
fn push_version(out: &mut Vec<u8>, cas: u64, ttl: Option<u32>) {
    push_number(out, "ETag: \"", cas, "\"\r\n");
    match ttl {
        Some(seconds) => push_number(out, "Cache-Control: max-age=", u64::from(seconds), "\r\n"),
        None => out.extend_from_slice(b"Cache-Control: no-cache\r\n"),
    }
}

/// Appends what is said of every value.
fn push_description(out: &mut Vec<u8>, flags: u32, cas: u64, ttl: Option<u32>) {
    push_version(out, cas, ttl);
    let (media_type, charset) = media_type::of_flags(flags);
    push(out, &["Content-Type: ", media_type, charset, "\r\nAccept-Ranges: bytes\r\n"]);
    out.extend_from_slice(SECURITY);
}

fn push(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

fn push_number(out: &mut Vec<u8>, before: &str, number: u64, after: &str) {
    push(out, &[before, itoa::Buffer::new().format(number), after]);
}

/// Appends an item as JSON, under the names that `fawn load` has for its parts.
fn json(out: &mut Vec<u8>, key: &[u8], item: Option<&FoundItem<'_>>) {
    out.push(b'{');
    json_bytes(out, "key", key);
    let Some(item) = item else { return out.extend_from_slice(b",\"value\":null}") };
    out.push(b',');
    json_bytes(out, "value", item.value);
    let (media_type, charset) = media_type::of_flags(item.flags);
    push(out, &[",\"type\":\"", media_type, charset, "\""]);
    push_number(out, ",\"flags\":", u64::from(item.flags), "");
    // A number of JavaScript has 53 bits.
    push_number(out, ",\"cas\":\"", item.cas, "\"");
    match item.ttl {
        Some(seconds) => push_number(out, ",\"max_age\":", u64::from(seconds), "}"),
        None => out.extend_from_slice(b",\"max_age\":null}"),
    }
}

/// Appends `"NAME":"TEXT"`, or `"NAME_base64":"BASE64"` of what is no UTF-8.
fn json_bytes(out: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        push(out, &["\"", name, "\":"]);
        serde_json::to_writer(&mut *out, text).expect("text can be written into memory");
    } else {
        push(out, &["\"", name, "_base64\":\"", &STANDARD.encode(bytes), "\""]);
    }
}
