//! Reading a running Redis, or another server of its protocol: every key of one database, with what it holds.
//!
//! Keys are listed with SCAN. Of each batch the types are asked for, then the sizes, and last the values, all in pipelines over one
//! connection. A value that is larger than wanted is never sent. What is a string or a hash comes out as a [`RedisRecord`]; the
//! rest is counted in [`LeftOut`], with one key for each type.
//!
//! A connection that breaks is made again, and the listing goes on from its cursor. A server that was started again gives its
//! cursors another meaning: then the listing begins again.

mod connection;
mod error;
mod info;
mod left_out;
mod reader;
#[cfg(test)]
mod tests;

pub use connection::RedisSource;
pub use error::RedisError;
pub use left_out::{LeftOut, LeftOutKeys};
pub use reader::{RedisReader, RedisRecord};
