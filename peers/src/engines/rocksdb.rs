//! `RocksDB`, as the system has it: levels, partitioned indexes and filters in the block cache, direct I/O.

use std::time::{Duration, Instant};

use rocksdb::properties::{COMPACTION_PENDING, MEM_TABLE_FLUSH_PENDING, NUM_RUNNING_COMPACTIONS, NUM_RUNNING_FLUSHES};
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, DB, DBCompressionType, Options, WriteBatch, WriteOptions,
};

use crate::engine::{AckPolicy, PutBatch, Engine, QUIET, EngineReader, Settings};

/// Memtables, of which one is written to and one is flushed.
const MEMTABLES: u64 = 2;
const LEAST_MEMTABLE_BYTES: u64 = 512 << 10;

/// An open database.
pub struct Rocks {
    db: DB,
    writing: WriteOptions,
    is_logged: bool,
    memtables: u64,
    cache: u64,
}

/// The version of the library that is linked: its file is named so.
pub fn version() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let name = maps.split_once("librocksdb.so.").map_or("", |(_, rest)| rest);
    let version = name.split_whitespace().next().unwrap_or_default();
    if version.is_empty() { "unknown".to_owned() } else { version.to_owned() }
}

impl Rocks {
    /// Opens or makes it.
    ///
    /// # Errors
    /// What the library says.
    pub fn open(settings: &Settings) -> anyhow::Result<Self> {
        let memtable = (settings.memory / 4 / MEMTABLES).max(LEAST_MEMTABLE_BYTES);
        let memtables = memtable * MEMTABLES;
        let cache = settings.memory.saturating_sub(memtables).max(1 << 20);
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(&Cache::new_lru_cache(cache as usize)?);
        blocks.set_cache_index_and_filter_blocks(true);
        blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
        blocks.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        blocks.set_pin_top_level_index_and_filter(true);
        blocks.set_format_version(5);
        if settings.bloom_bits > 0.0 {
            blocks.set_bloom_filter(settings.bloom_bits, false);
            blocks.set_partition_filters(true);
        }
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(DBCompressionType::None);
        options.set_write_buffer_size(memtable as usize);
        options.set_max_write_buffer_number(MEMTABLES as i32);
        options.set_db_write_buffer_size(memtables as usize);
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().min(64) as u8);
        options.set_max_background_jobs(cores.into());
        options.set_level_compaction_dynamic_level_bytes(true);
        options.set_use_direct_reads(true);
        options.set_use_direct_io_for_flush_and_compaction(true);
        options.set_max_open_files(-1);
        let mut writing = WriteOptions::default();
        writing.set_sync(settings.ack == AckPolicy::Durable);
        writing.disable_wal(settings.ack == AckPolicy::Memory);
        let db = DB::open(&options, &settings.dir)?;
        Ok(Self { db, writing, is_logged: settings.ack != AckPolicy::Memory, memtables, cache })
    }

    fn is_busy(&self) -> anyhow::Result<bool> {
        for property in [MEM_TABLE_FLUSH_PENDING, NUM_RUNNING_FLUSHES, COMPACTION_PENDING, NUM_RUNNING_COMPACTIONS] {
            if self.db.property_int_value(property)?.unwrap_or(0) > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Engine for Rocks {
    fn put(&self, batch: &PutBatch) -> anyhow::Result<()> {
        let mut all = WriteBatch::default();
        batch.iter().for_each(|(key, value)| all.put(key, value));
        Ok(self.db.write_opt(all, &self.writing)?)
    }

    fn reader(&self, _: bool) -> anyhow::Result<Box<dyn EngineReader + '_>> {
        Ok(Box::new(RocksReader(&self.db)))
    }

    fn sync(&self) -> anyhow::Result<()> {
        if self.is_logged { Ok(self.db.flush_wal(true)?) } else { Ok(()) }
    }

    fn settle(&self) -> anyhow::Result<Duration> {
        self.db.flush()?;
        let mut quiet_since = Instant::now();
        while quiet_since.elapsed() < QUIET {
            if self.is_busy()? {
                quiet_since = Instant::now();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(quiet_since.elapsed())
    }

    fn page_cache(&self) -> Option<u64> {
        None
    }

    fn shares(&self) -> String {
        format!(
            "memtables {:.1} MiB, block cache with indexes and filters {:.1} MiB, files opened O_DIRECT",
            self.memtables as f64 / f64::from(1 << 20),
            self.cache as f64 / f64::from(1 << 20)
        )
    }
}

struct RocksReader<'d>(&'d DB);

impl EngineReader for RocksReader<'_> {
    fn get(&mut self, key: &[u8], value: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let found = self.0.get_pinned(key)?;
        if let Some(found) = &found {
            value(found);
        }
        Ok(found.is_some())
    }
}
