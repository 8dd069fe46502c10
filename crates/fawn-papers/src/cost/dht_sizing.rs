//! FAWN-DHT, §5.2: the power and the cost of a cluster of 720 nodes, computed from the report's own inputs.

use crate::finding::Finding;

/// Computes it.
pub fn finding() -> Finding {
    crate::cost::finding(&fawn_plan::paper::dht_cluster())
}
