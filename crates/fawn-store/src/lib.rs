//! FAWN-DS: the log-structured flash store.

pub mod directory;
pub mod flash;
pub mod index;
pub mod log;
pub mod manifest;
pub mod page;
pub mod record;
