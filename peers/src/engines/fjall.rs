//! fjall: a log-structured merge tree, values in the tree.

use std::time::{Duration, Instant};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, config};

use crate::engine::{AckPolicy, PutBatch, Engine, QUIET, EngineReader, Settings};

const LEAST_MEMTABLE_BYTES: u64 = 512 << 10;

/// An open database.
pub struct Fjall {
    database: Database,
    keyspace: Keyspace,
    ack: AckPolicy,
    memtables: u64,
    cache: u64,
    page_cache: u64,
}

/// Its version.
pub fn version() -> String {
    env!("FJALL_VERSION").to_owned()
}

impl Fjall {
    /// Opens or makes it.
    ///
    /// # Errors
    /// What the library says.
    pub fn open(settings: &Settings) -> anyhow::Result<Self> {
        let memtable = (settings.memory / 8).max(LEAST_MEMTABLE_BYTES);
        let (cache, page_cache) = (settings.memory / 4, settings.memory / 2);
        let database = Database::builder(&settings.dir)
            .cache_size(cache)
            .manual_journal_persist(settings.ack != AckPolicy::Durable)
            .open()?;
        let bloom = config::BloomConstructionPolicy::BitsPerKey(settings.bloom_bits as f32);
        let filter = if settings.bloom_bits > 0.0 {
            config::FilterPolicyEntry::Bloom(bloom)
        } else {
            config::FilterPolicyEntry::None
        };
        let keyspace = database.keyspace("entries", || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(memtable)
                .expect_point_read_hits(false)
                .filter_policy(config::FilterPolicy::all(filter))
                // A small block cache has no room for a table's whole index.
                .index_block_partitioning_policy(config::PartitioningPolicy::all(true))
                .filter_block_partitioning_policy(config::PartitioningPolicy::all(true))
        })?;
        Ok(Self { database, keyspace, ack: settings.ack, memtables: 2 * memtable, cache, page_cache })
    }

    fn is_busy(&self) -> bool {
        self.database.outstanding_flushes() > 0
            || self.database.active_compactions() > 0
            || self.keyspace.sealed_memtable_count() > 0
    }
}

impl Engine for Fjall {
    fn put(&self, batch: &PutBatch) -> anyhow::Result<()> {
        let mut all = self.database.batch();
        if self.ack == AckPolicy::Durable {
            all = all.durability(Some(PersistMode::SyncData));
        }
        batch.iter().for_each(|(key, value)| all.insert(&self.keyspace, key, value));
        Ok(all.commit()?)
    }

    fn reader(&self, _: bool) -> anyhow::Result<Box<dyn EngineReader + '_>> {
        Ok(Box::new(FjallReader(&self.keyspace)))
    }

    fn sync(&self) -> anyhow::Result<()> {
        Ok(self.database.persist(PersistMode::SyncData)?)
    }

    fn settle(&self) -> anyhow::Result<Duration> {
        self.keyspace.rotate_memtable_and_wait()?;
        self.database.persist(PersistMode::SyncAll)?;
        let (mut quiet_since, mut compactions) = (Instant::now(), self.database.compactions_completed());
        while quiet_since.elapsed() < QUIET {
            let now = self.database.compactions_completed();
            if self.is_busy() || now != compactions {
                (quiet_since, compactions) = (Instant::now(), now);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(quiet_since.elapsed())
    }

    fn page_cache(&self) -> Option<u64> {
        Some(self.page_cache)
    }

    fn shares(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        format!(
            "two memtables {:.1} MiB, block cache {:.1} MiB, the system's page cache {:.1} MiB",
            mib(self.memtables),
            mib(self.cache),
            mib(self.page_cache)
        )
    }
}

struct FjallReader<'k>(&'k Keyspace);

impl EngineReader for FjallReader<'_> {
    fn get(&mut self, key: &[u8], value: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let found = self.0.get(key)?;
        if let Some(found) = &found {
            value(found);
        }
        Ok(found.is_some())
    }
}
