//! From a head to what is to be done: the resource, its method, its conditions.

use crate::conditions::{EntityTags, strong_tag};
use crate::fields::{Fields, Framing};
use crate::head::{Method, RequestHead};
use crate::media_type;
use crate::range::ByteRange;
use crate::refusal::{HttpStatus, RequestRefusal};
use crate::responder::{ReplyKind, Responder, TagCondition};
use crate::target::{self, Resource};

/// How a put treats what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// Store always.
    Set,
    /// Store where nothing is.
    Add,
    /// Store over something.
    Replace,
    /// Store over the version with this cas.
    Cas(u64),
}

/// What a request asks for, without key and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// An item.
    Get,
    /// What is known of an item.
    Inspect,
    /// To store the body.
    Store {
        /// What it does with an existing item.
        mode: StoreMode,
        /// The client flags that name the body's media type.
        flags: u32,
        /// Seconds until the item expires.
        max_age: Option<u32>,
    },
    /// To delete an item: only the version with this cas, if there is one.
    Delete {
        /// The cas.
        compare: Option<u64>,
    },
    /// To step a counter.
    Count {
        /// By how much.
        delta: u64,
        /// Downwards.
        decrement: bool,
    },
    /// To get the keys that the body names.
    Batch,
    /// To name the methods.
    Options(&'static str),
}

/// Where a plan is.
pub type PlanResult = Result<(Plan, Responder), RequestRefusal>;

const BAD: HttpStatus = HttpStatus::BadRequest;

/// What `head` asks for. Its key goes into `key`. `responder` is that of a refusal.
///
/// # Errors
/// A refusal that leaves the connection in step.
pub fn plan(head: &RequestHead<'_>, key: &mut Vec<u8>, responder: Responder) -> PlanResult {
    key.clear();
    let Some(method) = head.method else {
        return Err(RequestRefusal::new(
            HttpStatus::NotImplemented,
            "this server knows GET, HEAD, PUT, DELETE, POST and OPTIONS",
        ));
    };
    let target = target::parse(head.target, key)?;
    let fields = &head.fields;
    if method == Method::Options {
        return Ok((Plan::Options(target.resource.allow()), responder));
    }
    if fields.expects_more {
        return Err(RequestRefusal::new(HttpStatus::ExpectationFailed, "the only expectation is 100-continue"));
    }
    if fields.is_foreign && method.is_unsafe() {
        let text = "a page of another origin has sent this: only pages of this server may change anything";
        return Err(RequestRefusal::new(HttpStatus::Forbidden, text));
    }
    match (target.resource, method) {
        (Resource::Key, Method::Get | Method::Head) => show(fields, method, target.json, responder),
        (Resource::Key, Method::Put) if !target.json => put(fields, responder),
        (Resource::Key, Method::Delete) if !target.json => delete(fields, responder),
        (Resource::Key, Method::Put | Method::Delete) => {
            Err(RequestRefusal::new(BAD, "?format=json is of GET and HEAD"))
        }
        (Resource::Counter, Method::Post) => {
            refuse_conditions(fields)?;
            let (delta, decrement) = target.by.unwrap_or((1, false));
            let responder = Responder { kind: ReplyKind::Count, ..responder };
            Ok((Plan::Count { delta, decrement }, responder))
        }
        (Resource::Batch, Method::Post) => {
            refuse_conditions(fields)?;
            if fields.framing == Framing::Absent {
                return Err(NO_LENGTH);
            }
            Ok((Plan::Batch, Responder { kind: ReplyKind::Batch, ..responder }))
        }
        (resource, _) => Err(RequestRefusal {
            allow: Some(resource.allow()),
            ..RequestRefusal::new(HttpStatus::MethodNotAllowed, "this path does not have that method: see Allow")
        }),
    }
}

const NO_LENGTH: RequestRefusal = RequestRefusal::new(
    HttpStatus::LengthRequired,
    "say how long the body is: Content-Length, or Transfer-Encoding: chunked",
);

fn refuse_conditions(fields: &Fields<'_>) -> Result<(), RequestRefusal> {
    if fields.if_match.given || fields.if_none_match.given {
        return Err(RequestRefusal::new(BAD, "If-Match and If-None-Match are of /v1/keys/KEY"));
    }
    Ok(())
}

fn refuse_both(fields: &Fields<'_>) -> Result<(), RequestRefusal> {
    if fields.if_match.given && fields.if_none_match.given {
        return Err(RequestRefusal::new(BAD, "send either If-Match or If-None-Match"));
    }
    Ok(())
}

fn show(fields: &Fields<'_>, method: Method, json: bool, responder: Responder) -> PlanResult {
    refuse_both(fields)?;
    let (condition, tags) = if fields.if_match.given {
        (TagCondition::Match, fields.if_match)
    } else if fields.if_none_match.given {
        (TagCondition::NoneMatch, fields.if_none_match)
    } else {
        (TagCondition::Always, EntityTags::default())
    };
    if tags.too_many && condition == TagCondition::Match {
        return Err(RequestRefusal::new(BAD, "If-Match has more than 3 tags of this server"));
    }
    let is_get = method == Method::Get;
    let range = fields.range.filter(|_| is_get && !json).and_then(ByteRange::parse);
    // A tag that is not of this server is that of another version.
    let if_range = fields.if_range.map(|value| strong_tag(value).unwrap_or(0));
    let responder = Responder {
        kind: if json { ReplyKind::Json } else { ReplyKind::Value },
        is_head: !is_get,
        condition,
        any: tags.any,
        tags: tags.numbers,
        tag_count: tags.count,
        range,
        if_range,
        ..responder
    };
    Ok((if is_get || json { Plan::Get } else { Plan::Inspect }, responder))
}

/// The one cas that `If-Match` names. 0, which no item has, for a tag that no item can have.
fn one_cas(tags: &EntityTags) -> Result<u64, RequestRefusal> {
    match tags.as_slice() {
        [] => Ok(0),
        [cas] => Ok(*cas),
        _ => Err(RequestRefusal::new(BAD, "a change compares with one version: send one tag in If-Match")),
    }
}

fn put(fields: &Fields<'_>, responder: Responder) -> PlanResult {
    refuse_both(fields)?;
    if fields.framing == Framing::Absent {
        return Err(NO_LENGTH);
    }
    if fields.is_partial_or_encoded {
        let text = "values are kept as they come: leave out Content-Encoding and Content-Range";
        return Err(RequestRefusal::new(HttpStatus::UnsupportedMediaType, text));
    }
    let (if_match, if_none_match) = (&fields.if_match, &fields.if_none_match);
    let mode = if if_none_match.given {
        if !if_none_match.any {
            return Err(RequestRefusal::new(BAD, "a put has If-None-Match: *, or If-Match with a tag or *"));
        }
        StoreMode::Add
    } else if if_match.any {
        StoreMode::Replace
    } else if if_match.given {
        StoreMode::Cas(one_cas(if_match)?)
    } else {
        StoreMode::Set
    };
    let flags = match fields.content_type {
        None => 0,
        Some(content_type) => media_type::flags_of(content_type).ok_or(RequestRefusal::new(
            HttpStatus::UnsupportedMediaType,
            "this media type cannot be kept: send a common one, or application/octet-stream",
        ))?,
    };
    let max_age = fields.max_age;
    if max_age == Some(0) {
        return Err(RequestRefusal::new(BAD, "max-age of a put is 1 or more seconds"));
    }
    let kind = if mode == StoreMode::Add { ReplyKind::Add } else { ReplyKind::Put };
    Ok((Plan::Store { mode, flags, max_age }, Responder { kind, ..responder }))
}

fn delete(fields: &Fields<'_>, responder: Responder) -> PlanResult {
    if fields.if_none_match.given {
        return Err(RequestRefusal::new(BAD, "a delete has If-Match alone"));
    }
    let compare = (fields.if_match.given && !fields.if_match.any).then(|| one_cas(&fields.if_match)).transpose()?;
    let condition = if fields.if_match.given { TagCondition::Match } else { TagCondition::Always };
    Ok((Plan::Delete { compare }, Responder { kind: ReplyKind::Delete, condition, ..responder }))
}
