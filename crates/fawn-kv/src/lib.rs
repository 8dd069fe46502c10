//! FAWN-KV as pure state machines: the operations of the key-value service.
//!
//! # Layout
//!
//! * [`operation`]: what a client can ask of one key, and what the head of its chain makes of it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod operation;
