//! SOSP 2009, Table 4: what six systems cost over three years, computed from the paper's own inputs.

use crate::finding::Finding;

/// Computes it.
pub fn finding() -> Finding {
    crate::cost::finding(&fawn_plan::paper::cost())
}
