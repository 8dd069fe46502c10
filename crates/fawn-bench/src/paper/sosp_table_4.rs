//! SOSP 2009, Table 4: what six systems cost over three years, computed from the paper's own inputs.

use super::finding::Finding;

/// Computes it.
pub fn finding() -> Finding {
    super::computed::finding(&fawn_plan::paper::cost())
}
