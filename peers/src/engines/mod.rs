//! The engines that this program was built with.

#[cfg(feature = "bdb")]
mod bdb;
#[cfg(feature = "fjall")]
mod fjall;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;

use clap::ValueEnum;
use fawn_bench::peers::BUILT_WITHOUT;

use crate::engine::{Engine, Settings};

/// An engine by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineKind {
    /// `RocksDB` of the system
    Rocksdb,
    /// LMDB
    Lmdb,
    /// `BerkeleyDB`'s hash, of the system
    Bdb,
    /// `BerkeleyDB`'s B-tree, of the system
    BdbBtree,
    /// fjall
    Fjall,
    /// redb
    Redb,
}

impl EngineKind {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rocksdb => "rocksdb",
            Self::Lmdb => "lmdb",
            Self::Bdb => "bdb",
            Self::BdbBtree => "bdb-btree",
            Self::Fjall => "fjall",
            Self::Redb => "redb",
        }
    }

    /// The feature with which it is built in.
    fn feature(self) -> &'static str {
        match self {
            Self::BdbBtree => Self::Bdb.name(),
            other => other.name(),
        }
    }

    /// The version of the engine itself.
    pub fn version(self) -> String {
        match self {
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => rocksdb::version(),
            #[cfg(feature = "lmdb")]
            Self::Lmdb => lmdb::version(),
            #[cfg(feature = "bdb")]
            Self::Bdb | Self::BdbBtree => bdb::version(),
            #[cfg(feature = "fjall")]
            Self::Fjall => fjall::version(),
            #[cfg(feature = "redb")]
            Self::Redb => redb::version(),
            #[allow(unreachable_patterns, reason = "with all features there is no other")]
            _ => "not built in".to_owned(),
        }
    }

    /// Opens its database, or makes it.
    ///
    /// # Errors
    /// What the engine says; that this program was built without it.
    pub fn open(self, settings: &Settings) -> anyhow::Result<Box<dyn Engine>> {
        Ok(match self {
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => Box::new(rocksdb::Rocks::open(settings)?),
            #[cfg(feature = "lmdb")]
            Self::Lmdb => Box::new(lmdb::Lmdb::open(settings)?),
            #[cfg(feature = "bdb")]
            Self::Bdb => Box::new(bdb::Bdb::open(settings, bdb::Method::Hash)?),
            #[cfg(feature = "bdb")]
            Self::BdbBtree => Box::new(bdb::Bdb::open(settings, bdb::Method::Tree)?),
            #[cfg(feature = "fjall")]
            Self::Fjall => Box::new(fjall::Fjall::open(settings)?),
            #[cfg(feature = "redb")]
            Self::Redb => Box::new(redb::Redb::open(settings)?),
            #[allow(unreachable_patterns, reason = "with all features there is no other")]
            other => {
                let (name, feature) = (other.name(), other.feature());
                anyhow::bail!("fawn-peers was {BUILT_WITHOUT} {name}: build it with --features {feature}")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for kind in EngineKind::value_variants() {
            assert_eq!(kind.to_possible_value().unwrap().get_name(), kind.name());
        }
    }
}
