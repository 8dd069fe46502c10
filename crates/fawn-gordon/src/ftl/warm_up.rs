//! Brings a device to a state that a measurement can begin with, in a number of steps that is known beforehand.
//!
//! Nothing here takes simulated time.

use serde::{Deserialize, Serialize};

use super::device::Device;
use super::error::FtlError;

/// What a device is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarmUp {
    /// Nothing: every page was never written.
    Empty,
    /// Every logical page once, in order.
    Sequential,
    /// The same, then so many times as many random pages.
    Uniform(u32),
    /// The steady state under uniform random writes as theory has it: the share of valid pages falls exponentially with the age of
    /// a block (Desnoyers, SYSTOR 2012, for FIFO cleaning, which greedy cleaning comes close to). Each page is placed once. A few
    /// random writes follow, until cleaning goes on at its steady rate.
    ClosedForm,
}

/// Fills a device on which nothing was written yet.
///
/// # Errors
///
/// It is worn out by that.
///
/// # Panics
///
/// Something is under way, or the closed form is asked of a device that keeps its medium or has too few blocks for it
/// ([`Filling::has_closed_form`](super::filling::Filling::has_closed_form)).
pub fn settle(device: &mut Device, warm_up: WarmUp, seed: u64) -> Result<(), FtlError> {
    device.fill_untimed(|filling| match warm_up {
        WarmUp::Empty => Ok(()),
        WarmUp::Sequential => filling.sequential(),
        WarmUp::Uniform(passes) => {
            filling.sequential()?;
            filling.uniform(passes, seed)
        }
        WarmUp::ClosedForm => filling.steady_state(seed),
    })
}
