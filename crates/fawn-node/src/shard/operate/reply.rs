//! What a request came to, as a reply and in the counters.

use super::context::{OperationContext, OperationStep, Wait};
use crate::observe::counters::Counters;
use crate::observe::warnings::RateLimitedLog;
use crate::request::{
    CANNOT_MERGE, ItemInfo, KeyAction, KeyRequest, NO_SPACE, OperationReply, ReplyBody, RequestError, SHORT, STOPPED,
    ShownItem, UNREADABLE, UNWRITABLE, ttl,
};
use crate::shard::recency::LastUse;
use fawn_kv::operation as kv;
use fawn_kv::operation::{Item, MetaGet, Mode, Operation, Outcome};
use fawn_store::flash::FlashError;
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Record};
use fawn_store::{Gate, Refusal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Unreadable items are told of no more often.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The item that a client is shown: `hit` of `item`, whose key was last used at `last`.
pub fn shown_item<'i>(item: &Item<'i>, hit: &kv::Hit, now: u32, last: Option<LastUse>) -> ShownItem<'i> {
    ShownItem {
        value: item.value,
        flags: item.flags,
        cas: hit.cas.resolve(0),
        ttl_before: ttl(hit.expiry_before, now),
        ttl: ttl(hit.expiry, now),
        idle: last.map_or(0, |last| now.saturating_sub(last.at)),
        fetched: last.is_some_and(|last| last.fetched),
        created: hit.created,
        won: hit.won,
        stale: hit.stale,
        already_won: hit.already_won,
        hide_value: hit.same_version,
    }
}

/// What is known about the item of `record`, whose cas is `cas` and whose key was last used at `last_use`.
pub fn info_of(record: &Record<'_>, cas: u64, last_use: Option<LastUse>) -> ItemInfo {
    let stub = if record.kind == Kind::Stub { Stub::decode(record.value) } else { None };
    let value_bytes = stub.map_or(record.value.len(), |stub| stub.bytes as usize);
    ItemInfo { expiry: record.expiry, last_use, cas, flags: record.client_flags, value_bytes }
}

/// Answers [`KeyAction::Inspect`].
pub(super) fn show(
    request: &KeyRequest<'_>,
    current: Option<&Record<'_>>,
    context: &OperationContext<'_>,
    out: &mut Vec<u8>,
) {
    let last = context.recency.get(&request.key);
    let info = current.map(|record| info_of(record, context.cas.of(record), last));
    request.write(out, &ReplyBody::ItemInfo { info, now: context.now.unix });
}

pub(super) fn refused<R>(
    request: &KeyRequest<'_>,
    refusal: &Refusal,
    counters: &Counters,
    out: &mut Vec<u8>,
) -> OperationStep<R> {
    let error = match refusal {
        Refusal::Busy => return OperationStep::Park(Wait::Busy),
        Refusal::OutOfMemory => {
            counters.store_no_memory.add(1);
            RequestError::OutOfMemory
        }
        Refusal::CannotMerge(_) => {
            counters.store_no_memory.add(1);
            CANNOT_MERGE
        }
        Refusal::NoSpace => {
            counters.store_no_space.add(1);
            NO_SPACE
        }
        Refusal::TooLarge => {
            counters.store_too_large.add(1);
            RequestError::TooLarge
        }
        Refusal::Stopped(_) | Refusal::FlushedApart => {
            counters.unavailable.add(1);
            return stopped(request, out);
        }
    };
    request.write_error(out, error);
    OperationStep::Done { gate: Gate::NONE, failed: true }
}

/// Answers a command whose store has stopped before it could begin.
pub(super) fn stopped<R>(request: &KeyRequest<'_>, out: &mut Vec<u8>) -> OperationStep<R> {
    request.write_error(out, STOPPED);
    OperationStep::Done { gate: Gate::NONE, failed: true }
}

/// Appends the answer that an unreadable item gets, and logs why.
pub fn unreadable<R>(request: &KeyRequest<'_>, why: &str, counters: &Counters, out: &mut Vec<u8>) -> OperationStep<R> {
    log_unreadable(why, counters);
    counters.unreadable.add(1);
    request.write_error(out, UNREADABLE);
    OperationStep::Done { gate: Gate::NONE, failed: true }
}

/// Refuses a command whose item cannot be read just now, and logs why.
pub fn short<R>(request: &KeyRequest<'_>, why: &str, counters: &Counters, out: &mut Vec<u8>) -> OperationStep<R> {
    log_short(why);
    counters.refused_busy.add(1);
    request.write_error(out, SHORT);
    OperationStep::Done { gate: Gate::NONE, failed: true }
}

/// Logs, now and then, that a read was refused.
pub fn log_short(why: &str) {
    static LOG: RateLimitedLog = RateLimitedLog::new();
    if let Some(more) = LOG.happened(Instant::now()) {
        tracing::warn!("{why}: the read was refused, and may succeed later{more}");
    }
}

/// Counts an item that cannot be read, and logs why, about once a second at most: a client may ask for it time and again.
pub(super) fn log_unreadable(why: &str, counters: &Counters) {
    static LAST: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    counters.flash_read_errors.add(1);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let untold = match &mut *last {
        Some((at, untold)) if at.elapsed() < LOG_INTERVAL => {
            *untold += 1;
            return;
        }
        last => last.replace((Instant::now(), 0)).map_or(0, |(_, untold)| untold),
    };
    drop(last);
    if untold == 0 {
        tracing::error!("cannot read an item: {why}");
    } else {
        tracing::error!("cannot read an item: {why} ({untold} more commands since the last such line)");
    }
}

/// A large value could not be written.
pub fn unwritable<R>(
    request: &KeyRequest<'_>,
    error: &FlashError,
    counters: &Counters,
    out: &mut Vec<u8>,
) -> OperationStep<R> {
    if *error == FlashError::NoSpace {
        return refused(request, &Refusal::NoSpace, counters, out);
    }
    tracing::error!("cannot write a large value: {error}");
    counters.unreadable.add(1);
    request.write_error(out, UNWRITABLE);
    OperationStep::Done { gate: Gate::NONE, failed: true }
}

/// Writes a reply that does not show the current item.
pub fn write_outcome(request: &KeyRequest<'_>, outcome: &Outcome, appended_cas: u64, now: u32, out: &mut Vec<u8>) {
    if request.action == KeyAction::DeleteOversized {
        return request.write_error(out, RequestError::TooLarge);
    }
    let sent_bytes = request.value_bytes();
    request.write(out, &ReplyBody::Outcome(OperationReply { outcome, appended_cas, sent_bytes, now }));
}

/// Counts a request by what it came to, as memcached does.
pub fn count(request: &KeyRequest<'_>, outcome: Option<&Outcome>, counters: &Counters) {
    let Some(outcome) = outcome else { return };
    let operation = match &request.action {
        KeyAction::Operation(operation) => operation,
        KeyAction::DeleteOversized => return counters.store_too_large.add(1),
        KeyAction::Inspect => return,
    };
    let found = !matches!(outcome, Outcome::NotFound | Outcome::Miss);
    let pair = |hits: &crate::observe::counters::Counter, misses: &crate::observe::counters::Counter| {
        if found { hits.add(1) } else { misses.add(1) }
    };
    match operation {
        Operation::Get | Operation::View(_) => {
            counters.cmd_get.add(1);
            pair(&counters.get_hits, &counters.get_misses);
        }
        Operation::GetAndTouch { .. } | Operation::MetaGet(MetaGet { touch: Some(_), .. }) => {
            counters.cmd_get.add(1);
            counters.cmd_touch.add(1);
            pair(&counters.get_hits, &counters.get_misses);
            pair(&counters.touch_hits, &counters.touch_misses);
        }
        Operation::MetaGet(_) => {
            counters.cmd_get.add(1);
            let made = matches!(outcome, Outcome::Hit(hit) if hit.created);
            if found && !made { counters.get_hits.add(1) } else { counters.get_misses.add(1) }
        }
        Operation::Store(store) => {
            counters.cmd_set.add(1);
            match (store.mode, outcome) {
                (Mode::Cas, Outcome::Stored { .. }) => counters.cas_hits.add(1),
                (Mode::Cas, Outcome::NotFound) => counters.cas_misses.add(1),
                (Mode::Cas, _) => counters.cas_badval.add(1),
                (_, Outcome::Stored { .. }) => counters.set_hits.add(1),
                _ => counters.set_misses.add(1),
            }
        }
        Operation::Touch { .. } => {
            counters.cmd_touch.add(1);
            pair(&counters.touch_hits, &counters.touch_misses);
        }
        Operation::Delete(_) => pair(&counters.delete_hits, &counters.delete_misses),
        Operation::Arithmetic(step) if step.decrement => pair(&counters.decr_hits, &counters.decr_misses),
        Operation::Arithmetic(_) => pair(&counters.incr_hits, &counters.incr_misses),
        Operation::Edit(_) => {
            counters.cmd_set.add(1);
            counters.set_hits.add(1);
        }
    }
}
