//! Whole nodes on real sockets, over stores in memory and on flash.

mod cross;
mod harness;
mod limits;
mod order;
mod protocol;
mod real;
mod stopping;
mod transport;
