//! Why an FTL cannot be had, or goes on no longer.

use super::striping::StripeError;
use crate::flash::GeometryError;

/// An FTL that cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FtlError {
    /// The array cannot be simulated.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// The stripe does not fit.
    #[error(transparent)]
    Stripe(#[from] StripeError),
    /// The controller has too little DRAM.
    #[error("the FTL needs {needs} bytes of DRAM and the controller has {has}; choose larger super-pages")]
    Dram {
        /// Bytes that it needs.
        needs: u64,
        /// Bytes that there are.
        has: u64,
    },
    /// The spare blocks do not suffice for write points and cleaning.
    #[error(
        "{logical} of {pages} pages for the host leave cleaning no room, and at most {most} do; raise the spare factor or \
         the blocks of a plane"
    )]
    NoRoom {
        /// Logical pages by the spare factor.
        logical: u64,
        /// Logical pages at most.
        most: u64,
        /// Pages that hold data, spare ones included.
        pages: u64,
    },
    /// The spare factor is out of range.
    #[error("a spare factor of {0} is not between 0 and 1")]
    SpareFactor(f64),
    /// A number of the settings is too small.
    #[error("{name} is {value}; it must be at least {least}")]
    TooSmall {
        /// Which.
        name: &'static str,
        /// Its value.
        value: u32,
        /// What it must be at least.
        least: u32,
    },
    /// Too many blocks are worn out to hold what the host may write.
    #[error("the array is worn out: {retired} super-blocks have failed")]
    WornOut {
        /// Super-blocks out of service.
        retired: u32,
    },
}
