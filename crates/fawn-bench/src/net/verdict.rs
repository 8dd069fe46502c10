//! What an answer says of the server: whether it is right, and which count it belongs to.

use super::protocol::{Answer, Asked, key};
use super::tally::Tally;
use super::worker::Shared;
use crate::latency::Latencies;
use crate::workload::version_of;

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// From when its latency counts.
    pub due_ns: u64,
    /// The entry.
    pub index: u64,
    /// Of a set its version, of a get the floor.
    pub version: u32,
    /// What is asked of it.
    pub asked: Asked,
}

/// The latencies of gets or of sets.
#[inline]
pub fn latencies(tally: &mut Tally, asked: Asked) -> &mut Latencies {
    match asked {
        Asked::Get => &mut tally.gets,
        Asked::Set => &mut tally.sets,
    }
}

/// Counts an answer, and looks whether it is right.
#[inline]
pub fn note(shared: &Shared<'_>, tally: &mut Tally, flight: &Flight, answer: Answer<'_>, counts: bool) {
    match flight.asked {
        Asked::Get => tally.answered_gets += u64::from(counts),
        Asked::Set => {
            tally.answered_sets += u64::from(counts);
            if !shared.is_load {
                shared.ledger.end_set(flight.index, flight.version, answer == Answer::Stored);
            }
        }
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
            let asked = flight.asked.name();
            tally.refused.add(|| format!("a {asked} of key {}: {}", name(flight.index), String::from_utf8_lossy(line)));
        }
    }
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
