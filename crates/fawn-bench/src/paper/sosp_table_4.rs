//! SOSP 2009, Table 4: what six systems cost over three years, computed from the paper's own inputs.

use super::finding::Finding;

/// Computes it.
///
/// # Errors
/// None.
#[allow(clippy::unnecessary_wraps, reason = "all experiments are functions of one type")]
pub fn run(_: &Run<'_>) -> Result<Finding, Error> {
    Ok(super::computed::finding(&fawn_plan::paper::cost()))
}
