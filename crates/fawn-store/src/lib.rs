//! FAWN-DS: the log-structured flash store.

pub mod flash;
pub mod log;
pub mod manifest;
pub mod page;
pub mod record;
