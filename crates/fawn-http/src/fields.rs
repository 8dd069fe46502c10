//! The fields of a request that mean something here.
//!
//! A field that may come once is refused when it comes twice, even with the same value: two readers could take different ones.

use crate::conditions::EntityTags;
use crate::refusal::{HttpStatus, RequestRefusal};
use httparse::Header;

/// How the length of a request's body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No field says that there is one.
    Absent,
    /// `Content-Length`
    Length(u64),
    /// `Transfer-Encoding: chunked`
    Chunked,
}

/// The fields of a request.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each of a field of its own")]
pub struct Fields<'a> {
    /// Of the body.
    pub framing: Framing,
    /// `Host`
    pub host: Option<&'a str>,
    /// The connection is to be closed after the reply.
    pub close: bool,
    /// `Expect: 100-continue`
    pub expects_continue: bool,
    /// `Expect` anything else.
    pub expects_more: bool,
    /// `Authorization`
    pub authorization: Option<&'a [u8]>,
    /// `If-Match`
    pub if_match: EntityTags,
    /// `If-None-Match`
    pub if_none_match: EntityTags,
    /// `If-Range`
    pub if_range: Option<&'a str>,
    /// `Range`
    pub range: Option<&'a str>,
    /// `Content-Type`
    pub content_type: Option<&'a str>,
    /// The body is encoded, or a part of an item.
    pub is_partial_or_encoded: bool,
    /// `max-age` of `Cache-Control`; 0 if it is no number.
    pub max_age: Option<u32>,
    /// A page of another origin has sent the request.
    pub is_foreign: bool,
}

/// The single fields as they were found.
#[derive(Debug, Default)]
struct SingleFields<'a> {
    content_length: Option<&'a str>,
    transfer_encoding: Option<&'a str>,
    expect: Option<&'a str>,
    origin: Option<&'a str>,
    fetch_site: Option<&'a str>,
}

impl<'a> Fields<'a> {
    /// Reads the fields of a head; `is_old`: of HTTP/1.0.
    ///
    /// # Errors
    /// A refusal after which the connection is closed.
    pub fn read(headers: &[Header<'a>], is_old: bool) -> Result<Self, RequestRefusal> {
        let mut fields = Self {
            framing: Framing::Absent,
            host: None,
            close: is_old,
            expects_continue: false,
            expects_more: false,
            authorization: None,
            if_match: EntityTags::default(),
            if_none_match: EntityTags::default(),
            if_range: None,
            range: None,
            content_type: None,
            is_partial_or_encoded: false,
            max_age: None,
            is_foreign: false,
        };
        let mut found = SingleFields::default();
        for header in headers {
            fields.note(&mut found, header)?;
        }
        fields.framing = framing(&found, is_old)?;
        if fields.host.is_none() && !is_old {
            return Err(RequestRefusal::malformed("send a Host field, as HTTP/1.1 has it"));
        }
        if fields.host.is_some_and(|host| !is_host(host)) {
            return Err(RequestRefusal::malformed("the Host field is not HOST or HOST:PORT"));
        }
        if let Some(expect) = found.expect.filter(|_| !is_old) {
            fields.expects_continue = expect.eq_ignore_ascii_case("100-continue");
            fields.expects_more = !fields.expects_continue;
        }
        let is_foreign_origin = |origin: &str| {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            !authority.zip(fields.host).is_some_and(|(authority, host)| authority.eq_ignore_ascii_case(host))
        };
        fields.is_foreign = found.origin.is_some_and(is_foreign_origin)
            || found.fetch_site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        Ok(fields)
    }

    fn note(&mut self, found: &mut SingleFields<'a>, header: &Header<'a>) -> Result<(), RequestRefusal> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let single = if is("Content-Length") {
            &mut found.content_length
        } else if is("Transfer-Encoding") {
            &mut found.transfer_encoding
        } else if is("Host") {
            &mut self.host
        } else if is("Expect") {
            &mut found.expect
        } else if is("Origin") {
            &mut found.origin
        } else if is("Sec-Fetch-Site") {
            &mut found.fetch_site
        } else if is("Content-Type") {
            &mut self.content_type
        } else if is("Range") {
            &mut self.range
        } else if is("If-Range") {
            &mut self.if_range
        } else if is("Authorization") {
            if self.authorization.replace(header.value).is_some() {
                return Err(TWICE);
            }
            return Ok(());
        } else {
            return self.note_list(header);
        };
        if single.replace(text(header)?).is_some() { Err(TWICE) } else { Ok(()) }
    }

    /// The same for fields that may come several times.
    fn note_list(&mut self, header: &Header<'a>) -> Result<(), RequestRefusal> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let no_tags = |()| RequestRefusal::malformed("entity tags are in quotes, as in If-Match: \"7\", or *");
        if is("Connection") {
            let mut options = text(header)?.split(',');
            self.close |= options.any(|option| option.trim().eq_ignore_ascii_case("close"));
        } else if is("If-Match") {
            self.if_match.add(text(header)?, false).map_err(no_tags)?;
        } else if is("If-None-Match") {
            self.if_none_match.add(text(header)?, true).map_err(no_tags)?;
        } else if is("Content-Range") || (is("Content-Encoding") && !text(header)?.eq_ignore_ascii_case("identity")) {
            self.is_partial_or_encoded = true;
        } else if is("Cache-Control") {
            for directive in text(header)?.split(',') {
                if let Some((name, value)) = directive.split_once('=')
                    && name.trim().eq_ignore_ascii_case("max-age")
                {
                    let digits = value.trim().trim_matches('"');
                    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                    self.max_age = Some(if is_number { digits.parse().unwrap_or(u32::MAX) } else { 0 });
                }
            }
        }
        Ok(())
    }
}

const TWICE: RequestRefusal = RequestRefusal::malformed("a field that may come once comes twice");

fn text<'a>(header: &Header<'a>) -> Result<&'a str, RequestRefusal> {
    let text = std::str::from_utf8(header.value).ok().map(|text| text.trim_matches([' ', '\t']));
    text.filter(|text| text.is_ascii()).ok_or(RequestRefusal::malformed("a field of the request is not ASCII"))
}

fn is_host(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:[]%".contains(&byte))
}

fn framing(found: &SingleFields<'_>, is_old: bool) -> Result<Framing, RequestRefusal> {
    match (found.content_length, found.transfer_encoding) {
        (None, None) => Ok(Framing::Absent),
        (Some(_), Some(_)) => {
            Err(RequestRefusal::malformed("send either Content-Length or Transfer-Encoding, and not both"))
        }
        (Some(digits), None) => {
            let is_number = (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = digits.parse().ok().filter(|_| is_number);
            number.map(Framing::Length).ok_or(RequestRefusal::malformed("Content-Length is not one number"))
        }
        (None, Some(_)) if is_old => Err(RequestRefusal::malformed("HTTP/1.0 has no Transfer-Encoding")),
        (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
        (None, Some(coding)) if coding.to_ascii_lowercase().contains("chunked") => {
            Err(RequestRefusal::malformed("Transfer-Encoding is not chunked alone"))
        }
        (None, Some(_)) => {
            Err(RequestRefusal::new(HttpStatus::NotImplemented, "the only Transfer-Encoding is chunked"))
        }
    }
}
