//! A memcached client for loading and dumping: blocking calls, and pipelines with many requests in flight.
//!
//! Everything is said in the meta protocol (`mg`, `ms`, `md`, `mn`), because it alone carries flags, expiry and binary
//! keys both ways in one round trip. Keys are listed with `lru_crawler metadump`.

mod address;
mod budget;
mod clock;
mod connection;
mod error;
mod failure;
mod fetch;
mod listing;
mod pipeline;
mod reply;
mod request;
mod stream;

pub use address::Address;
pub use budget::{Budget, Permit};
pub use clock::{ServerClock, set_now, unix_now};
pub use connection::Connection;
pub use error::ClientError;
pub use failure::Failure;
pub use fetch::{Fetched, Missed, fetch_all};
pub use pipeline::{Answers, Batch, run_pipeline};
pub use reply::{Reply, flag};
pub use request::{
    Binary, KeyError, LONGEST_RELATIVE_EXPIRY, can_be_asked_for, check_key, check_stored_key, is_plain_key,
    push_delete, push_get, push_set, push_set_for,
};
pub use stream::{Credentials, Endpoint, Tls};
