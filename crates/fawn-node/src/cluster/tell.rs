//! What a front-end has answered, as a memcached client is told it.

use crate::counters::{Counter, Counters};
use crate::operate::{self, Keyed, count, hit_of, ttl};
use crate::recency::Recency;
use fawn_kv::entry::{Kept, Version};
use fawn_kv::front::Lack;
use fawn_kv::message::Answer;
use fawn_kv::operation::{Append, Decision, Hit, Item, Operation, Outcome, evaluate};
use fawn_memcache::{self as memcache, Command, Limits};
use fawn_store::timekeeper::Time;

/// What an answer is made with.
pub struct Tools<'a> {
    /// Unix second.
    pub now: u32,
    /// What expiries are counted from.
    pub time: Time,
    /// The loop's counters.
    pub counters: &'a Counters,
    /// When keys were last used, through this loop.
    pub recency: &'a mut Recency,
    /// Largest value, bytes.
    pub max_value_bytes: usize,
    /// What the front-end lacks, if it refuses.
    pub lack: Option<Lack>,
}

/// What came of an answer.
#[derive(Debug)]
pub enum Told {
    /// It is written; whether it is an error that stands for a whole line of keys.
    Answered {
        /// See above.
        failed: bool,
    },
    /// What was to look alone has to change something: ask this.
    Write(Operation<'static>),
}

const ANSWERED: Told = Told::Answered { failed: false };

/// Writes the answer to a command.
pub fn answer(keyed: &Keyed<'_>, answer: &Answer, tools: &mut Tools<'_>, out: &mut Vec<u8>) -> Told {
    match answer {
        Answer::Found(kept) => found(keyed, kept.as_deref(), tools, out),
        Answer::Done { outcome, position, shown, .. } => {
            count(keyed, Some(outcome), tools.counters);
            if made_an_item(outcome) {
                tools.counters.total_items.add(1);
            }
            let cas = position.seq.0;
            match (outcome, shown) {
                (Outcome::Hit(hit), shown) if !hit.created => {
                    let (value, flags) = shown.as_ref().map_or((&[][..], 0), |shown| (&shown.value[..], shown.flags));
                    if shown.is_none() && !hit.same_version {
                        return fail(keyed, "SERVER_ERROR the item has changed since, try again", out);
                    }
                    let item = Item { value, flags, expiry: hit.expiry, cas, stale: hit.stale, won: hit.won };
                    let hit = Hit { cas: fawn_kv::operation::Cas::Known(hit.cas.resolve(cas)), ..*hit };
                    keyed.write(
                        out,
                        &memcache::Answer::Hit(hit_of(&item, &hit, tools.now, tools.recency.get(&keyed.key))),
                    );
                }
                (outcome, _) => {
                    if matches!(outcome, Outcome::Stored { .. } | Outcome::Number(_)) {
                        tools.recency.stored(&keyed.key, tools.now);
                    }
                    operate::tell(keyed, outcome, cas, tools.now, out);
                }
            }
            ANSWERED
        }
        Answer::TooLarge => {
            tools.counters.store_too_large.add(1);
            keyed.write(out, &memcache::Answer::TooLarge);
            Told::Answered { failed: true }
        }
        other => {
            refusal(other, tools.counters).add(1);
            fail(keyed, reason(other, tools.lack), out)
        }
    }
}

/// Whether memcached would count it as another item.
fn made_an_item(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Stored { .. } | Outcome::Number(_))
}

/// What counts operations that get no answer, or an error.
fn refusal<'c>(answer: &Answer, counters: &'c Counters) -> &'c Counter {
    match answer {
        Answer::Busy => &counters.refused_busy,
        Answer::Full => &counters.store_no_space,
        Answer::Unreadable => &counters.unreadable,
        Answer::Unknown { .. } => &counters.outcome_unknown,
        Answer::TimedOut => &counters.timed_out,
        _ => &counters.unavailable,
    }
}

fn fail(keyed: &Keyed<'_>, line: &'static str, out: &mut Vec<u8>) -> Told {
    keyed.write(out, &memcache::Answer::Error(line));
    Told::Answered { failed: true }
}

/// A command that gives something a time to live where the range's time is ahead.
const AHEAD: &str = "SERVER_ERROR the expiry clock of this key's range is ahead of the system clock: retry in half \
    a minute, see fawn status";

/// What a client is told that gets no answer.
fn reason(answer: &Answer, lack: Option<Lack>) -> &'static str {
    match (answer, lack) {
        (Answer::Busy, Some(Lack::Manager)) => {
            return "SERVER_ERROR no manager has admitted this front-end yet, try again";
        }
        (Answer::Busy, Some(Lack::Owner)) => return "SERVER_ERROR no front-end owns this key yet, try again",
        (Answer::Busy, Some(Lack::Chain)) => {
            return "SERVER_ERROR the cluster has no chain for this key yet, see fawn status";
        }
        _ => {}
    }
    match answer {
        Answer::TooFew => "SERVER_ERROR too few replicas are up for writes, see fawn status",
        Answer::Busy => "SERVER_ERROR too many requests are in flight, try again",
        Answer::Full => "SERVER_ERROR no space left on the device, delete something or enlarge it",
        Answer::Unreadable => "SERVER_ERROR the item cannot be read from flash, try again",
        Answer::Ahead { .. } => AHEAD,
        Answer::Unknown { .. } => {
            "SERVER_ERROR outcome unknown: the write may have been applied; read the key before retrying"
        }
        Answer::Conditional => {
            "CLIENT_ERROR this cluster is weak and refuses cas, add, replace, append, prepend, incr and decr: use \
            set and delete"
        }
        Answer::TimedOut => {
            "SERVER_ERROR no answer in time, outcome unknown: the command may have been applied; \
            look before retrying"
        }
        _ => "SERVER_ERROR the cluster is changing, try again",
    }
}

/// Writes what a get has found.
fn found(keyed: &Keyed<'_>, kept: Option<&Kept>, tools: &mut Tools<'_>, out: &mut Vec<u8>) -> Told {
    let item = kept.and_then(|kept| Some((kept.version.as_ref()?, kept.position.seq.0)));
    let item = item.map(|(version, seq)| (version, item_of(version, seq)));
    let Some(operation) = operate::operation(&keyed.command, tools.time) else {
        debug(keyed, item.map(|(version, item)| (version, item.cas)), tools, out);
        return ANSWERED;
    };
    // What has expired was judged by the range's time.
    let Decision { append, outcome } = evaluate(&operation, item.map(|(_, item)| item), 0, tools.max_value_bytes);
    if append != Append::Nothing {
        let Operation::MetaGet(get) = operation else { unreachable!("other commands that look change nothing") };
        return Told::Write(Operation::MetaGet(get));
    }
    count(keyed, Some(&outcome), tools.counters);
    match (outcome, item) {
        (Outcome::Hit(hit), Some((_, item))) => {
            let last = matches!(keyed.command, Command::MetaGet(_)).then(|| tools.recency.get(&keyed.key)).flatten();
            keyed.write(out, &memcache::Answer::Hit(hit_of(&item, &hit, tools.now, last)));
            if !matches!(keyed.command, Command::MetaGet(get) if get.untraced) {
                tools.recency.fetched(&keyed.key, tools.now);
            }
        }
        (outcome, _) => operate::tell(keyed, &outcome, 0, tools.now, out),
    }
    ANSWERED
}

fn item_of(version: &Version, seq: u64) -> Item<'_> {
    Item {
        value: &version.value,
        flags: version.flags,
        expiry: version.expiry,
        cas: version.client_cas.unwrap_or(seq),
        stale: version.stale,
        won: version.won,
    }
}

/// Answers `me`.
fn debug(keyed: &Keyed<'_>, found: Option<(&Version, u64)>, tools: &Tools<'_>, out: &mut Vec<u8>) {
    let last = tools.recency.get(&keyed.key);
    let debug = |(version, cas): (&Version, u64)| memcache::Debug {
        expiry: ttl(version.expiry, tools.now),
        access: last.map_or(0, |last| tools.now.saturating_sub(last.at)),
        cas,
        fetched: last.is_some_and(|last| last.fetched),
        class: 1,
        size: Limits::item_size(keyed.name.len(), version.flags, version.value.len()) as u64,
        flags: version.flags,
    };
    keyed.write(out, &found.map_or(memcache::Answer::Miss, |found| memcache::Answer::Debug(debug(found))));
}
