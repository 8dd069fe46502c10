//! Whole nodes on real sockets, over stores in memory.

mod cross;
mod harness;
mod limits;
mod order;
mod protocol;
mod stopping;
mod transport;
