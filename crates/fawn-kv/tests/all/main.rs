//! The operations as a memcached client meets them: protocol in, protocol out, over a map.

#![allow(clippy::unwrap_used)]

mod conversations;
mod model;
mod operations;
