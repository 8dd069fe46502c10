//! What a command came to, as an answer and in the counters.

use super::{Bench, Keyed, Step, Wait};
use crate::advice::Seldom;
use crate::counters::Counters;
use crate::recency::Use;
use fawn_kv::operation::{self as kv, Item, Outcome};
use fawn_memcache::{Answer, Command, Debug, Hit, Limits, MetaGet, Mode, Number};
use fawn_store::flash::FlashError;
use fawn_store::large::Stub;
use fawn_store::record::{Kind, Record};
use fawn_store::{Gate, Refusal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Unreadable items are told of no more often.
const SELDOM: Duration = Duration::from_secs(1);

/// The hit that a client is shown: `hit` of `item`, whose key was last used at `last`.
pub fn hit_of<'i>(item: &Item<'i>, hit: &kv::Hit, now: u32, last: Option<Use>) -> Hit<'i> {
    Hit {
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

/// Seconds left; `None` for never.
pub fn ttl(expiry: u32, now: u32) -> Option<u32> {
    (expiry != 0).then(|| expiry.saturating_sub(now))
}

/// Bytes of an item, as memcached counts them.
pub fn item_size(record: &Record<'_>) -> u64 {
    let stub = if record.kind == Kind::Stub { Stub::decode(record.value) } else { None };
    let value = stub.map_or(record.value.len(), |stub| stub.bytes as usize);
    Limits::item_size(record.key.len(), record.client_flags, value) as u64
}

/// Answers `me`.
pub(super) fn show(keyed: &Keyed<'_>, current: Option<&Record<'_>>, bench: &Bench<'_>, out: &mut Vec<u8>) {
    let now = bench.now.unix;
    let last = bench.recency.get(&keyed.key);
    let debug = |record: &Record<'_>| Debug {
        expiry: ttl(record.expiry, now),
        access: last.map_or(0, |last| now.saturating_sub(last.at)),
        cas: bench.cas.of(record),
        fetched: last.is_some_and(|last| last.fetched),
        class: 1,
        size: item_size(record),
        flags: record.client_flags,
    };
    keyed.write(out, &current.map_or(Answer::Miss, |record| Answer::Debug(debug(record))));
}

pub(super) fn refused<R>(keyed: &Keyed<'_>, refusal: &Refusal, counters: &Counters, out: &mut Vec<u8>) -> Step<R> {
    let answer = match refusal {
        Refusal::Busy => return Step::Park(Wait::Busy),
        Refusal::OutOfMemory => {
            counters.store_no_memory.add(1);
            Answer::OutOfMemory
        }
        Refusal::CannotMerge(_) => {
            counters.store_no_memory.add(1);
            Answer::Error(CANNOT_MERGE)
        }
        Refusal::NoSpace => {
            counters.store_no_space.add(1);
            Answer::Error(NO_SPACE)
        }
        Refusal::TooLarge => {
            counters.store_too_large.add(1);
            Answer::TooLarge
        }
        Refusal::Stopped(_) | Refusal::FlushedApart => {
            counters.unavailable.add(1);
            return stopped(keyed, out);
        }
    };
    keyed.write(out, &answer);
    Step::Done { gate: Gate::NONE, failed: true }
}

/// A put that finds only the reserve left.
pub const NO_SPACE: &str = "SERVER_ERROR no space left on the device, delete something or enlarge it";

/// A put that finds the index full of what merges cannot take out of it.
pub const CANNOT_MERGE: &str = "SERVER_ERROR out of memory since merges fail, see the server's log";

/// A put to a store that has stopped.
pub const STOPPED: &str = "SERVER_ERROR the store has stopped after a failed write, see the server's log";

/// A command that gives something a time to live, on a machine whose clock was never set.
pub const CLOCK_NOT_SET: &str =
    "SERVER_ERROR the server's clock is not set, so items cannot have a time to live: set the clock";

/// A flush that some stores did not take.
pub const FLUSH_FAILED: &str = "SERVER_ERROR flush_all failed, see the server's log\r\n";

/// Answers a command whose store has stopped before it could begin.
pub(super) fn stopped<R>(keyed: &Keyed<'_>, out: &mut Vec<u8>) -> Step<R> {
    keyed.write(out, &Answer::Error(STOPPED));
    Step::Done { gate: Gate::NONE, failed: true }
}

/// [`STOPPED`] as a whole answer.
pub fn stopped_line() -> Vec<u8> {
    [STOPPED.as_bytes(), b"\r\n"].concat()
}

/// A get whose pages cannot be read or are damaged.
pub const UNREADABLE: &str = "SERVER_ERROR the item cannot be read from flash, see the server's log";

/// Appends the answer that an unreadable item gets, and logs why.
pub fn unreadable<R>(keyed: &Keyed<'_>, why: &str, counters: &Counters, out: &mut Vec<u8>) -> Step<R> {
    note_unreadable(why, counters);
    counters.unreadable.add(1);
    keyed.write(out, &Answer::Error(UNREADABLE));
    Step::Done { gate: Gate::NONE, failed: true }
}

/// A command whose item is not read, as the system is short of something.
pub const SHORT: &str = "SERVER_ERROR the server is short of file descriptors or memory, try again";

/// Refuses a command whose item cannot be read just now, and logs why.
pub fn short<R>(keyed: &Keyed<'_>, why: &str, counters: &Counters, out: &mut Vec<u8>) -> Step<R> {
    tell_short(why);
    counters.refused_busy.add(1);
    keyed.write(out, &Answer::Error(SHORT));
    Step::Done { gate: Gate::NONE, failed: true }
}

/// Logs, now and then, that a read was refused.
pub fn tell_short(why: &str) {
    static TOLD: Seldom = Seldom::new();
    if let Some(more) = TOLD.happened(Instant::now()) {
        tracing::warn!("{why}: the read was refused, and may succeed later{more}");
    }
}

/// Counts an item that cannot be read, and logs why, about once a second at most: a client may ask for it time and again.
pub(super) fn note_unreadable(why: &str, counters: &Counters) {
    static LAST: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    counters.flash_read_errors.add(1);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let untold = match &mut *last {
        Some((at, untold)) if at.elapsed() < SELDOM => {
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
pub fn unwritable<R>(keyed: &Keyed<'_>, error: &FlashError, counters: &Counters, out: &mut Vec<u8>) -> Step<R> {
    if *error == FlashError::NoSpace {
        return refused(keyed, &Refusal::NoSpace, counters, out);
    }
    tracing::error!("cannot write a large value: {error}");
    counters.unreadable.add(1);
    keyed.write(out, &Answer::Error("SERVER_ERROR the value cannot be written to flash, see the server's log"));
    Step::Done { gate: Gate::NONE, failed: true }
}

/// Writes an answer that does not show the current item.
pub fn tell(keyed: &Keyed<'_>, outcome: &Outcome, appended_cas: u64, now: u32, out: &mut Vec<u8>) {
    let size = if let Command::Store(store) = &keyed.command { store.value.len() } else { 0 };
    let answer = match outcome {
        _ if matches!(keyed.command, Command::ValueTooLarge(_)) => Answer::TooLarge,
        Outcome::Stored { cas, size } => Answer::Stored { cas: cas.resolve(appended_cas), size: *size },
        Outcome::NotStored => Answer::NotStored { size },
        Outcome::Exists => Answer::Exists { size },
        Outcome::NotFound => Answer::NotFound { size },
        Outcome::Deleted => Answer::Deleted,
        Outcome::Touched => Answer::Touched,
        Outcome::Number(number) => Answer::Number(Number {
            value: number.value,
            cas: number.cas.resolve(appended_cas),
            ttl_before: ttl(number.expiry_before, now),
            ttl: ttl(number.expiry, now),
            created: number.created,
        }),
        Outcome::NonNumeric => Answer::NonNumeric,
        Outcome::Hit(hit) => Answer::Hit(Hit {
            cas: hit.cas.resolve(appended_cas),
            ttl_before: ttl(hit.expiry_before, now),
            ttl: ttl(hit.expiry, now),
            created: hit.created,
            won: hit.won,
            ..Hit::of(b"")
        }),
        Outcome::Miss => Answer::Miss,
    };
    keyed.write(out, &answer);
}

/// Counts a command by what it came to, as memcached does.
pub fn count(keyed: &Keyed<'_>, outcome: Option<&Outcome>, counters: &Counters) {
    let Some(outcome) = outcome else { return };
    let found = !matches!(outcome, Outcome::NotFound | Outcome::Miss);
    let pair = |hits: &crate::counters::Counter, misses: &crate::counters::Counter| {
        if found { hits.add(1) } else { misses.add(1) }
    };
    match &keyed.command {
        Command::Get => {
            counters.cmd_get.add(1);
            pair(&counters.get_hits, &counters.get_misses);
        }
        Command::GetAndTouch(_) | Command::MetaGet(MetaGet { touch: Some(_), .. }) => {
            counters.cmd_get.add(1);
            counters.cmd_touch.add(1);
            pair(&counters.get_hits, &counters.get_misses);
            pair(&counters.touch_hits, &counters.touch_misses);
        }
        Command::MetaGet(_) => {
            counters.cmd_get.add(1);
            let made = matches!(outcome, Outcome::Hit(hit) if hit.created);
            if found && !made { counters.get_hits.add(1) } else { counters.get_misses.add(1) }
        }
        Command::Store(store) => {
            counters.cmd_set.add(1);
            match (store.mode, outcome) {
                (Mode::Cas, Outcome::Stored { .. }) => counters.cas_hits.add(1),
                (Mode::Cas, Outcome::NotFound) => counters.cas_misses.add(1),
                (Mode::Cas, _) => counters.cas_badval.add(1),
                (_, Outcome::Stored { .. }) => counters.set_hits.add(1),
                _ => counters.set_misses.add(1),
            }
        }
        Command::Touch(_) => {
            counters.cmd_touch.add(1);
            pair(&counters.touch_hits, &counters.touch_misses);
        }
        Command::Delete(_) => pair(&counters.delete_hits, &counters.delete_misses),
        Command::Arithmetic(step) if step.decrement => pair(&counters.decr_hits, &counters.decr_misses),
        Command::Arithmetic(_) => pair(&counters.incr_hits, &counters.incr_misses),
        Command::ValueTooLarge(_) => counters.store_too_large.add(1),
        _ => {}
    }
}
