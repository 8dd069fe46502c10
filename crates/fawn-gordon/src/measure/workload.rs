//! The requests that a measurement issues, and when.

use serde::Serialize;

use super::address_map::AddressMap;
use crate::trace::{Access, BlockRequest};

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// At their own times.
    Timed,
    /// As soon as the device's queue has a place.
    Saturated,
}

/// Requests on a device: times from 0 and never backwards, addresses that exist, for as many requests as were asked for.
#[derive(Debug)]
pub struct RequestSupply<I> {
    requests: I,
    map: AddressMap,
    first_ns: u64,
    /// Trace seconds in one simulated second.
    speed: f64,
    last_ns: u64,
}

impl<I: Iterator<Item = BlockRequest>> RequestSupply<I> {
    /// Of requests whose first time is `first_ns`, `speed` times as fast as they were.
    pub fn new(requests: I, map: AddressMap, first_ns: u64, speed: f64) -> Self {
        Self { requests, map, first_ns, speed, last_ns: 0 }
    }

    /// How addresses were fitted so far.
    pub fn address_map(&self) -> &AddressMap {
        &self.map
    }
}

impl<I: Iterator<Item = BlockRequest>> Iterator for RequestSupply<I> {
    type Item = BlockRequest;

    fn next(&mut self) -> Option<BlockRequest> {
        loop {
            let request = self.requests.next()?;
            let Some(request) = self.map.place(&request) else { continue };
            let time_ns = (request.time_ns.saturating_sub(self.first_ns) as f64 / self.speed) as u64;
            self.last_ns = self.last_ns.max(time_ns);
            return Some(BlockRequest { time_ns: self.last_ns, ..request });
        }
    }
}

/// Turns a share of requests into discards, evenly.
#[derive(Debug)]
pub struct WithDiscards<I> {
    requests: I,
    share: f64,
    owed: f64,
}

impl<I> WithDiscards<I> {
    /// This share of `requests`, 0 to 1.
    pub fn new(requests: I, share: f64) -> Self {
        Self { requests, share, owed: 0.0 }
    }
}

impl<I: Iterator<Item = BlockRequest>> Iterator for WithDiscards<I> {
    type Item = BlockRequest;

    fn next(&mut self) -> Option<BlockRequest> {
        let request = self.requests.next()?;
        self.owed += self.share;
        if self.owed >= 1.0 {
            self.owed -= 1.0;
            return Some(BlockRequest { access: Access::Discard, ..request });
        }
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn request(time_ns: u64, device: u32) -> BlockRequest {
        BlockRequest { time_ns, device, access: Access::Write, offset: 0, bytes: 512, response_ns: None }
    }

    #[test]
    fn times_begin_at_zero_are_scaled_and_never_run_backwards() {
        let requests = [(1_000, 1), (3_000, 2), (2_000, 1), (5_000, 1)].map(|(time, device)| request(time, device));
        let map = AddressMap::new(&BTreeMap::from([(1, 512), (2, 512)]), 1 << 30);
        let supply = RequestSupply::new(requests.into_iter(), map, 1_000, 2.0);
        let times: Vec<u64> = supply.map(|request| request.time_ns).collect();
        assert_eq!(times, [0, 1_000, 1_000, 2_000]);
    }

    #[test]
    fn discards_have_their_share() {
        let all = WithDiscards::new((0..100).map(|at| request(at, 0)), 0.25);
        assert_eq!(all.filter(|request| request.access == Access::Discard).count(), 25);
    }
}
