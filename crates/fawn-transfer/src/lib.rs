//! Import and export: records from files, pipes and running servers into a server, a cluster or a directory, and back.
//!
//! A library without a command line: a program gives options, and a [`Ui`] for what a person sees meanwhile.
//!
//! # Layout
//!
//! * [`records`]: a record, and the file formats: one record a line, as tab-separated text or as JSON.
//! * [`key`]: which keys a server or a store takes. [`client`]: a blocking, pipelined memcached client.
//! * [`redis`]: reads a running Redis.
//! * [`load`]: into a server, with many sets in flight, or in bulk into a directory; resumable.
//! * [`dump`]: of a server, by listing its keys, or of a cluster; the latter is resumable.
//! * [`summary`]: what a transfer has come to. [`ui`]: what a person sees of it.
//! * [`checksum`]: whether a file is as an interrupted transfer left it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod checksum;
pub mod client;
pub mod dump;
pub mod key;
pub mod load;
pub mod records;
pub mod redis;
pub mod summary;
pub mod ui;

pub use dump::cluster::{ClusterDump, dump_cluster};
pub use dump::{DumpOptions, dump_server};
pub use load::{
    LoadOptions, LoadServer, NotResumable, OnError, RdbInput, ResumeState, copy, load_bulk, load_file, load_rdb,
    load_rdb_bulk, load_redis,
};
pub use records::{Format, Record};
pub use summary::TransferSummary;
pub use ui::{Progress, TransferExtent, Ui};
