//! Matrix products over matrix sizes: how efficiency falls where a matrix outgrows a cache (e-Energy'10 §3.4.1, Figures 4 and 5).
//!
//! * [`product`]: the product itself, column by column. [`arena`]: memory for matrices, on base or huge pages.
//! * [`sweep`]: products of all sizes, each for a fixed time. [`interchange`]: whether the compiler kept the order of the loops.
//! * [`output`]: a sweep as a table and as a page.

pub mod arena;
pub mod interchange;
pub mod output;
pub mod product;
pub mod sweep;

use std::io;

use fawn_meter::MeterError;

pub use arena::PageSize;
pub use interchange::InterchangeCheck;
pub use sweep::{MatrixPlan, MatrixSweep, run, sizes};

/// Why a matrix product was not measured.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// Too much memory.
    #[error("no memory for a matrix of {bytes} bytes ({source}): give a smaller --largest")]
    Memory {
        /// So many bytes.
        bytes: u64,
        /// What the system says.
        source: io::Error,
    },
    /// No size is between both.
    #[error("no matrix is between {smallest} and {largest} bytes: give a larger --largest or a smaller --smallest")]
    Sizes {
        /// The smallest that was asked for.
        smallest: u64,
        /// The largest.
        largest: u64,
    },
    /// The processor, its memory or the compiler is at fault.
    #[error("a product of {n} x {n} values is wrong by {difference:e}: check this machine's memory")]
    Wrong {
        /// Rows and columns.
        n: usize,
        /// The difference to the same product in the other order.
        difference: f64,
    },
    /// The meter.
    #[error(transparent)]
    Meter(#[from] MeterError),
}
