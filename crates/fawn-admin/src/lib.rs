//! The admin port of a process: what it has done and how it does (`/metrics`, as Prometheus reads it), and whether it serves
//! (`/health`).
//!
//! Whoever has something to tell puts a [`Source`] on the process' [`Board`]; the [`Server`] asks all of them when somebody
//! asks it. Nothing is counted here: sources read what event loops count for themselves.
//!
//! # Layout
//!
//! * `family`: what a metric is called and means; [`families!`] declares those of a crate. `page`: their text.
//! * `board`: sources, and what keeps the process from serving. `process`: figures of any process.
//! * `server`: HTTP, in a thread of its own.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod board;
mod family;
mod page;
pub mod process;
mod server;

pub use board::{Board, Source};
pub use family::{Family, MetricKind};
pub use page::{Number, Page};
pub use server::{AdminError, Server};
