//! The commands about a cluster.
//!
//! # Layout
//!
//! * [`arguments`]: their arguments. [`manager`]: `fawn manager` and what is below it; `backup`: its backups.
//!   `managers`: questions to the managers.
//! * [`status`]: `fawn status`, as a table or JSON. [`member`]: `fawn node drain` and `remove`.
//! * [`settings`]: `fawn cluster set` and `fawn rebalance`.

pub mod arguments;
mod backup;
pub mod manager;
mod managers;
pub mod member;
pub mod settings;
pub mod status;

pub use arguments::CertsArguments;
