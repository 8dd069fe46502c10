//! Whole nodes on real sockets, over stores in memory and on flash.
#![allow(clippy::format_push_string, clippy::format_collect)] // readable beats fast in a test

mod cross;
mod flush;
mod group;
pub mod harness;
mod http;
mod large;
mod limits;
mod moves;
mod order;
mod protocol;
mod real;
mod resp;
mod room;
mod stopping;
mod transport;
