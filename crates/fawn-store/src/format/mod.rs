//! The bytes of a store's files, except for the commit log's: `docs/data-log.md` gives every one.
//!
//! # Layout
//!
//! * [`record`]: one version of one key. [`large`]: the stub that stands for a value with a file of its own.
//! * [`page`]: pages with checksums. [`segment`]: sorted records, and what finds them.
//! * [`manifest`]: what is in a store.

pub mod large;
pub mod manifest;
pub mod page;
pub mod record;
pub mod segment;
