//! The session and the responder from outside.

#![allow(clippy::unwrap_used)]

mod answers;
mod authentication;
mod properties;
mod requests;
mod transcript;
