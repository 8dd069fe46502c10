//! What event loops run on: their threads, their clocks, and what passes between them.

pub mod buffers;
pub mod clock;
pub mod event_loop;
pub mod mesh;
pub mod server;
pub mod shared;
pub mod signals;
pub mod slab;
pub mod wake;
