//! What an answer says of the server: whether it is right, and which count it belongs to.

use fawn_memcache::client::CheckedReply;
use fawn_workload::version_of;

use crate::context::PhaseContext;
use crate::mix::RequestPurpose;
use crate::protocol::key;
use crate::stats::{AnswerFault, OperationStats};

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// From when the latency of its operation counts.
    pub due_ns: u64,
    /// From when its own does: later, of the second half of a modify.
    pub asked_ns: u64,
    /// The entry.
    pub index: u64,
    /// Of a set its version, of a get the floor.
    pub version: u32,
    /// What it is for.
    pub kind: RequestPurpose,
}

impl InFlight {
    /// Whether the second half of a modify follows this answer. Where there is no value, there is nothing to modify.
    #[inline]
    pub fn goes_on(&self, answer: CheckedReply<'_>) -> bool {
        self.kind == RequestPurpose::ModifyGet && matches!(answer, CheckedReply::Value(_))
    }
}

/// Adds the latencies of a request that ended with this answer, and of its operation if that ended with it.
#[inline]
pub fn time(stats: &mut OperationStats, flight: &InFlight, answer: CheckedReply<'_>, now_ns: u64) {
    stats.of_mut(flight.kind).latencies.add_ns(now_ns.saturating_sub(flight.asked_ns));
    if flight.kind.is_half() && !flight.goes_on(answer) {
        stats.modifies.latencies.add_ns(now_ns.saturating_sub(flight.due_ns));
    }
}

/// What an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerVerdict {
    /// Whether it answers what was asked: a refusal does not, nor does a value that cannot be, and is neither throughput nor a
    /// latency.
    pub is_answered: bool,
    /// What is wrong with it.
    pub fault: Option<AnswerFault>,
}

/// Counts an answer, and looks whether it is right.
#[inline]
pub fn note(
    shared: &PhaseContext<'_>,
    stats: &mut OperationStats,
    flight: &InFlight,
    answer: CheckedReply<'_>,
    counts: bool,
) -> AnswerVerdict {
    let fault = look(shared, stats, flight, answer);
    let is_answered = !matches!(fault, Some(AnswerFault::Wrong | AnswerFault::Refused));
    let counts = counts && is_answered;
    stats.misses += u64::from(counts && fault == Some(AnswerFault::NotFound));
    stats.of_mut(flight.kind).answered += u64::from(counts);
    match flight.kind {
        RequestPurpose::Get | RequestPurpose::ModifyGet => {}
        RequestPurpose::Set | RequestPurpose::ModifySet => {
            shared.versions.end_set(flight.index, flight.version, answer == CheckedReply::Stored);
        }
        RequestPurpose::Insert => shared.newest.end_insert(flight.index),
    }
    if flight.kind.is_half() && !flight.goes_on(answer) {
        stats.modifies.answered += u64::from(counts);
    }
    AnswerVerdict { is_answered, fault }
}

/// What is wrong with an answer, if anything is.
#[inline]
fn look(
    shared: &PhaseContext<'_>,
    stats: &mut OperationStats,
    flight: &InFlight,
    answer: CheckedReply<'_>,
) -> Option<AnswerFault> {
    match answer {
        CheckedReply::Stored => return None,
        CheckedReply::Miss => return Some(AnswerFault::NotFound),
        CheckedReply::Value(value) => match shared.shown {
            // All the work is done whose cost is of interest.
            Some((index, version)) => {
                std::hint::black_box(shared.versions.is_possible(flight.index, flight.version, version));
                if version_of(index, value) == Some(version) {
                    return None;
                }
                stats.wrong.add(|| "the server that does nothing shows another value".to_owned());
            }
            None => match version_of(flight.index, value) {
                Some(version) if shared.versions.is_possible(flight.index, flight.version, version) => return None,
                found => stats.wrong.add(|| tell_wrong(shared, flight, found)),
            },
        },
        CheckedReply::OtherLength(length) => stats.wrong.add(|| {
            format!("key {} has a value of {length} bytes, not {}", name(flight.index), shared.plan.value_bytes)
        }),
        CheckedReply::OtherKey => {
            stats.wrong.add(|| format!("a get of key {} was answered with another key", name(flight.index)));
        }
        CheckedReply::Refused(line) => {
            let asked = flight.kind.asked().name();
            stats.refused.add(|| format!("a {asked} of key {}: {}", name(flight.index), String::from_utf8_lossy(line)));
            return Some(AnswerFault::Refused);
        }
    }
    Some(AnswerFault::Wrong)
}

#[cold]
fn tell_wrong(shared: &PhaseContext<'_>, flight: &InFlight, found: Option<u32>) -> String {
    let name = name(flight.index);
    match found {
        None => format!("key {name} (entry {}) has a value that was never written for it", flight.index),
        Some(version) => {
            let (least, most) = shared.versions.possible(flight.index, flight.version);
            format!("key {name} (entry {}) has version {version}, where {least} to {most} are possible", flight.index)
        }
    }
}

fn name(index: u64) -> String {
    String::from_utf8_lossy(&key(index)).into_owned()
}
