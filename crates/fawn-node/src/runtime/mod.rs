//! What event loops run on: their threads, their clocks, and what passes between them.

pub mod acceptor;
pub mod buffers;
pub mod clock;
pub mod event_loop;
pub mod mesh;
pub mod reports;
pub mod server;
pub mod shared;
pub mod signals;
pub mod slab;
pub mod stop;
pub mod wake;
