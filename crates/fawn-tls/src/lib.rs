//! TLS of a cluster: who a certificate says that somebody is, the configurations of `rustls`, and the certificates.
//!
//! A cluster has one authority. Whoever takes part holds a certificate of it, whose names say in which roles:
//! `NAME.member.fawn`, `manager.fawn`, `operator.fawn`, `client.fawn`. Links between the parts are TLS 1.3 with a
//! certificate on both sides; clients of memcached's port need none.
//!
//! # Layout
//!
//! | module | what it is |
//! |---|---|
//! | [`identity`] | roles, and the names that stand for them |
//! | [`config`] | configurations for links and for clients, from files |
//! | [`reload`] | configurations that follow their files |
//! | [`certificate`] | what a certificate says: names, addresses, validity |
//! | [`authority`] | makes certificates |
//! | [`directory`] | a directory of certificates: init, add, renew, show |
//! | [`files`] | PEM files, and who may read them |
//! | [`advice`] | what to do where two sides do not agree about TLS |
//!
//! Keys never come into a log: no type here shows them.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod advice;
pub mod authority;
pub mod certificate;
pub mod config;
pub mod directory;
mod error;
pub mod files;
pub mod identity;
pub mod reload;

pub use config::{Links, Material, for_clients, links};
pub use error::TlsError;
pub use identity::{Identity, Role, server_name_for};
pub use reload::Reloading;
