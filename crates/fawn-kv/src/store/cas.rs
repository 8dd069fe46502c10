//! The cas of records that clients have given none: as a plain store has told it.

use crate::ids::{Epoch, Position, Seq};
use crate::testing::injected_bugs::{Bug, planted};

/// What a plain store tells its clients as the cas of records that have none of their own: no two of a directory's stores
/// ever tell the same.
#[derive(Clone, Copy, Debug)]
pub struct CasNumbers {
    pub(super) store: u64,
    pub(super) stores: u64,
}

impl CasNumbers {
    /// Of one store among several.
    pub fn of(store: u32, stores: u32) -> Self {
        Self { store: u64::from(store), stores: u64::from(stores) }
    }

    /// What is told of the record with this number.
    pub fn told(self, seq: u64) -> u64 {
        seq * self.stores + self.store
    }

    /// What a record is shown with as a client's cas in a range.
    pub fn kept(self, epoch: u32, seq: u64, client_cas: Option<u64>) -> Option<u64> {
        client_cas.or_else(|| (epoch == 0 && !planted(Bug::AdoptedCasLost)).then(|| self.told(seq)))
    }

    /// Where the log of the range ends that a store becomes of which no record is numbered above `last`: above any number
    /// and any cas.
    pub fn end(self, last: u64) -> Position {
        let seq = Seq(if planted(Bug::AdoptedNumbersAgain) { last } else { self.told(last + 1) });
        Position { epoch: Epoch(0), seq }
    }
}
