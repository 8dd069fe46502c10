//! Managers that run, on loopback addresses, and seats, newcomers and operators that a test plays.

#![allow(clippy::unwrap_used, missing_docs)]

mod alone;
mod caller;
mod elections;
mod persistence;
mod proxied;
mod secure;
mod storage;
mod three;
