//! What a seat tells the managers, and what `stats` shows of it.

use super::counting::{Counted, Counting, count};
use super::seat::{Seat, time};
use super::troubles::Troubles;
use crate::observe::samples::{NodeSample, Sample, SeatSample, StoreSample};
use crate::observe::stats;
use crate::runtime::clock::Now;
use crate::shard::engines;
use crate::shard::stores::LoopStats;
use fawn_kv::chain;
use fawn_kv::inbox::Lane;
use fawn_kv::link::Control;
use fawn_kv::status::{LinkFigures, RangeFigures, Role, SeatFigures, SeatTotals};
use fawn_kv::version::{TIMES, TOTALS};
use std::sync::LazyLock;

/// Between two reports to the managers.
const REPORT_MS: u64 = 1000;
/// Entries of the store's buffers that are counted in one turn: a tenth of a millisecond at most.
const COUNTED_A_TURN: usize = 64;

impl Seat {
    /// Tells the managers how it does, once a second.
    pub(super) fn report(&mut self, now: Now, at: chain::Now) {
        if now.ms < self.reported_ms + REPORT_MS || !self.links.has_leader() {
            return;
        }
        self.reported_ms = now.ms;
        let figures = self.seat_figures(at, Troubles::for_managers);
        self.links.tell_leader(&Control::Figures(figures));
        let totals = Control::Totals { seat: self.id, totals: self.totals() };
        self.links.tell_leader_since(TOTALS, &totals);
        let (unix_ms, _) = fawn_flash::clock::wall();
        self.links.tell_leader_since(TIMES, &Control::Clock { unix_ms });
    }

    /// What its node has, as it was counted last.
    fn counted(&mut self) -> Counted {
        *self.counted.get_or_insert_with(|| self.node.as_ref().map(count).unwrap_or_default())
    }

    /// Goes on counting what its node has, a little in a turn; whether there is more to count now.
    pub(super) fn count_on(&mut self, now: Now) -> bool {
        let Some(node) = &self.node else { return false };
        if self.counting.is_none() && now.ms >= self.count_ms {
            self.count_ms = now.ms + REPORT_MS;
            self.counting = Some(Counting::of(node));
        }
        let Some(counting) = &mut self.counting else { return false };
        let counted = node.store().flash().store().count_on(&mut counting.count, COUNTED_A_TURN);
        if let Some(held) = counted {
            self.counted = Some(Counted::of(held, &counting.is_tail));
            self.counting = None;
        }
        self.counting.is_some()
    }

    /// What adds up over the cluster.
    fn totals(&mut self) -> SeatTotals {
        let tails = self.counted().tails;
        SeatTotals {
            operations: self.requests.answered_operations(),
            tail_items: tails.entries.round() as u64,
            tail_bytes: tails.bytes.round() as u64,
            device: self.node.as_ref().map_or(0, |node| device_id(node.store().device())),
        }
    }

    /// Its figures for the admin port.
    pub(super) fn take_sample(&mut self, now: Now) -> Sample {
        let at = time(now);
        // A node whose machine's clock is wrong serves all the same.
        let figures = self.seat_figures(at, Troubles::of_health);
        let node = self.node.as_ref().map(|node| NodeSample {
            is_member: node.member().is_some(),
            tally: node.tally(),
            chain: self.inbox.waiting(Lane::Chain),
            clients: self.inbox.waiting(Lane::Client),
        });
        let store = self.node.as_ref().map(|node| StoreSample {
            number: u64::from(self.id.0),
            stats: node.store().flash().store().stats(),
            traffic: node.store().traffic(),
            device: node.store().device(),
            is_full: node.store().flash().store().is_full(),
        });
        let seat = SeatSample {
            figures,
            member: self.links.member().to_owned(),
            front: self.front.as_ref().map(|front| (*front.counts(), front.in_flight())),
            node,
            managers: self.links.managers(),
            certificate: self.links.certificate_expiry(),
            relay: (self.relay.counts(), self.relay.broken(at.us)),
            leaderless_ms: if self.links.has_leader() { 0 } else { now.ms.saturating_sub(self.led_ms) },
            waits_for: (!self.ready.is_over()).then(|| self.ready.waits_for(self.around())),
        };
        Sample { stores: store.into_iter().collect(), seat: Some(seat) }
    }

    fn seat_figures(&mut self, at: chain::Now, tell: impl Fn(&Troubles) -> Vec<String>) -> SeatFigures {
        let links = self.links.figures().into_iter();
        let links = links.map(|(to, is_up, waiting, traffic)| LinkFigures {
            to,
            is_up,
            waiting_bytes: waiting as u64,
            dropped: traffic.dropped,
        });
        let mut figures = SeatFigures { seat: self.id, links: links.collect(), ..SeatFigures::default() };
        if let Some(front) = &self.front {
            figures.wedges = front.served(at.us).count() as u32;
        }
        let wrong = Troubles::of(self.node.as_ref(), at, fawn_flash::clock::wall().1);
        let wrong = wrong.with_cut_off(self.relay.is_cut_off(at.us));
        let troubles = tell(&wrong).into_iter().reduce(|all, next| all + "; " + &next);
        wrong.log_changes(&std::mem::replace(&mut self.troubles, wrong), self.id.0);
        let held = self.counted().all;
        let Some(node) = &self.node else {
            figures.trouble = troubles;
            return figures;
        };
        figures.ranges = node.replicas().map(|(_, replica)| replica.figures()).collect();
        figures.lease_ms = node.lease().until_us.saturating_sub(at.us) / 1000;
        figures.live_bytes = held.bytes.round() as u64;
        figures.items = held.entries.round() as u64;
        (figures.used_bytes, figures.free_bytes) = node.store().flash().store().occupancy();
        figures.trouble = node
            .other_cluster()
            .map(|other| other.to_string())
            .or_else(|| node.occupied().map(|occupied| occupied.to_string()))
            .or_else(|| node.store().stopped())
            .or(troubles);
        figures
    }
}

/// Names a device of this machine among those of all machines; never 0.
fn device_id(device: u64) -> u64 {
    // Another one at each start of the machine, whatever it is called.
    static BOOT: LazyLock<u64> = LazyLock::new(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(16).collect();
        u64::from_str_radix(&digits, 16).unwrap_or(0)
    });
    (*BOOT ^ device.rotate_left(32)).max(1)
}

/// Figures of a seat for `stats`.
pub(super) fn of(seat: &Seat, _: Now) -> LoopStats {
    let mut figures = LoopStats::default();
    if let Some(front) = &seat.front {
        let counts = front.counts();
        for (name, number) in [
            ("fawn_front_cache_hits", counts.hits),
            ("fawn_front_misses", counts.misses),
            ("fawn_front_joined", counts.joined),
            ("fawn_front_forwards", counts.forwards),
            ("fawn_front_takeovers", counts.takeovers),
            ("fawn_front_busy", counts.busy),
            ("fawn_front_timed_out", counts.timed_out),
            ("fawn_front_in_flight", front.in_flight() as u64),
        ] {
            figures.numbers.push((name.to_owned(), number));
        }
    }
    let tails = seat.node.as_ref().map(count).unwrap_or_default().tails;
    figures.numbers.extend([
        (stats::TAIL_ITEMS.to_owned(), tails.entries.round() as u64),
        (stats::TAIL_BYTES.to_owned(), tails.bytes.round() as u64),
    ]);
    if let Some(node) = &seat.node {
        engines::add(&mut figures, &node.store().flash().store().stats());
        let ranges: Vec<RangeFigures> = node.replicas().map(|(_, replica)| replica.figures()).collect();
        let count = |is: fn(&Role) -> bool| ranges.iter().filter(|range| is(&range.role)).count() as u64;
        figures.numbers.extend([
            ("fawn_ranges".to_owned(), ranges.len() as u64),
            ("fawn_ranges_head".to_owned(), count(|role| matches!(role, Role::Head | Role::Alone))),
            ("fawn_ranges_tail".to_owned(), count(|role| matches!(role, Role::Tail | Role::Alone))),
            ("fawn_ranges_learner".to_owned(), count(|role| matches!(role, Role::Learner))),
        ]);
    }
    figures
}
