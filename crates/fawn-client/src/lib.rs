//! A client of a FAWN cluster, for programs that do without memcached's protocol.
//!
//! It learns from the managers where keys lie and who owns them, and asks the owner of each key itself, over one
//! connection to each. What is not answered is asked again under the same name, wherever the key has gone meanwhile, so that
//! it is carried out once; what is not answered in time ends with an [`Error`] that says whether anything may have been done.
//! That something is not there is no error, and something else than that it is empty.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use fawn_client::{Client, Item, Options};
//! use std::time::Duration;
//!
//! let client = Client::connect(Options::new(["10.0.0.1:7400"])).await?;
//! client.put("greeting", "hello, deer").await?;
//! client.put("note", Item::new("gone in an hour").expires_in(Duration::from_hours(1))).await?;
//! let greeting = client.get("greeting").await?.expect("it was just put");
//! assert_eq!(greeting.bytes, b"hello, deer");
//! assert_eq!(client.get("nothing").await?, None);
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//!
//! * [`Client`]: what can be asked; [`Batch`]: many at once; [`Dump`]: all that there is; [`blocking`]: the same without a runtime.
//! * [`Options`], [`Error`], [`ConnectError`]; [`Value`], [`Item`], [`Swap`], [`Removal`].
//! * `driver`: the task that owns the connections and the machine (`fawn_kv::client`) that decides whom to ask. `lookout`: finding
//!   managers. `links`: connections.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod batch;
pub mod blocking;
mod client;
mod driver;
mod dump;
mod error;
mod links;
mod lookout;
mod options;
mod value;

pub use batch::{Batch, BatchOutcome};
pub use client::Client;
pub use dump::Dump;
pub use error::{ConnectError, Error};
pub use fawn_kv::client::{MOST_CONTINUATION_BYTES, MOST_WRITE_BYTES};
pub use fawn_kv::scan::{Bookmark, Cut, Event, What};
pub use fawn_tls::Material;
pub use options::Options;
pub use value::{Item, Removal, Swap, Value};
