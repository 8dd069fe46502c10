//! `io_uring` for threads that wait: reads in batches, and writes that go on while their writer prepares the next.
//!
//! The ring of an event loop is `reader/ring.rs`.

pub mod async_writer;
pub mod batch_reader;
mod setup;
