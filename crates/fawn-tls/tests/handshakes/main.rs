//! Handshakes between those who take part in a cluster, with certificates as `fawn certs` makes them.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod cluster;
mod directory;
mod reload;
mod roles;
mod strangers;
