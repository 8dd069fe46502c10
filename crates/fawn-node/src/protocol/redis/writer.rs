//! Replies to requests, as the bytes of the protocol.

use super::error::{self, CommandError};
use super::reply_state::{Late, LateError, Missing, ReplyHead, ReplyKind};
use super::{greeting, info, values};
use crate::request::{
    ItemInfo, KeyPage, ListingDetail, MoveOutcome, ReplyBody, ReplyState, ReplyWriter, RequestError, ShownItem,
};
use fawn_kv::operation::hash::is_hash;
use fawn_kv::operation::{EditError, Outcome};
use fawn_resp::reply;

/// The protocol.
pub static REDIS: Redis = Redis;

/// Redis's protocol.
#[derive(Debug)]
pub struct Redis;

impl ReplyWriter for Redis {
    #[inline]
    fn write(&self, state: &ReplyState, out: &mut Vec<u8>, name: &[u8], body: &ReplyBody<'_>) {
        let head = ReplyHead::decode(state);
        if head.is_muted {
            return;
        }
        if let ReplyKind::ArrayValue { begins: count @ 1.. } = head.kind
            && !matches!(body, ReplyBody::Error(_))
        {
            reply::array(out, count as usize);
        }
        match body {
            ReplyBody::Item(item) => write_item(&head, out, item),
            ReplyBody::Outcome(outcome) => write_outcome(&head, out, outcome.outcome, outcome.now),
            ReplyBody::Computed(bytes) => write_computed(&head, out, bytes),
            ReplyBody::ItemInfo { info, now } => write_info(&head, out, name, info.as_ref(), *now),
            ReplyBody::Figures(figures) => match head.kind {
                ReplyKind::Info { sections } => info::write(out, figures, sections, head.version),
                _ => reply::integer(out, figures.keys.cast_signed()),
            },
            ReplyBody::Keys(page) => write_keys(&head, out, page),
            ReplyBody::Moved(outcome) => write_moved(&head, out, *outcome),
            ReplyBody::Error(error) => self.write_error(out, error),
            ReplyBody::Ok | ReplyBody::Reset => reply::simple(out, "OK"),
            ReplyBody::Authenticated => match head.kind {
                ReplyKind::Hello { id } => greeting::write_greeting(out, head.version, id),
                _ => reply::simple(out, "OK"),
            },
            ReplyBody::AuthenticationFailed => error::WRONG_PASSWORD.write(out),
        }
    }

    fn write_error(&self, out: &mut Vec<u8>, error: &RequestError<'_>) {
        match *error {
            RequestError::TooLarge => error::TOO_LONG.write(out),
            RequestError::OutOfMemory => {
                reply::error(out, b"OOM command not allowed when used memory > 'maxmemory'.");
            }
            RequestError::Server(text) | RequestError::Client(text) => {
                reply::error(out, format!("ERR {text}").as_bytes());
            }
        }
    }

    fn write_stat(&self, out: &mut Vec<u8>, name: &str, value: &str) {
        reply::bulk(out, format!("{name}:{value}").as_bytes());
    }

    fn stats_end(&self) -> &'static [u8] {
        b""
    }

    fn write_listed(&self, out: &mut Vec<u8>, name: &[u8], _: Option<&ItemInfo>) {
        reply::bulk(out, name);
    }

    fn listing_end(&self, _: ListingDetail) -> &'static [u8] {
        b""
    }

    fn version(&self) -> &'static str {
        greeting::VERSION
    }
}

/// A get's find.
#[inline]
fn write_item(head: &ReplyHead, out: &mut Vec<u8>, item: &ShownItem<'_>) {
    let is_hash = is_hash(item.flags, item.value);
    match head.kind {
        ReplyKind::Encoding => reply::bulk(out, values::encoding(item.value, is_hash).as_bytes()),
        ReplyKind::ArrayValue { .. } if is_hash => reply::null(out, head.version),
        _ if is_hash => error::WRONG_TYPE.write(out),
        _ => reply::bulk(out, item.value),
    }
}

/// What an operation came to, beside bytes.
fn write_outcome(head: &ReplyHead, out: &mut Vec<u8>, outcome: &Outcome, now: u32) {
    let is_done = match outcome {
        Outcome::Integer(number) => return write_number(head, out, *number, now),
        Outcome::Refused(why) => return refusal(*why).write(out),
        Outcome::Miss => return write_missing(head, out),
        Outcome::Stored { .. } | Outcome::Deleted | Outcome::Touched | Outcome::Hit(_) => true,
        Outcome::Number(number) => return reply::integer(out, number.value.cast_signed()),
        Outcome::NotStored | Outcome::NotFound | Outcome::Exists | Outcome::NonNumeric | Outcome::Computed => false,
    };
    match (head.kind, is_done) {
        (ReplyKind::Integer, _) => reply::integer(out, is_done.into()),
        (_, true) => reply::simple(out, "OK"),
        (_, false) => reply::null(out, head.version),
    }
}

fn write_number(head: &ReplyHead, out: &mut Vec<u8>, number: i64, now: u32) {
    match head.kind {
        ReplyKind::Status => reply::simple(out, "OK"),
        ReplyKind::Presence => reply::integer(out, (number != -2).into()),
        ReplyKind::Expiry { millis, absolute } if number >= 0 => {
            // Whole seconds that are left: part of the second now is over.
            let from = if absolute { 0 } else { i64::from(now) + 1 };
            let seconds = (number - from).max(0);
            reply::integer(out, if millis { seconds * 1000 } else { seconds });
        }
        _ => reply::integer(out, number),
    }
}

/// There is no such key, or no such field.
fn write_missing(head: &ReplyHead, out: &mut Vec<u8>) {
    match head.kind {
        ReplyKind::Type => reply::simple(out, "none"),
        ReplyKind::Integer | ReplyKind::Presence => reply::integer(out, 0),
        ReplyKind::Late(Late { missing, .. }) => match missing {
            Missing::Null => reply::null(out, head.version),
            Missing::Zero => reply::integer(out, 0),
            Missing::MinusOne => reply::integer(out, -1),
            Missing::EmptyScan => values::write_scan(out, b""),
        },
        _ => reply::null(out, head.version),
    }
}

/// Bytes that an operation has computed.
fn write_computed(head: &ReplyHead, out: &mut Vec<u8>, bytes: &[u8]) {
    match head.kind {
        ReplyKind::Type => reply::simple(out, &String::from_utf8_lossy(bytes)),
        ReplyKind::List => values::write_list(out, bytes, head.version),
        ReplyKind::Numbers => values::write_numbers(out, bytes, head.version),
        ReplyKind::Map => values::write_map(out, bytes, head.version),
        ReplyKind::Pairs => values::write_pairs(out, bytes, head.version),
        ReplyKind::First => values::write_first(out, bytes, head.version),
        ReplyKind::Scan => values::write_scan(out, bytes),
        ReplyKind::Late(late) if bytes == late.error.of_type() => late_error(late.error).write(out),
        ReplyKind::Late(_) => error::WRONG_TYPE.write(out),
        ReplyKind::Presence => reply::integer(out, 1),
        _ => reply::bulk(out, bytes),
    }
}

/// Keys of a scan.
fn write_keys(head: &ReplyHead, out: &mut Vec<u8>, page: &KeyPage) {
    match head.kind {
        ReplyKind::OneKey => return values::write_first(out, &page.names, head.version),
        ReplyKind::Page => {
            reply::array(out, 2);
            reply::bulk(out, page.cursor.to_string().as_bytes());
        }
        _ => {}
    }
    values::write_list(out, &page.names, head.version);
}

/// What came of moving a value.
fn write_moved(head: &ReplyHead, out: &mut Vec<u8>, outcome: MoveOutcome) {
    match (outcome, head.kind) {
        (MoveOutcome::Done, ReplyKind::Renamed) => reply::simple(out, "OK"),
        (MoveOutcome::Done, _) => reply::integer(out, 1),
        (MoveOutcome::TargetExists, _) | (MoveOutcome::NoSource, ReplyKind::Copied) => reply::integer(out, 0),
        (MoveOutcome::NoSource, _) => reply::error(out, b"ERR no such key"),
        (MoveOutcome::SourceChanged, _) => {
            reply::error(out, b"ERR the source was changed meanwhile, so both keys are there now");
        }
    }
}

/// What is known about an item.
fn write_info(head: &ReplyHead, out: &mut Vec<u8>, name: &[u8], info: Option<&ItemInfo>, now: u32) {
    let Some(info) = info else { return reply::null(out, head.version) };
    match head.kind {
        ReplyKind::RefCount => reply::integer(out, 1),
        ReplyKind::IdleTime => match info.last_use {
            Some(last) => reply::integer(out, now.saturating_sub(last.at).into()),
            None => reply::error(out, b"ERR the server does not remember when this key was last used"),
        },
        ReplyKind::Frequency => reply::error(
            out,
            b"ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching \
              between policies at runtime LRU and LFU data will take some time to adjust.",
        ),
        _ => {
            let bytes = fawn_memcache::SessionLimits::item_size(name.len(), info.flags, info.value_bytes);
            reply::integer(out, bytes.cast_signed() as i64);
        }
    }
}

/// Why a view or an edit was refused.
fn refusal(why: EditError) -> CommandError {
    match why {
        EditError::WrongType => error::WRONG_TYPE,
        EditError::NotInteger => error::NOT_INTEGER,
        EditError::NotFloat | EditError::Malformed => error::NOT_FLOAT,
        EditError::FieldNotInteger => CommandError::text("ERR hash value is not an integer"),
        EditError::FieldNotFloat => CommandError::text("ERR hash value is not a float"),
        EditError::Overflow => CommandError::text("ERR increment or decrement would overflow"),
        EditError::NotFinite => CommandError::text("ERR increment would produce NaN or Infinity"),
        EditError::TooLong => error::TOO_LONG,
    }
}

fn late_error(error: LateError) -> CommandError {
    match error {
        LateError::Syntax | LateError::HashSyntax => error::SYNTAX,
        LateError::NotInteger | LateError::HashNotInteger => error::NOT_INTEGER,
        LateError::ExpireTime => CommandError::expire_time("getex"),
    }
}
