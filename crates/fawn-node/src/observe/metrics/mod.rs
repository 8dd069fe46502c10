//! What a process that serves tells on its admin port: what its clients asked, how its stores do, and, in a cluster, its
//! seats.
//!
//! Counters of clients are read as they are, whenever they are asked for; the figures of stores and seats are asked of their
//! loops ([`crate::observe::samples`]).

mod families;
mod seats;
mod stores;

pub use families::FAMILIES;
pub use seats::LEADERLESS_MS;

use crate::observe::latency::{LatencySummary, RequestKind};
use crate::runtime::shared::{SharedState, StopReason};
use families as all;
use fawn_admin::process::CERTIFICATE_END;
use fawn_admin::{Page, Source};
use std::collections::BTreeMap;
use std::sync::Weak;

/// A process that serves; it tells nothing any more once it has stopped.
pub struct Serving(pub Weak<SharedState>);

impl Source for Serving {
    fn measure(&self, page: &mut Page) {
        let Some(shared) = self.0.upgrade() else { return };
        clients(&shared, page);
        loops(&shared, page);
        let samples = shared.ask_samples().samples;
        for sample in &samples {
            sample.stores.iter().for_each(|store| stores::measure(store, page));
            if let Some(seat) = &sample.seat {
                seats::measure(seat, page);
            }
        }
        // Stores of a device all have the same of it, and seats of a process the same certificate.
        stores::devices(samples.iter().flat_map(|sample| &sample.stores), page);
        let of_seats = samples.iter().filter_map(|sample| sample.seat.as_ref()?.certificate.clone());
        let expiries = shared.certificate_expiry().into_iter().chain(of_seats);
        let ends: BTreeMap<String, i64> =
            expiries.map(|expiry| (expiry.path.display().to_string(), expiry.validity.until)).collect();
        for (file, end) in ends {
            page.put(&CERTIFICATE_END, &[&file], end as f64);
        }
    }

    fn troubles(&self) -> Vec<String> {
        let Some(shared) = self.0.upgrade() else { return Vec::new() };
        let mut troubles: Vec<String> = shared.failure().map(StopReason::why).into_iter().collect();
        if shared.is_stopping() {
            troubles.push("it stops".to_owned());
            return troubles;
        }
        let asked = shared.ask_samples();
        troubles.extend(asked.stuck.iter().map(|number| format!("event loop {number} makes no progress")));
        let seats = asked.samples.iter().filter_map(|sample| sample.seat.as_ref());
        troubles.extend(seats.flat_map(seats::troubles));
        troubles
    }
}

/// What clients have asked.
fn clients(shared: &SharedState, page: &mut Page) {
    let totals = shared.totals();
    for (operation, result, count) in [
        ("get", "hit", totals.get_hits),
        ("get", "miss", totals.get_misses),
        ("set", "stored", totals.set_hits),
        ("set", "not_stored", totals.set_misses),
        ("cas", "stored", totals.cas_hits),
        ("cas", "changed", totals.cas_badval),
        ("cas", "miss", totals.cas_misses),
        ("delete", "hit", totals.delete_hits),
        ("delete", "miss", totals.delete_misses),
        ("incr", "hit", totals.incr_hits),
        ("incr", "miss", totals.incr_misses),
        ("decr", "hit", totals.decr_hits),
        ("decr", "miss", totals.decr_misses),
        ("touch", "hit", totals.touch_hits),
        ("touch", "miss", totals.touch_misses),
    ] {
        page.put(&all::OPERATIONS, &[operation, result], count);
    }
    for (reason, count) in [
        ("too_large", totals.store_too_large),
        ("no_memory", totals.store_no_memory),
        ("no_space", totals.store_no_space),
        ("unreadable", totals.unreadable),
        ("busy", totals.refused_busy),
        ("timed_out", totals.timed_out),
        ("unknown", totals.outcome_unknown),
        ("unavailable", totals.unavailable),
    ] {
        page.put(&all::REFUSALS, &[reason], count);
    }
    for what in RequestKind::ALL {
        let LatencySummary { buckets, count, sum_s } =
            LatencySummary::of(what, shared.latencies.iter().map(|one| &**one));
        page.put_histogram(&all::SECONDS, &[what.name()], buckets, (count, sum_s));
    }
    for (family, count) in [
        (&all::FLUSHES, totals.cmd_flush),
        (&all::RECEIVED, totals.bytes_read),
        (&all::SENT, totals.bytes_written),
        (&all::CONNECTIONS, totals.curr_connections),
        (&all::CONNECTIONS_LIMIT, shared.limits.connections as u64),
        (&all::ACCEPTED, totals.total_connections),
        (&all::REJECTED, totals.rejected_connections),
        (&all::ACCEPT_PAUSES, totals.accept_pauses),
        (&all::HANDSHAKES, totals.tls_handshakes),
        (&all::TLS_ERRORS, totals.tls_errors),
        (&all::DEVICE_ERRORS, totals.flash_read_errors),
    ] {
        page.put(family, &[], count);
    }
    page.put(&all::CLOSED, &["idle"], totals.idle_kicks);
    page.put(&all::CLOSED, &["stalled"], totals.stall_kicks);
    page.put(&all::AUTHENTICATIONS, &["admitted"], totals.auth_cmds.saturating_sub(totals.auth_errors));
    page.put(&all::AUTHENTICATIONS, &["refused"], totals.auth_errors);
}

/// How the event loops do.
fn loops(shared: &SharedState, page: &mut Page) {
    let totals = shared.totals();
    for (family, count) in [
        (&all::LOOPS, shared.counters.len() as u64),
        (&all::TURNS, totals.turns),
        (&all::WAKE_UPS, totals.wake_ups),
        (&all::REMOTE, totals.remote_requests),
        (&all::BUFFERED, totals.buffered_bytes),
        (&all::WAITING, totals.waiting),
        (&all::PAUSED, totals.paused),
        (&all::PARKED, totals.parked),
    ] {
        page.put(family, &[], count);
    }
    page.put(&all::LONG_TURNS, &["0.001"], totals.turns_over_1ms);
    page.put(&all::LONG_TURNS, &["0.01"], totals.turns_over_10ms);
    page.put(&all::LONGEST_TURN, &[], totals.longest_turn_us as f64 / 1e6);
}
