//! FAWN-DHT, §3.5: how large a front-end's cache has to be, computed.

use super::finding::Finding;

/// Computes it.
///
/// # Errors
/// None.
#[allow(clippy::unnecessary_wraps, reason = "all experiments are functions of one type")]
pub fn run(_: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = super::computed::finding(&fawn_plan::paper::dht_cache());
    finding.note("dht-figure-10 measures what a front-end's cache does for a cluster");
    finding
}
