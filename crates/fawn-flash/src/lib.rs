//! Flash files for `fawn-store`, and its blocking API for embedding.
//!
//! # Layout
//!
//! Each module uses those below it alone.
//!
//! | module | what it is |
//! |---|---|
//! | `bulk` | [`BulkLoad`]: a large sorted load into a directory that nobody has open |
//! | [`db`] | [`Db`]: the store for programs that embed it: blocking calls from any number of threads. Start here. |
//! | `engine` | [`Engine`]: one store and the threads that work for it, for an event loop |
//! | `directory` | [`Directory`]: a node's data directory; [`MemberDirectory`]: that of a cluster's node |
//! | [`reader`] | [`Reader`]: cold reads for event loops, by `io_uring` or a pool of threads |
//! | `files` | [`Files`]: the store's [`Flash`](fawn_store::flash::Flash) on real files; [`Overlay`]: files that take no writes |
//! | `uring` | `io_uring` for threads that wait for what they read or write |
//! | `os` | what the system gives: [`clock`], [`descriptors`], [`file_system()`], threads, random numbers |
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
pub use db::{Condition, Db, DbOptions, DbScan, DbStats, Error, Extras, Items, StoredItem, WriteOutcome};
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
