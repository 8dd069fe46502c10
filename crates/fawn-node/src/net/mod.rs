//! Connections of clients: sockets, parsing, replies that wait, and bounds on what a client can make the node hold.

pub mod admission;
pub mod auth;
pub mod backpressure;
pub mod connection;
pub mod connection_table;
pub mod dispatch;
pub mod group;
pub mod key_move;
pub mod key_scan;
pub mod listen;
pub mod memory;
pub mod output;
pub mod prefetch;
pub mod reaper;
pub mod reply_queue;
pub mod router;
pub mod tls;
pub mod worker;
