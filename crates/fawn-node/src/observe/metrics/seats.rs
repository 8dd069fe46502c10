//! Metrics of one seat: its front-end, its node and that one's ranges, its connections; and what is wrong with it.

use super::families as all;
use crate::observe::samples::{NodeSample, SeatSample};
use fawn_admin::Page;
use fawn_kv::chain::{PAUSE_BOUNDS_US, Pauses};
use fawn_kv::status::{RangeFigures, Role};

/// A seat that has been without a manager that leads for so long, in milliseconds, is in trouble: a new one is elected
/// within a second.
pub const LEADERLESS_MS: u64 = 3000;

/// Puts a seat's figures on a page.
pub fn measure(sample: &SeatSample, page: &mut Page) {
    let seat = sample.figures.seat.number().to_string();
    page.put(&all::SEAT_INFO, &[&seat, &sample.member], true);
    page.put(&all::MANAGERS, &[&seat], sample.managers);
    page.put(&all::LEADERLESS, &[&seat], sample.leaderless_ms as f64 / 1e3);
    front(sample, &seat, page);
    let (counts, broken) = sample.relay;
    page.put(&all::RELAYED, &[&seat], counts.relayed);
    page.put(&all::RELAYED_FOR_OTHERS, &[&seat], counts.passed_on);
    page.put(&all::LINKS_BROKEN, &[&seat], broken);
    if let Some(NodeSample { tally, chain, clients, .. }) = &sample.node {
        page.put(&all::NODE_LEASE, &[&seat], sample.figures.lease_ms as f64 / 1e3);
        page.put(&all::NODE_EPOCHS, &[&seat], tally.activations);
        pauses(&tally.pauses, &seat, page);
        page.put(&all::NODE_COPIED, &[&seat], tally.copied_bytes);
        for (role, name) in ROLES {
            let ranges = sample.figures.ranges.iter().filter(|range| range.role == role).count();
            page.put(&all::NODE_RANGES, &[&seat, name], ranges);
        }
        page.put(&all::NODE_LAG, &[&seat], sample.figures.ranges.iter().map(lag).max().unwrap_or(0));
        for (lane, (messages, bytes)) in [("chain", chain), ("client", clients)] {
            page.put(&all::INBOX_MESSAGES, &[&seat, lane], *messages);
            page.put(&all::INBOX_BYTES, &[&seat, lane], *bytes);
        }
    }
    if page.wants_ranges() {
        sample.figures.ranges.iter().for_each(|figures| range(figures, &seat, page));
    }
    for link in &sample.figures.links {
        let peer = link.to.0.to_string();
        page.put(&all::LINK_UP, &[&seat, &peer], link.is_up);
        page.put(&all::LINK_QUEUE, &[&seat, &peer], link.waiting_bytes);
        page.put(&all::LINK_DROPPED, &[&seat, &peer], link.dropped);
    }
}

fn pauses(pauses: &Pauses, seat: &str, page: &mut Page) {
    let bounds = PAUSE_BOUNDS_US.into_iter().zip(pauses.within).scan(0, |below, (bound, within)| {
        *below += within;
        Some((bound as f64 / 1e6, *below))
    });
    page.put_histogram(&all::NODE_PAUSE, &[seat], bounds, (pauses.count, pauses.total_us as f64 / 1e6));
}

fn front(sample: &SeatSample, seat: &str, page: &mut Page) {
    let Some((counts, in_flight)) = &sample.front else { return };
    for (family, count) in [
        (&all::FRONT_HITS, counts.hits),
        (&all::FRONT_MISSES, counts.misses),
        (&all::FRONT_JOINED, counts.joined),
        (&all::FRONT_FORWARDS, counts.forwards),
        (&all::FRONT_TAKEOVERS, counts.takeovers),
        (&all::FRONT_BUSY, counts.busy),
        (&all::FRONT_TIMED_OUT, counts.timed_out),
        (&all::FRONT_IN_FLIGHT, *in_flight as u64),
        (&all::FRONT_WEDGES, u64::from(sample.figures.wedges)),
    ] {
        page.put(family, &[seat], count);
    }
}

/// What parts in ranges are called.
const ROLES: [(Role, &str); 7] = [
    (Role::Head, "head"),
    (Role::Mid, "mid"),
    (Role::Tail, "tail"),
    (Role::Alone, "alone"),
    (Role::Learner, "learner"),
    (Role::Sealed, "sealed"),
    (Role::Idle, "idle"),
];

/// Records of a range's log that are not known to be committed.
fn lag(figures: &RangeFigures) -> u64 {
    figures.last.seq.0.saturating_sub(figures.committed.seq.0)
}

fn range(figures: &RangeFigures, seat: &str, page: &mut Page) {
    let range = figures.range.0.to_string();
    let (last, committed) = (figures.last.seq.0, figures.committed.seq.0);
    for (family, value) in [
        (&all::RANGE_EPOCH, u64::from(figures.epoch.0)),
        (&all::RANGE_LAST, last),
        (&all::RANGE_COMMITTED, committed),
        (&all::RANGE_SYNCED, figures.synced.0),
        (&all::RANGE_LAG, lag(figures)),
    ] {
        page.put(family, &[seat, &range], value);
    }
    let role = ROLES.iter().find(|(role, _)| *role == figures.role).map_or("", |(_, name)| name);
    page.put(&all::RANGE_ROLE, &[seat, &range, role], true);
    if let Some(copy) = figures.copy {
        page.put(&all::RANGE_COPY_BYTES, &[seat, &range], copy.bytes);
        page.put(&all::RANGE_COPY_RATIO, &[seat, &range], f64::from(copy.permille) / 1e3);
    }
}

/// Why the seat does not serve as it should.
pub fn troubles(sample: &SeatSample) -> Vec<String> {
    let (seat, member) = (sample.figures.seat.number(), &sample.member);
    let mut troubles: Vec<String> = sample.figures.trouble.iter().chain(&sample.waits_for).cloned().collect();
    if sample.leaderless_ms > LEADERLESS_MS {
        let seconds = sample.leaderless_ms / 1000;
        troubles.push(format!("it has had no contact with a leading manager for {seconds} s"));
    }
    if let Some(node) = &sample.node {
        let is_active = sample.figures.ranges.iter().any(|range| range.epoch.0 > 0);
        if !node.is_member {
            troubles.push("the managers have not admitted its node yet".to_owned());
        } else if is_active && sample.figures.lease_ms == 0 {
            troubles.push("its node has no lease: gets of its ranges are slow".to_owned());
        }
        let sealed = sample.figures.ranges.iter().filter(|range| range.role == Role::Sealed).count();
        if node.is_member && sealed > 0 && !is_active {
            troubles.push(format!(
                "none of its ranges is in service: {sealed} wait until the managers change their chains"
            ));
        }
    }
    troubles.into_iter().map(|why| format!("{member}, seat {seat}: {why}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::chain::Tally;
    use fawn_kv::ids::{Epoch, Position, RangeId, SeatId, Seq};
    use fawn_kv::link::relay::Counts;
    use fawn_kv::status::{CopyFigures, SeatFigures};
    use fawn_ring::Interval;

    fn sample() -> SeatSample {
        let position = |seq| Position { epoch: Epoch(3), seq: Seq(seq) };
        let range = RangeFigures {
            range: RangeId(7),
            keys: Interval::ALL,
            epoch: Epoch(3),
            role: Role::Mid,
            last: position(12),
            committed: position(9),
            synced: Seq(11),
            copy: Some(CopyFigures { permille: 250, bytes: 4096 }),
        };
        let figures = SeatFigures { seat: SeatId(5), ranges: vec![range], lease_ms: 1500, ..SeatFigures::default() };
        let pauses = Pauses { count: 3, within: [0, 1, 1, 0, 0, 0, 0, 0, 0, 0], total_us: 20_006_000 };
        let tally = Tally { pauses, ..Tally::default() };
        let node = NodeSample { is_member: true, tally, chain: (1, 300), clients: (0, 0) };
        let relay = (Counts { relayed: 4, passed_on: 2 }, 1);
        SeatSample {
            figures,
            member: "n1".into(),
            front: None,
            node: Some(node),
            managers: 1,
            leaderless_ms: 0,
            waits_for: None,
            certificate: None,
            relay,
        }
    }

    #[test]
    fn a_range_is_told_with_its_part_its_lag_and_its_copy() {
        let mut page = Page::default();
        measure(&sample(), &mut page);
        let text = page.text();
        for line in [
            "fawn_seat_info{seat=\"5\",member=\"n1\"} 1",
            "fawn_range_epoch{seat=\"5\",range=\"7\"} 3",
            "fawn_range_role{seat=\"5\",range=\"7\",role=\"mid\"} 1",
            "fawn_range_lag_records{seat=\"5\",range=\"7\"} 3",
            "fawn_range_copy_bytes{seat=\"5\",range=\"7\"} 4096",
            "fawn_range_copy_progress_ratio{seat=\"5\",range=\"7\"} 0.25",
            "fawn_node_lease_seconds{seat=\"5\"} 1.5",
            "fawn_node_ranges{seat=\"5\",role=\"mid\"} 1",
            "fawn_node_ranges{seat=\"5\",role=\"head\"} 0",
            "fawn_node_lag_records{seat=\"5\"} 3",
            "fawn_node_pause_seconds_bucket{seat=\"5\",le=\"0.002\"} 1",
            "fawn_node_pause_seconds_bucket{seat=\"5\",le=\"0.01\"} 2",
            "fawn_node_pause_seconds_bucket{seat=\"5\",le=\"+Inf\"} 3",
            "fawn_node_pause_seconds_sum{seat=\"5\"} 20.006",
            "fawn_node_inbox_bytes{seat=\"5\",lane=\"chain\"} 300",
            "fawn_relayed_messages_total{seat=\"5\"} 4",
            "fawn_links_broken{seat=\"5\"} 1",
        ] {
            assert!(text.lines().any(|told| told == line), "{line} is in\n{text}");
        }
        let mut page = Page::without_ranges();
        measure(&sample(), &mut page);
        let text = page.text();
        assert!(!text.contains("fawn_range_") && text.contains("fawn_node_lag_records"), "{text}");
    }

    #[test]
    fn a_seat_without_lease_life_or_managers_is_in_trouble() {
        let of = |change: fn(&mut SeatSample)| {
            let mut sample = sample();
            change(&mut sample);
            troubles(&sample).join("; ")
        };
        assert_eq!(of(|_| {}), "");
        assert!(of(|sample| sample.figures.lease_ms = 0).starts_with("n1, seat 5: its node has no lease"));
        let without_ranges = of(|sample| {
            sample.figures.lease_ms = 0;
            sample.figures.ranges.clear();
        });
        assert_eq!(without_ranges, "", "it has nothing to answer reads of");
        let sealed = of(|sample| {
            (sample.figures.ranges[0].epoch, sample.figures.ranges[0].role) = (Epoch(0), Role::Sealed);
        });
        assert!(sealed.contains("none of its ranges is in service: 1 wait until the managers"), "{sealed}");
        assert!(of(|sample| sample.leaderless_ms = 5000).contains("no contact with a leading manager for 5 s"));
        assert_eq!(of(|sample| sample.leaderless_ms = 1000), "", "another may be elected");
        assert!(of(|sample| sample.node.as_mut().unwrap().is_member = false).contains("have not admitted its node"));
        assert!(of(|sample| sample.figures.trouble = Some("it is ill".into())).contains("it is ill"));
        assert!(of(|sample| sample.waits_for = Some("no chain exists yet".into())).contains("no chain exists"));
    }
}
