//! LMDB: a copy-on-write B-tree in a mapped file.
#![allow(unsafe_code, reason = "whoever maps a file promises that nobody else changes it")]

use std::time::Duration;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};

use crate::engine::{AckPolicy, PutBatch, Engine, EngineReader, Settings};

/// Addresses that are set apart, over bytes of keys and values: a page may be half empty, and there are older versions.
const MAP_OVER_USER: u64 = 6;
const LEAST_MAP_BYTES: u64 = 1 << 30;
/// Threads that may read.
const READERS: u32 = 4200;

/// An open database.
pub struct Lmdb {
    env: Env,
    database: Database<Bytes, Bytes>,
    page_cache: u64,
}

/// Its version.
pub fn version() -> String {
    let version = heed::lmdb_version();
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}

impl Lmdb {
    /// Opens or makes it.
    ///
    /// # Errors
    /// What the library says.
    pub fn open(settings: &Settings) -> anyhow::Result<Self> {
        let map = (settings.user_bytes() * MAP_OVER_USER).max(LEAST_MAP_BYTES).next_multiple_of(1 << 20);
        let mut options = EnvOpenOptions::new();
        options.map_size(map as usize).max_readers(READERS);
        let unsynced = if settings.ack == AckPolicy::Durable { EnvFlags::empty() } else { EnvFlags::NO_SYNC };
        // SAFETY: a crash of the system may cost unsynced data; then this benchmark loads them anew. No lock is left out.
        unsafe { options.flags(EnvFlags::NO_READ_AHEAD | unsynced) };
        // SAFETY: the directory is this process's own, which opens it once; nobody changes the file beside it.
        let env = unsafe { options.open(&settings.dir) }?;
        let mut transaction = env.write_txn()?;
        let database = env.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Self { env, database, page_cache: settings.memory })
    }
}

impl Engine for Lmdb {
    fn put(&self, batch: &PutBatch) -> anyhow::Result<()> {
        let mut transaction = self.env.write_txn()?;
        for (key, value) in batch.iter() {
            self.database.put(&mut transaction, key, value)?;
        }
        Ok(transaction.commit()?)
    }

    fn reader(&self, _: bool) -> anyhow::Result<Box<dyn EngineReader + '_>> {
        Ok(Box::new(LmdbReader(self)))
    }

    fn sync(&self) -> anyhow::Result<()> {
        Ok(self.env.force_sync()?)
    }

    fn settle(&self) -> anyhow::Result<Duration> {
        self.sync()?;
        Ok(Duration::ZERO)
    }

    fn page_cache(&self) -> Option<u64> {
        Some(self.page_cache)
    }

    fn shares(&self) -> String {
        format!("the system's page cache {} MiB; it has none of its own", self.page_cache >> 20)
    }
}

struct LmdbReader<'e>(&'e Lmdb);

impl EngineReader for LmdbReader<'_> {
    fn get(&mut self, key: &[u8], value: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        // The reader's slot is the thread's, so that this is cheap.
        let transaction = self.0.env.read_txn()?;
        let found = self.0.database.get(&transaction, key)?;
        if let Some(found) = found {
            value(found);
        }
        Ok(found.is_some())
    }
}
