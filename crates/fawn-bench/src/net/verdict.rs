//! What an answer says of the server: whether it is right, and which count it belongs to.

use fawn_workload::version_of;

use super::mix::Kind;
use super::protocol::{Answer, key};
use super::tally::Tally;
use super::worker::Shared;

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// From when the latency of its operation counts.
    pub due_ns: u64,
    /// From when its own does: later, of the second half of a modify.
    pub asked_ns: u64,
    /// The entry.
    pub index: u64,
    /// Of a set its version, of a get the floor.
    pub version: u32,
    /// What it is for.
    pub kind: Kind,
}

impl Flight {
    /// Whether the second half of a modify follows this answer. Where there is no value, there is nothing to modify.
    #[inline]
    pub fn goes_on(&self, answer: Answer<'_>) -> bool {
        self.kind == Kind::ModifyGet && matches!(answer, Answer::Value(_))
    }
}

/// Adds the latencies of a request that ended with this answer, and of its operation if that ended with it.
#[inline]
pub fn time(tally: &mut Tally, flight: &Flight, answer: Answer<'_>, now_ns: u64) {
    tally.of_mut(flight.kind).latencies.add_ns(now_ns.saturating_sub(flight.asked_ns));
    if flight.kind.is_half() && !flight.goes_on(answer) {
        tally.modifies.latencies.add_ns(now_ns.saturating_sub(flight.due_ns));
    }
}

/// Counts an answer, and looks whether it is right. Whether it answers what was asked: a refusal does not, nor does another key's
/// value or one of another length, and is neither throughput nor a latency.
#[inline]
pub fn note(shared: &Shared<'_>, tally: &mut Tally, flight: &Flight, answer: Answer<'_>, counts: bool) -> bool {
    let is_answered = matches!(answer, Answer::Stored | Answer::Miss | Answer::Value(_));
    let counts = counts && is_answered;
    tally.of_mut(flight.kind).answered += u64::from(counts);
    match flight.kind {
        Kind::Get | Kind::ModifyGet => {}
        Kind::Set | Kind::ModifySet => {
            shared.ledger.end_set(flight.index, flight.version, answer == Answer::Stored);
        }
        Kind::Insert => shared.newest.end_insert(flight.index),
    }
    if flight.kind.is_half() && !flight.goes_on(answer) {
        tally.modifies.answered += u64::from(counts);
    }
    match answer {
        Answer::Stored => {}
        Answer::Miss => tally.misses += u64::from(counts),
        Answer::Value(value) => match shared.shown {
            // All the work is done whose cost is of interest.
            Some((index, version)) => {
                if version_of(index, value) != Some(version) {
                    tally.wrong.add(|| "the server that does nothing shows another value".to_owned());
                }
                std::hint::black_box(shared.ledger.is_possible(flight.index, flight.version, version));
            }
            None => match version_of(flight.index, value) {
                Some(version) if shared.ledger.is_possible(flight.index, flight.version, version) => {}
                found => tally.wrong.add(|| tell_wrong(shared, flight, found)),
            },
        },
        Answer::OtherLength(length) => tally.wrong.add(|| {
            format!("key {} has a value of {length} bytes, not {}", name(flight.index), shared.plan.value_bytes)
        }),
        Answer::OtherKey => {
            tally.wrong.add(|| format!("a get of key {} was answered with another key", name(flight.index)));
        }
        Answer::Refused(line) => {
            let asked = flight.kind.asked().name();
            tally.refused.add(|| format!("a {asked} of key {}: {}", name(flight.index), String::from_utf8_lossy(line)));
        }
    }
    is_answered
}

#[cold]
fn tell_wrong(shared: &Shared<'_>, flight: &Flight, found: Option<u32>) -> String {
    let name = name(flight.index);
    match found {
        None => format!("key {name} (entry {}) has a value that was never written for it", flight.index),
        Some(version) => {
            let (least, most) = shared.ledger.possible(flight.index, flight.version);
            format!("key {name} (entry {}) has version {version}, where {least} to {most} are possible", flight.index)
        }
    }
}

fn name(index: u64) -> String {
    String::from_utf8_lossy(&key(index)).into_owned()
}
