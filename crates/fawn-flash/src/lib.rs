//! Flash files for `fawn-store`, and its blocking API for embedding.
//!
//! # Layout
//!
//! * [`Directory`]: a node's data directory: format, lock, secret, one directory of files a store.
//! * [`Files`]: the store's [`Flash`](fawn_store::flash::Flash) on real files.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod descriptors;
mod directory;
mod files;
mod flash;
mod names;
mod transfer;

pub use directory::{Directory, DirectoryError, FORMAT_VERSION, MAX_STORES, interval_of, store_of};
pub use files::{Caching, Files, OpenFile};
