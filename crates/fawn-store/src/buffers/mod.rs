//! Write buffers: records that are not sealed yet, in DRAM.
//!
//! # Layout
//!
//! * [`open_segment`]: an append-only buffer with a hash index. `arena`: its memory.
//! * `write_buffers`: the open segment and the frozen ones that wait for their seal.

mod arena;
pub mod open_segment;
mod write_buffers;

#[cfg(test)]
pub(crate) use arena::REFUSED;
pub(crate) use arena::{Arena, FETCHED_TOGETHER};
pub use write_buffers::WriteBuffers;
pub(crate) use write_buffers::{BufferPlace, UNLOGGED};
