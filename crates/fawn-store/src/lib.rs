//! FAWN-DS: the log-structured flash store.

pub mod flash;
pub mod page;
pub mod record;
