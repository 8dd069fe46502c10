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

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod behind;
mod bell;
mod bulk;
pub mod clock;
pub mod db;
pub mod descriptors;
mod directory;
mod engine;
mod file_system;
mod files;
mod flash;
mod helper;
mod names;
mod overlay;
mod pace;
mod patience;
pub mod reader;
mod signal;
mod spare;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod together;
mod transfer;

pub use bulk::{BulkLoad, BulkOptions};
pub use db::{Condition, Db, DbOptions, DbStats, Error, Extras, Item, Items, PutIf, Scan};
pub use directory::text;
pub use directory::{Directory, DirectoryError, FORMAT_VERSION, MAX_STORES, MemberDirectory, interval_of, store_of};
pub use engine::{Engine, Polled, Tended};
pub use fawn_store::{Ack, Stats};
pub use file_system::file_system;
pub use files::{Caching, Files, OpenFile, Traffic};
pub use helper::guarded;
pub use overlay::Overlay;
pub use reader::{Issuer, ReadPath, Reader, ReaderOptions};
