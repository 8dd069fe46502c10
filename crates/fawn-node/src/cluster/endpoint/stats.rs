//! What an endpoint tells the managers, and what `stats` shows of it.

use super::{Endpoint, time};
use crate::cluster::counting::count;
use crate::cluster::node_host::NodeHost;
use crate::cluster::troubles::Troubles;
use crate::observe::samples::{LoopSample, NodeSample, SeatSample, StoreSample};
use crate::observe::stats;
use crate::runtime::clock::Now;
use crate::shard::engines;
use crate::shard::stores::LoopStats;
use fawn_kv::link::{Control, Lane};
use fawn_kv::status::{RangeFigures, Role, SeatFigures, SeatTotals};
use fawn_kv::timing;
use fawn_kv::wire::version::{TIMES, TOTALS};
use std::sync::LazyLock;

/// Between two reports to the managers.
const REPORT_MS: u64 = 1000;

impl Endpoint {
    /// Tells the managers how it does, once a second.
    pub(super) fn report(&mut self, now: Now, at: timing::Now) {
        if now.ms < self.reported_ms + REPORT_MS || !self.links.has_leader() {
            return;
        }
        self.reported_ms = now.ms;
        let figures = self.seat_figures(at, Troubles::for_managers);
        self.links.send_to_leader(&Control::Figures(figures));
        let totals = Control::Totals { seat: self.id, totals: self.totals() };
        self.links.send_to_leader_since(TOTALS, &totals);
        let (unix_ms, _) = fawn_flash::clock::wall();
        self.links.send_to_leader_since(TIMES, &Control::Clock { unix_ms });
    }

    /// Goes on counting the items of its node, a little in a turn; whether there is more to count now.
    pub(super) fn count_on(&mut self, now: Now) -> bool {
        let Some(host) = &self.node else { return false };
        self.counter.step(host.node(), now.ms)
    }

    /// What adds up over the cluster.
    fn totals(&mut self) -> SeatTotals {
        let answered = self.counter.last(self.node.as_ref().map(NodeHost::node)).answered;
        SeatTotals {
            operations: self.requests.answered_operations(),
            tail_items: answered.entries.round() as u64,
            tail_bytes: answered.bytes.round() as u64,
            device: self.node().map_or(0, |node| device_id(node.store().device())),
        }
    }

    /// Its figures for the admin port.
    pub(super) fn take_sample(&mut self, now: Now) -> LoopSample {
        let at = time(now);
        // A node whose machine's clock is wrong serves all the same.
        let figures = self.seat_figures(at, Troubles::of_health);
        let node = self.node.as_ref().map(|host| NodeSample {
            is_member: host.node().member().is_some(),
            tally: host.node().tally(),
            chain: host.waiting(Lane::Chain),
            clients: host.waiting(Lane::Client),
        });
        let store = self.node().map(|node| StoreSample {
            number: u64::from(self.id.0),
            stats: node.store().flash().store().stats(),
            traffic: node.store().traffic(),
            device: node.store().device(),
            is_full: node.store().flash().store().upkeep().is_full(),
        });
        let seat = SeatSample {
            figures,
            member: self.links.membership().name().to_owned(),
            front: self.front.as_ref().map(|front| (*front.counts(), front.in_flight())),
            node,
            managers: self.links.managers(),
            certificate: self.links.membership().certificate_expiry(),
            relay: self.detours.counts(at),
            leaderless_ms: self.contact.missing_ms(self.links.has_leader(), now.ms),
            waits_for: (!self.ready.is_over()).then(|| self.ready.waits_for(self.readiness_inputs())),
        };
        LoopSample { stores: store.into_iter().collect(), seat: Some(seat) }
    }

    fn seat_figures(&mut self, at: timing::Now, tell: impl Fn(&Troubles) -> Vec<String>) -> SeatFigures {
        let mut figures = SeatFigures { seat: self.id, links: self.links.figures(), ..SeatFigures::default() };
        if let Some(front) = &self.front {
            figures.wedges = front.served(at.us).count() as u32;
        }
        let wrong = Troubles::of(self.node(), at, fawn_flash::clock::wall().1);
        let wrong = wrong.with_cut_off(self.detours.is_cut_off(at));
        let troubles = tell(&wrong).into_iter().reduce(|all, next| all + "; " + &next);
        wrong.log_changes(&std::mem::replace(&mut self.troubles, wrong), self.id.0);
        let node = self.node.as_ref().map(NodeHost::node);
        let held = self.counter.last(node).all;
        let Some(node) = node else {
            figures.trouble = troubles;
            return figures;
        };
        figures.ranges = node.replicas().map(|(_, replica)| replica.figures()).collect();
        figures.lease_ms = node.lease().until_us.saturating_sub(at.us) / 1000;
        figures.live_bytes = held.bytes.round() as u64;
        figures.items = held.entries.round() as u64;
        let upkeep = node.store().flash().store().upkeep();
        figures.used_bytes = upkeep.file_bytes();
        figures.free_bytes = upkeep.space().map_or(0, |space| space.free);
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

/// Figures of an endpoint for `stats`.
pub(super) fn of(endpoint: &Endpoint, _: Now) -> LoopStats {
    let mut figures = LoopStats::default();
    if let Some(front) = &endpoint.front {
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
    let answered = endpoint.node().map(count).unwrap_or_default().answered;
    figures.numbers.extend([
        (stats::TAIL_ITEMS.to_owned(), answered.entries.round() as u64),
        (stats::TAIL_BYTES.to_owned(), answered.bytes.round() as u64),
    ]);
    if let Some(node) = endpoint.node() {
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
