//! redb: a copy-on-write B-tree.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase as _, TableDefinition};

use crate::engine::{AckPolicy, PutBatch, Engine, EngineReader, Settings};

const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");
/// What commits without a sync leave unused is found again after one with it; so there is one after so many bytes.
const BYTES_A_SYNC: u64 = 64 << 20;

/// An open database.
pub struct Redb {
    database: Database,
    ack: AckPolicy,
    unsynced_bytes: AtomicU64,
    cache: u64,
    page_cache: u64,
}

/// Its version.
pub fn version() -> String {
    env!("REDB_VERSION").to_owned()
}

impl Redb {
    /// Opens or makes it.
    ///
    /// # Errors
    /// What the library says.
    pub fn open(settings: &Settings) -> anyhow::Result<Self> {
        let (cache, page_cache) = (settings.memory / 2, settings.memory / 2);
        let database = Database::builder().set_cache_size(cache as usize).create(settings.dir.join("entries.redb"))?;
        let redb = Self { database, ack: settings.ack, unsynced_bytes: AtomicU64::new(0), cache, page_cache };
        redb.commit(&PutBatch::new(settings.value_bytes), Durability::Immediate)?;
        Ok(redb)
    }

    fn commit(&self, batch: &PutBatch, durability: Durability) -> anyhow::Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        {
            let mut table = transaction.open_table(ENTRIES)?;
            for (key, value) in batch.iter() {
                table.insert(&key[..], value)?;
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Engine for Redb {
    fn put(&self, batch: &PutBatch) -> anyhow::Result<()> {
        let unsynced = self.unsynced_bytes.fetch_add(batch.bytes(), Ordering::Relaxed);
        if self.ack == AckPolicy::Durable || unsynced > BYTES_A_SYNC {
            self.unsynced_bytes.store(0, Ordering::Relaxed);
            return self.commit(batch, Durability::Immediate);
        }
        self.commit(batch, Durability::None)
    }

    fn reader(&self, is_changing: bool) -> anyhow::Result<Box<dyn EngineReader + '_>> {
        Ok(Box::new(RedbReader { of: &self.database, is_changing, table: None }))
    }

    fn sync(&self) -> anyhow::Result<()> {
        self.commit(&PutBatch::new(0), Durability::Immediate)
    }

    fn settle(&self) -> anyhow::Result<Duration> {
        self.sync()?;
        Ok(Duration::ZERO)
    }

    fn page_cache(&self) -> Option<u64> {
        Some(self.page_cache)
    }

    fn shares(&self) -> String {
        format!("its cache {} MiB, the system's page cache {} MiB", self.cache >> 20, self.page_cache >> 20)
    }
}

struct RedbReader<'d> {
    of: &'d Database,
    /// What was put since must be found.
    is_changing: bool,
    table: Option<ReadOnlyTable<&'static [u8], &'static [u8]>>,
}

impl EngineReader for RedbReader<'_> {
    fn get(&mut self, key: &[u8], value: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        if self.is_changing {
            self.table = None;
        }
        let table = match &self.table {
            Some(table) => table,
            None => self.table.insert(self.of.begin_read()?.open_table(ENTRIES)?),
        };
        let found = table.get(key)?;
        if let Some(found) = &found {
            value(found.value());
        }
        Ok(found.is_some())
    }
}
