//! What a cluster has and does as a whole.

use std::collections::BTreeMap;

use fawn_kv::status::Status;
use serde_json::{Value, json};

use crate::values::Size;

/// Sums over a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Keys, each once however many replicas have it; an estimate.
    pub keys: u64,
    /// Bytes of their records, each once.
    pub bytes: u64,
    /// Bytes that are free where nodes keep data, each file system once.
    pub free_bytes: u64,
    /// Operations of clients a second.
    pub operations_per_s: u64,
}

impl Totals {
    /// Those of a status; `None` where managers or members are too old to report them.
    pub fn of(status: &Status) -> Option<Self> {
        let mut totals = Self::default();
        let (mut free, mut is_reported) = (BTreeMap::new(), false);
        for seat in &status.seats {
            let Some(details) = status.details.get(&seat.seat) else { continue };
            let Some(reported) = details.totals.filter(|_| seat.heard_ms.is_some_and(|ms| ms <= super::SILENT_MS))
            else {
                continue;
            };
            is_reported = true;
            totals.keys += reported.tail_items;
            totals.bytes += reported.tail_bytes;
            totals.operations_per_s += details.operations_per_s.unwrap_or(0);
            if let Some(figures) = seat.figures.as_ref().filter(|_| reported.device != 0) {
                let least = free.entry(reported.device).or_insert(figures.free_bytes);
                *least = figures.free_bytes.min(*least);
            }
        }
        totals.free_bytes = free.into_values().sum();
        is_reported.then_some(totals)
    }

    /// As people read them.
    pub fn text(&self) -> String {
        let size = |bytes| Size { bytes };
        format!(
            "about {} keys with {} of records, {} free, {} operations per second",
            grouped(self.keys),
            size(self.bytes),
            size(self.free_bytes),
            grouped(self.operations_per_s)
        )
    }

    /// As programs read them.
    pub fn json(&self) -> Value {
        json!({
            "keys": self.keys,
            "bytes": self.bytes,
            "free_bytes": self.free_bytes,
            "operations_per_s": self.operations_per_s,
        })
    }
}

/// A number with a comma before every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut told = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::status::tests::{seat, status};
    use fawn_kv::ids::SeatId;
    use fawn_kv::status::{SeatDetails, SeatTotals};

    #[test]
    fn keys_count_once_and_so_does_what_is_free_on_a_shared_file_system() {
        let mut status = status(3);
        for (number, device) in [(1, 7), (2, 7), (3, 8)] {
            let totals = SeatTotals { operations: 90, tail_items: 1000, tail_bytes: 50_000, device };
            let details = SeatDetails { is_stopped: false, totals: Some(totals), operations_per_s: Some(20) };
            status.details.insert(SeatId(number), details);
            seat(&mut status, number).figures.as_mut().unwrap().free_bytes = 1 << 30;
        }
        let expected = Totals { keys: 3000, bytes: 150_000, free_bytes: 2 << 30, operations_per_s: 60 };
        assert_eq!(Totals::of(&status), Some(expected));
        assert!(expected.text().starts_with("about 3,000 keys with "), "{}", expected.text());
        // What a dead member has is not there now.
        seat(&mut status, 3).heard_ms = Some(20_000);
        assert_eq!(
            Totals::of(&status),
            Some(Totals { keys: 2000, bytes: 100_000, free_bytes: 1 << 30, operations_per_s: 40 })
        );
        status.details.clear();
        assert_eq!(Totals::of(&status), None, "managers of an older release do not report them");
    }

    #[test]
    fn long_numbers_are_cut_into_groups() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
