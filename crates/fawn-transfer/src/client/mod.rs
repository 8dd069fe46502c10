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
mod request;
mod stream;
mod window;

pub use address::{Address, AddressError};
pub use budget::{Budget, Permit};
pub use clock::{ServerClock, set_now, unix_now};
pub use connection::ServerConnection;
pub use error::ClientError;
pub use failure::FirstFailure;
pub use fawn_memcache::client::{MetaReply, flag};
pub use fetch::{FetchedRecords, MissedKeys, fetch_all};
pub use pipeline::{Answers, RequestBatch, run_pipeline};
pub use request::{LONGEST_RELATIVE_EXPIRY, push_delete, push_get, push_set, push_set_for};
pub use stream::{Credentials, Endpoint, Tls};

pub(crate) use error::{broken, excerpt};
pub(crate) use stream::ServerStream;
