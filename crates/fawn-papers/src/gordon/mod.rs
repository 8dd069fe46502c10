//! Gordon, ASPLOS 2009: simulated by `fawn-gordon`, or computed from the paper's own inputs. Nothing is measured on this machine.

pub(crate) mod figure_4;
pub(crate) mod figure_5;
pub(crate) mod figure_6;
pub(crate) mod figure_7;
pub(crate) mod figure_8;
pub(crate) mod section_4_1;
pub(crate) mod section_6_3;
pub(crate) mod survey;
pub(crate) mod table_1;
pub(crate) mod table_2;
pub(crate) mod table_3;
pub(crate) mod table_4;
pub(crate) mod table_5;
pub(crate) mod table_6;
pub(crate) mod tables_7_8;

use crate::finding::{Finding, RowOrigin};

const MIB: f64 = 1_048_576.0;

/// A finding of simulations.
fn simulated(columns: &[(&str, &str, Option<usize>)]) -> Finding {
    Finding { state: RowOrigin::Simulated, ..Finding::of(columns) }
}

/// A finding of the paper's own inputs.
fn computed(columns: &[(&str, &str, Option<usize>)]) -> Finding {
    Finding { state: RowOrigin::Computed, ..Finding::of(columns) }
}

/// What every finding says that runs on traces.
fn synthetic(finding: &mut Finding) {
    finding.note(
        "the paper's traces are lost. These runs use synthetic traces with the bytes of Table 2, whose processor \
         activity is fitted to the speeds of Table 6",
    );
}
