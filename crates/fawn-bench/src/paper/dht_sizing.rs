//! FAWN-DHT, §5.2: the power and the cost of a cluster of 720 nodes, computed from the report's own inputs.

use super::finding::Finding;

/// Computes it.
///
/// # Errors
/// None.
#[allow(clippy::unnecessary_wraps, reason = "all experiments are functions of one type")]
pub fn run(_: &Run<'_>) -> Result<Finding, Error> {
    Ok(super::computed::finding(&fawn_plan::paper::dht_cluster()))
}
