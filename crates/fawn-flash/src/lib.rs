//! Flash files for `fawn-store`, and its blocking API for embedding.
//!
//! # Layout
//!
//! * [`Db`]: the store for programs that embed it: blocking calls from any number of threads. Start here.
//! * [`Directory`]: a node's data directory: format, lock, secret, one directory of files a store.
//! * [`MemberDirectory`]: the same for a node of a cluster, or one that is to be.
//! * [`BulkLoad`]: much that is new into a directory that nobody has open.
//! * [`Engine`]: one store and the threads that work for it, for an event loop.
//! * [`Reader`]: cold reads for event loops, by `io_uring` or a pool of threads.
//! * [`clock`]: what time it is for the process.
//! * [`file_system()`]: which file system a directory is on. [`Files`]: the store's [`Flash`](fawn_store::flash::Flash) on real files.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bulk;
pub mod db;
mod directory;
mod engine;
mod files;
mod os;
pub mod reader;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod uring;

pub use bulk::{BulkLoad, BulkOptions};
pub use db::{Condition, Db, DbOptions, DbStats, Error, Extras, Item, Items, Scan, WriteOutcome};
pub use directory::{Directory, DirectoryError, FORMAT_VERSION, MAX_STORES, MemberDirectory, interval_of, store_of};
pub use engine::{Engine, PollOutcome, StoreHandle};
pub use fawn_store::{Ack, Stats};
pub use files::overlay::Overlay;
pub use files::{Caching, DeviceTraffic, Files};
pub use os::file_system::file_system;
pub use os::open_file::OpenFile;
pub use os::threads::guarded;
pub use os::{clock, descriptors};
pub use reader::{Issuer, ReadPath, Reader, ReaderOptions};
