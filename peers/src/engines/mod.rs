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

use crate::engine::{Engine, Settings};

/// An engine by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// `RocksDB` of the system
    Rocksdb,
    /// LMDB
    Lmdb,
    /// `BerkeleyDB`'s hash, of the system
    Bdb,
    /// fjall
    Fjall,
    /// redb
    Redb,
}

impl Kind {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rocksdb => "rocksdb",
            Self::Lmdb => "lmdb",
            Self::Bdb => "bdb",
            Self::Fjall => "fjall",
            Self::Redb => "redb",
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
            Self::Bdb => bdb::version(),
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
            Self::Bdb => Box::new(bdb::Bdb::open(settings)?),
            #[cfg(feature = "fjall")]
            Self::Fjall => Box::new(fjall::Fjall::open(settings)?),
            #[cfg(feature = "redb")]
            Self::Redb => Box::new(redb::Redb::open(settings)?),
            #[allow(unreachable_patterns, reason = "with all features there is no other")]
            other => anyhow::bail!("fawn-peers was built without {0}: build it with --features {0}", other.name()),
        })
    }
}
