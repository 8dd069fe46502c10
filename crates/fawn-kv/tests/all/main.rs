//! From outside: the operations as a memcached client meets them, protocol in, protocol out, over a map; the ranges that
//! the manager decides on, and what everybody makes of the news of them.

#![allow(clippy::unwrap_used)]

mod adopt;
mod conversations;
mod model;
mod operations;
mod plan;
mod ranges;
