//! What a front-end has answered, as the reply to a client.

use crate::observe::counters::{Counter, Counters};
use crate::request::{ItemInfo, KeyRequest, ReplyBody, RequestError};
use crate::shard::operate::{self, count, shown_item};
use crate::shard::recency::{LastUse, Recency};
use fawn_kv::frontend::Lack;
use fawn_kv::operation::{Append, Decision, Hit, Item, Operation, Outcome, evaluate};
use fawn_kv::range::entry::{Kept, Version};
use fawn_kv::wire::Answer;

/// What an answer is made with.
pub struct ReplyContext<'a> {
    /// Unix second.
    pub now: u32,
    /// The loop's counters.
    pub counters: &'a Counters,
    /// When keys were last used, through this loop.
    pub recency: &'a mut Recency,
    /// Largest value, bytes.
    pub max_value_bytes: usize,
    /// What the front-end lacks, if it refuses.
    pub lack: Option<Lack>,
}

/// What a front-end's answer leads to.
#[derive(Debug)]
pub enum ReplyStep {
    /// The reply is written.
    Answered {
        /// The reply is an error that stands for a whole line of keys.
        failed: bool,
    },
    /// A request that was to look alone has to change something: this is to be asked.
    Write(Operation<'static>),
}

/// A retry of an edit that was carried out, and whose answer nobody has any more.
const ANSWER_LOST: &str = "the command was applied, but its reply was lost: read the key";

const ANSWERED: ReplyStep = ReplyStep::Answered { failed: false };

/// Writes the answer to a command.
pub fn answer(
    request: &KeyRequest<'_>,
    answer: &Answer,
    context: &mut ReplyContext<'_>,
    out: &mut Vec<u8>,
) -> ReplyStep {
    match answer {
        Answer::Found(kept) => found(request, kept.as_deref(), context, out),
        Answer::Done { outcome, position, shown, .. } => {
            count(request, Some(outcome), context.counters);
            if made_an_item(outcome) {
                context.counters.total_items.add(1);
            }
            let cas = position.seq.0;
            match (outcome, shown) {
                (Outcome::Hit(hit), shown) if !hit.created => {
                    let (value, flags) = shown.as_ref().map_or((&[][..], 0), |shown| (&shown.value[..], shown.flags));
                    if shown.is_none() && !hit.same_version {
                        return fail(request, RequestError::Server("the item has changed since, try again"), out);
                    }
                    let item = Item { value, flags, expiry: hit.expiry, cas, stale: hit.stale, won: hit.won };
                    let hit = Hit { cas: fawn_kv::operation::Cas::Known(hit.cas.resolve(cas)), ..*hit };
                    let last = context.recency.get(&request.key);
                    request.write(out, &ReplyBody::Item(shown_item(&item, &hit, context.now, last)));
                }
                (Outcome::Computed, Some(shown)) => request.write(out, &ReplyBody::Computed(&shown.value)),
                (Outcome::Computed, None) => return fail(request, RequestError::Server(ANSWER_LOST), out),
                (outcome, _) => {
                    if matches!(outcome, Outcome::Stored { .. } | Outcome::Number(_)) {
                        context.recency.stored(&request.key, context.now);
                    }
                    operate::write_outcome(request, outcome, cas, context.now, out);
                }
            }
            ANSWERED
        }
        Answer::TooLarge => {
            context.counters.store_too_large.add(1);
            fail(request, RequestError::TooLarge, out)
        }
        other => fail(request, failure(other, context.lack, context.counters), out),
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

/// Counts a request that gets no answer; what its client is told.
pub fn failure(answer: &Answer, lack: Option<Lack>, counters: &Counters) -> RequestError<'static> {
    refusal(answer, counters).add(1);
    reason(answer, lack)
}

fn fail(request: &KeyRequest<'_>, error: RequestError<'_>, out: &mut Vec<u8>) -> ReplyStep {
    request.write_error(out, error);
    ReplyStep::Answered { failed: true }
}

/// A command that gives something a time to live where the range's time is ahead.
const AHEAD: &str =
    "the expiry clock of this key's range is ahead of the system clock: retry in half a minute, see fawn status";

/// What a client is told that gets no answer.
fn reason(answer: &Answer, lack: Option<Lack>) -> RequestError<'static> {
    let text = match (answer, lack) {
        (Answer::Busy, Some(Lack::Manager)) => "no manager has admitted this front-end yet, try again",
        (Answer::Busy, Some(Lack::Owner)) => "no front-end owns this key yet, try again",
        (Answer::Busy, Some(Lack::Chain)) => "the cluster has no chain for this key yet, see fawn status",
        (Answer::Busy, _) => "too many requests are in flight, try again",
        (Answer::TooFew, _) => "too few replicas are up for writes, see fawn status",
        (Answer::Full, _) => "no space left on the device, delete something or enlarge it",
        (Answer::Unreadable, _) => "the item cannot be read from flash, try again",
        (Answer::Ahead { .. }, _) => AHEAD,
        (Answer::NeedsUpgrade, _) => NEEDS_UPGRADE,
        (Answer::Unknown { .. }, _) => "outcome unknown: the write may have been applied; read the key before retrying",
        (Answer::TimedOut, _) => {
            "no answer in time, outcome unknown: the command may have been applied; look before retrying"
        }
        (Answer::Conditional, _) => return RequestError::Client(CONDITIONAL),
        _ => "the cluster is changing, try again",
    };
    RequestError::Server(text)
}

/// A command that reads or changes a part of a value, while not everybody is known to speak the version that brought those.
const NEEDS_UPGRADE: &str =
    "not all processes of this cluster have a release with this command: upgrade them, see fawn status";

/// A request whose outcome depends on what is there, in a weak cluster.
const CONDITIONAL: &str =
    "this cluster is weak and refuses cas, add, replace, append, prepend, incr and decr: use set and delete";

/// Writes what a get has found.
fn found(
    request: &KeyRequest<'_>,
    kept: Option<&Kept>,
    context: &mut ReplyContext<'_>,
    out: &mut Vec<u8>,
) -> ReplyStep {
    let item = kept.and_then(|kept| Some((kept.version.as_ref()?, kept.position.seq.0)));
    let item = item.map(|(version, seq)| (version, item_of(version, seq)));
    let Some(operation) = request.action.operation() else {
        let last_use = context.recency.get(&request.key);
        let info = item.map(|(version, item)| info_of(version, item.cas, last_use));
        request.write(out, &ReplyBody::ItemInfo { info, now: context.now });
        return ANSWERED;
    };
    // What has expired was judged by the range's time.
    let Decision { append, outcome, shown } =
        evaluate(operation, item.map(|(_, item)| item), 0, context.max_value_bytes);
    if append != Append::Nothing {
        let Operation::MetaGet(get) = *operation else { unreachable!("other commands that look change nothing") };
        return ReplyStep::Write(Operation::MetaGet(get));
    }
    count(request, Some(&outcome), context.counters);
    match (outcome, item) {
        (Outcome::Hit(hit), Some((_, item))) => {
            let last = request.is_meta_get().then(|| context.recency.get(&request.key)).flatten();
            request.write(out, &ReplyBody::Item(shown_item(&item, &hit, context.now, last)));
            if !request.is_untraced() {
                context.recency.fetched(&request.key, context.now);
            }
        }
        (Outcome::Computed, _) => request.write(out, &ReplyBody::Computed(&shown)),
        (outcome, _) => operate::write_outcome(request, &outcome, 0, context.now, out),
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

/// What is known about the item of a version, whose cas is `cas` and whose key was last used at `last_use`.
pub fn info_of(version: &Version, cas: u64, last_use: Option<LastUse>) -> ItemInfo {
    let Version { expiry, flags, ref value, .. } = *version;
    ItemInfo { expiry, last_use, cas, flags, value_bytes: value.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_no_manager_owner_or_chain_yet_says_so_in_a_plain_sentence() {
        for (lack, says) in [
            (Some(Lack::Manager), "no manager has admitted this front-end yet, try again"),
            (Some(Lack::Owner), "no front-end owns this key yet, try again"),
            (Some(Lack::Chain), "the cluster has no chain for this key yet, see fawn status"),
            (None, "too many requests are in flight, try again"),
        ] {
            assert_eq!(reason(&Answer::Busy, lack), RequestError::Server(says));
            let RequestError::Server(of_few) = reason(&Answer::TooFew, lack) else { panic!("the server refuses") };
            assert!(of_few.starts_with("too few replicas"), "that says more: {lack:?}");
        }
    }
}
