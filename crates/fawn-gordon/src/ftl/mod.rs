//! A flash translation layer after Gordon's: page mapping over super-pages, several write points, recovery from flash alone.
//!
//! In the order in which a request meets them:
//!
//! * [`requests`]: what the host asks and is answered. [`settings`]: every technique is a switch of its own.
//! * [`device`]: requests cut into super-page accesses, with time. [`backend`]: the FTL on its
//!   [`FlashArray`](crate::flash::FlashArray), which cleans by itself. [`power`]: what a power cut leaves.
//! * [`translation`]: where pages go and what becomes invalid, without time. [`table`]: the LBA table. [`allocation`]: blocks and
//!   write points. [`striping`]: super-pages.
//! * [`cleaning`]: which block is cleaned. [`wear`]: levelling, and blocks that wear out.
//! * [`medium`]: what is on flash. [`recovery`]: the FTL rebuilt from it. [`injected_bugs`]: rules that tests leave out.
//! * [`warm_up`], [`filling`]: states to begin a measurement with. [`measurement`]: those of the paper. [`memory`]: the DRAM that
//!   all this takes.

pub mod allocation;
pub mod backend;
pub mod blocks;
pub mod cleaning;
pub mod device;
pub mod error;
pub mod filling;
pub mod injected_bugs;
pub mod measurement;
pub mod medium;
pub mod memory;
pub mod power;
pub mod recovery;
pub mod requests;
pub mod settings;
pub mod striping;
pub mod table;
pub mod translation;
pub mod warm_up;
pub mod wear;

mod cleaner;
mod closed_blocks;
mod collecting;
mod divisor;
mod hash;
mod host_queue;
mod pieces;
mod scan;
mod space;
mod tickets;
mod write_points;
mod writing;

pub use device::Device;
pub use error::FtlError;
pub use medium::{Medium, TornPage};
pub use requests::{ArrivalMode, HostKind, HostReply, HostRequest, RunReport};
pub use settings::FtlSettings;
pub use striping::{Layout, Stripe};
pub use translation::{HostRoom, Translation};
