//! Key-value stores on a simulated flash device: what a put costs the flash in the end.
//!
//! FAWN's own store is the real one: [`fawn_store`] with its commit log, seals, merges and recovery, over an FTL on a simulated
//! array, in simulated time. Beside it are two patterns of requests: a store that updates pages in place, and a log-structured
//! merge tree with leveled compaction.
//!
//! * [`settings`]: workload, device, stores. [`scaled`]: a published design made small enough to be overwritten several times.
//! * [`volume`]: a file system as far as it matters here. [`disk`]: the device under it, with the bytes of files.
//! * [`world`]: one event loop and one background thread on a disk, in simulated time. [`clients`]: who asks.
//! * [`fawn`]: FAWN's store. [`page_store`], [`lsm`]: the two patterns.
//! * [`store_run`]: what a trial needs of them. [`trial`]: runs one, counting by [`snapshot`]. [`result`]: what came of it.
//!   [`report`]: several beside each other.
//!
//! What is left out: the bus to the host, the processor's time but for a constant an operation, and a write cache in the drive. A
//! write is acknowledged once it is on flash, so that a flush of the drive costs nothing.

pub mod clients;
pub mod disk;
pub mod fawn;
pub mod lsm;
pub mod page_store;
pub mod report;
pub mod result;
pub mod scaled;
pub mod settings;
pub mod snapshot;
pub mod store_run;
pub mod trial;
pub mod volume;
pub mod world;

mod free_space;
mod levels;
mod pace;
mod versions;

pub use report::{StoreComparison, StoreReport};
pub use result::StoreResult;
pub use settings::{DriveSettings, StoreDesign, StoreTrialError, StoreWorkload, StuckTrial, WorkloadNumber};
pub use trial::run;
