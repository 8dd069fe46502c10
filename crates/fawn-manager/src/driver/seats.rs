//! What this member knows of each seat beside what is decided: when it was heard, and what it reports.

use crate::links::table::LinkTable;
use fawn_kv::ids::{NodeId, SeatId};
use fawn_kv::status::{SeatDetails, SeatFigures, SeatTotals};
use std::collections::BTreeMap;
use std::time::Duration;

/// A process that has not answered for so long is not heard.
pub const RECENT: Duration = Duration::from_secs(2);

/// A member that was heard within this may live: no other directory gets its name.
pub const ALIVE_US: u64 = 5_000_000;

/// The node of a seat.
pub fn node_of(seat: SeatId) -> NodeId {
    NodeId(u64::from(seat.0))
}

/// The seat of a node.
pub fn seat_of(node: NodeId) -> SeatId {
    SeatId(u32::try_from(node.0).unwrap_or(u32::MAX))
}

#[derive(Debug, Default)]
struct SeatRecord {
    heard_us: Option<u64>,
    figures: Option<SeatFigures>,
    /// What it reported last beside its figures, and when.
    totals: Option<(SeatTotals, u64)>,
    /// Between its last two reports.
    operations_per_s: Option<u64>,
    /// It was stopped in good order, and has not started since.
    is_stopped: bool,
}

impl SeatRecord {
    fn is_recent(&self, now_us: u64) -> bool {
        self.heard_us.is_some_and(|at| now_us.saturating_sub(at) < RECENT.as_micros() as u64)
    }
}

/// All seats that were heard of.
#[derive(Debug, Default)]
pub struct Seats {
    records: BTreeMap<SeatId, SeatRecord>,
}

impl Seats {
    /// A seat exists, though it may not have been heard.
    pub fn add(&mut self, seat: SeatId) {
        self.records.entry(seat).or_default();
    }

    /// A seat was heard: it runs.
    pub fn hear(&mut self, seat: SeatId, now_us: u64) {
        let record = self.records.entry(seat).or_default();
        (record.heard_us, record.is_stopped) = (Some(now_us), false);
    }

    /// A seat has stopped in good order, or has started after that.
    pub fn set_stopped(&mut self, seat: SeatId, is_stopped: bool) {
        self.records.entry(seat).or_default().is_stopped = is_stopped;
    }

    /// A seat reports its figures.
    pub fn report_figures(&mut self, figures: SeatFigures, now_us: u64) {
        let seat = figures.seat;
        self.hear(seat, now_us);
        self.records.entry(seat).or_default().figures = Some(figures);
    }

    /// A seat reports what adds up over the cluster.
    pub fn report_totals(&mut self, seat: SeatId, totals: SeatTotals, now_us: u64) {
        let record = self.records.entry(seat).or_default();
        let before = record.totals.replace((totals, now_us));
        record.operations_per_s = before.and_then(|(before, at_us)| {
            let elapsed_us = now_us.saturating_sub(at_us).max(1);
            // Counters that were reset count from 0 again.
            let operations = totals.operations.checked_sub(before.operations)?;
            Some((u128::from(operations) * 1_000_000 / u128::from(elapsed_us)) as u64)
        });
    }

    /// A new leader knows of each seat only whether it was stopped.
    pub fn forget_reports(&mut self) {
        for record in self.records.values_mut() {
            *record = SeatRecord { is_stopped: record.is_stopped, ..SeatRecord::default() };
        }
    }

    /// Forgets seats that are no member's.
    pub fn retain(&mut self, mut is_known: impl FnMut(SeatId) -> bool) {
        self.records.retain(|seat, _| is_known(*seat));
    }

    /// When a seat was heard last.
    pub fn heard_us(&self, seat: SeatId) -> Option<u64> {
        self.records.get(&seat)?.heard_us
    }

    /// Whether a seat was heard lately.
    pub fn is_recent(&self, seat: SeatId, now_us: u64) -> bool {
        self.records.get(&seat).is_some_and(|record| record.is_recent(now_us))
    }

    /// Whether a seat was stopped in good order, and has not started since.
    pub fn is_stopped(&self, seat: SeatId) -> bool {
        self.records.get(&seat).is_some_and(|record| record.is_stopped)
    }

    /// What a seat reported last.
    pub fn figures(&self, seat: SeatId) -> Option<&SeatFigures> {
        self.records.get(&seat)?.figures.as_ref()
    }

    /// What seats that were heard lately have reported: what others said last is no news.
    pub fn recent_figures(&self, now_us: u64) -> impl Iterator<Item = &SeatFigures> + Clone {
        self.records
            .values()
            .filter(move |record| record.is_recent(now_us))
            .filter_map(|record| record.figures.as_ref())
    }

    /// What operators are shown of a seat beside its figures.
    pub fn details(&self, seat: SeatId, now_us: u64) -> Option<SeatDetails> {
        let record = self.records.get(&seat)?;
        Some(SeatDetails {
            is_stopped: record.is_stopped,
            totals: record.totals.map(|(totals, _)| totals),
            operations_per_s: record.operations_per_s.filter(|_| record.is_recent(now_us)),
        })
    }
}

/// By what a leader tells whether a member lives.
#[derive(Clone, Copy)]
pub struct Liveness<'a> {
    /// When seats were heard.
    pub seats: &'a Seats,
    /// Which are connected.
    pub table: &'a LinkTable,
    /// Since when this member leads.
    pub led_us: u64,
    /// The time.
    pub now_us: u64,
}

impl Liveness<'_> {
    /// Whether one of these seats is connected and was heard lately.
    pub fn is_alive(&self, mut seats: impl Iterator<Item = SeatId>) -> bool {
        // A new leader has yet to hear whoever is connected.
        seats.any(|seat| {
            self.table.has_seat(seat) && self.now_us < self.seats.heard_us(seat).unwrap_or(self.led_us) + ALIVE_US
        })
    }

    /// When one of these seats was heard last.
    pub fn heard_us(&self, seats: impl Iterator<Item = SeatId>) -> Option<u64> {
        seats.filter_map(|seat| self.seats.heard_us(seat)).max()
    }

    /// When one of these seats that is connected was heard last.
    pub fn connected_heard_us(&self, seats: impl Iterator<Item = SeatId>) -> Option<u64> {
        self.heard_us(seats.filter(|seat| self.table.has_seat(*seat)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEAT: SeatId = SeatId(3);

    fn totals(operations: u64) -> SeatTotals {
        SeatTotals { operations, ..SeatTotals::default() }
    }

    #[test]
    fn operations_a_second_are_of_the_last_two_reports_and_of_seats_that_are_heard() {
        let mut seats = Seats::default();
        seats.hear(SEAT, 1_000_000);
        seats.report_totals(SEAT, totals(500), 1_000_000);
        assert_eq!(seats.details(SEAT, 1_000_000).unwrap().operations_per_s, None, "one report has no rate");
        seats.report_totals(SEAT, totals(700), 1_500_000);
        assert_eq!(seats.details(SEAT, 1_500_000).unwrap().operations_per_s, Some(400));
        assert_eq!(seats.details(SEAT, 3_000_000).unwrap().operations_per_s, None, "it was not heard for two seconds");
        seats.report_totals(SEAT, totals(5), 2_000_000);
        assert_eq!(seats.details(SEAT, 2_000_000).unwrap().operations_per_s, None, "its counters were reset");
    }

    #[test]
    fn a_new_leader_remembers_who_has_stopped_and_nothing_else() {
        let mut seats = Seats::default();
        seats.hear(SEAT, 7);
        seats.report_figures(SeatFigures { seat: SEAT, ..SeatFigures::default() }, 8);
        seats.set_stopped(SEAT, true);
        seats.forget_reports();
        assert_eq!((seats.heard_us(SEAT), seats.figures(SEAT)), (None, None));
        assert!(seats.is_stopped(SEAT));
        seats.hear(SEAT, 9);
        assert!(!seats.is_stopped(SEAT), "it has started again");
        seats.retain(|seat| seat != SEAT);
        assert_eq!(seats.details(SEAT, 9), None);
    }

    #[test]
    fn a_seat_that_is_not_connected_does_not_live() {
        let mut seats = Seats::default();
        seats.hear(SEAT, 7);
        let table = LinkTable::default();
        let liveness = Liveness { seats: &seats, table: &table, led_us: 0, now_us: 8 };
        assert!(!liveness.is_alive([SEAT].into_iter()));
        assert_eq!(liveness.heard_us([SEAT].into_iter()), Some(7));
        assert_eq!(liveness.connected_heard_us([SEAT].into_iter()), None);
    }
}
