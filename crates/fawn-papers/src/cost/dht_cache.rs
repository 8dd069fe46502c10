//! FAWN-DHT, §3.5: how large a front-end's cache has to be, computed.

use crate::finding::Finding;

/// Computes it.
pub fn finding() -> Finding {
    let mut finding = crate::cost::finding(&fawn_plan::paper::dht_cache());
    finding.note("dht-figure-10 measures what a front-end's cache does for a cluster");
    finding
}
