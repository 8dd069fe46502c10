//! What requests came to, as replies of HTTP.

use super::Http;
use crate::request::{
    CANNOT_MERGE, ItemInfo, ListingDetail, NO_SPACE, OperationReply, ReplyBody, ReplyState, ReplyWriter, RequestError,
    ttl,
};
use fawn_http::{FoundItem, HttpStatus, ItemFacts, Responder, append_error};
use fawn_kv::operation::Outcome;

impl ReplyWriter for Http {
    fn write(&self, state: &ReplyState, out: &mut Vec<u8>, name: &[u8], body: &ReplyBody<'_>) {
        let responder = Responder::from_bytes(state);
        match body {
            ReplyBody::Item(item) => {
                let found = FoundItem { value: item.value, flags: item.flags, cas: item.cas, ttl: item.ttl };
                responder.item(out, name, &found);
            }
            ReplyBody::ItemInfo { info: None, .. } => responder.missing(out, name),
            ReplyBody::ItemInfo { info: Some(info), now } => {
                let ItemInfo { cas, flags, value_bytes: length, expiry, .. } = *info;
                responder.facts(out, &ItemFacts { length, flags, cas, ttl: ttl(expiry, *now) });
            }
            ReplyBody::Outcome(reply) => write_outcome(&responder, out, name, reply),
            ReplyBody::Error(error) => {
                let (status, text) = reason(error);
                responder.fail(out, status, text, None);
            }
            // The reply is that to the request itself.
            ReplyBody::Authenticated => {}
            ReplyBody::AuthenticationFailed => {
                responder.fail(
                    out,
                    HttpStatus::Unauthorized,
                    "user or password is wrong: see the server's --auth-file",
                    None,
                );
            }
            ReplyBody::Computed(_)
            | ReplyBody::Figures(_)
            | ReplyBody::Keys(_)
            | ReplyBody::Moved(_)
            | ReplyBody::Ok
            | ReplyBody::Reset => {
                unreachable!("requests of HTTP look at whole values, and are for keys")
            }
        }
    }

    fn write_error(&self, out: &mut Vec<u8>, error: &RequestError<'_>) {
        append_error(out, reason(error).0);
    }

    fn write_stat(&self, _: &mut Vec<u8>, _: &str, _: &str) {}

    fn stats_end(&self) -> &'static [u8] {
        b""
    }

    fn write_listed(&self, _: &mut Vec<u8>, _: &[u8], _: Option<&ItemInfo>) {}

    fn listing_end(&self, _: ListingDetail) -> &'static [u8] {
        b""
    }

    fn version(&self) -> &'static str {
        "1.1"
    }
}

fn write_outcome(responder: &Responder, out: &mut Vec<u8>, name: &[u8], reply: &OperationReply<'_>) {
    match reply.outcome {
        Outcome::Stored { cas, .. } => responder.stored(out, cas.resolve(reply.appended_cas)),
        Outcome::Deleted => responder.deleted(out),
        Outcome::Miss | Outcome::NotFound => responder.missing(out, name),
        Outcome::NotStored | Outcome::Exists => responder.unmet(out),
        Outcome::Number(number) => responder.number(out, number.value, number.cas.resolve(reply.appended_cas)),
        Outcome::NonNumeric => responder.no_number(out),
        Outcome::Hit(_) | Outcome::Touched | Outcome::Integer(_) | Outcome::Computed | Outcome::Refused(_) => {
            unreachable!("requests of HTTP look at whole values, and touch none")
        }
    }
}

/// Why a request failed, as a status and a sentence.
fn reason<'e>(error: &RequestError<'e>) -> (HttpStatus, &'e str) {
    match *error {
        RequestError::TooLarge => (HttpStatus::ContentTooLarge, "the value exceeds --max-item-size"),
        RequestError::OutOfMemory => {
            (HttpStatus::InsufficientStorage, "out of memory: raise --memory, or delete something")
        }
        RequestError::Server(text) if *error == NO_SPACE || *error == CANNOT_MERGE => {
            (HttpStatus::InsufficientStorage, text)
        }
        RequestError::Server(text) => (HttpStatus::ServiceUnavailable, text),
        // What the cluster does not do at all, such as conditions in a weak one.
        RequestError::Client(text) => (HttpStatus::NotImplemented, text),
    }
}
