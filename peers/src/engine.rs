//! What an engine must be able to do to be measured.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use fawn_workload::{KEY_BYTES, key_of, write_value};

/// So long an engine has nothing to do before it is taken for settled.
#[cfg(any(feature = "rocksdb", feature = "fjall"))]
pub const QUIET: Duration = Duration::from_millis(300);

/// When puts are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// At once; nothing is synced, and no log is written where the engine can do without.
    Memory,
    /// At once; there is a sync so often.
    Interval {
        /// Milliseconds between syncs.
        ms: u32,
    },
    /// After a sync.
    Durable,
}

impl FromStr for AckPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let interval = |ms: &str| ms.parse().ok().map(|ms| Self::Interval { ms });
        match text {
            "memory" => Ok(Self::Memory),
            "durable" => Ok(Self::Durable),
            other => other
                .strip_prefix("interval:")
                .and_then(interval)
                .ok_or_else(|| "give durable, interval:MS or memory".to_owned()),
        }
    }
}

/// What an engine is opened with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where its files are; the directory is there.
    pub dir: PathBuf,
    /// Entries.
    pub entries: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// All memory for caches and buffers, the page cache of its files included, in bytes.
    pub memory: u64,
    /// When puts are acknowledged.
    pub ack: AckPolicy,
    /// Bits of a Bloom filter for each key, where the engine has filters; 0: none.
    pub bloom_bits: f64,
}

impl Settings {
    /// Bytes of all keys and values.
    pub fn user_bytes(&self) -> u64 {
        self.entries * (KEY_BYTES + self.value_bytes) as u64
    }
}

/// Puts that are made together.
#[derive(Debug)]
pub struct PutBatch {
    keys: Vec<[u8; KEY_BYTES]>,
    values: Vec<u8>,
    value_bytes: usize,
}

impl PutBatch {
    /// None yet, of values of so many bytes.
    pub fn new(value_bytes: usize) -> Self {
        Self { keys: Vec::new(), values: Vec::new(), value_bytes }
    }

    /// Begins anew, with these entries in this version.
    pub fn fill(&mut self, entries: &[u64], version: u32) {
        self.keys.clear();
        self.keys.extend(entries.iter().map(|index| key_of(*index)));
        self.values.resize(entries.len() * self.value_bytes, 0);
        for (index, value) in entries.iter().zip(self.values.chunks_exact_mut(self.value_bytes)) {
            write_value(*index, version, value);
        }
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8; KEY_BYTES], &[u8])> {
        self.keys.iter().zip(self.values.chunks_exact(self.value_bytes.max(1)))
    }

    /// Bytes of keys and values.
    #[cfg(feature = "redb")]
    pub fn bytes(&self) -> u64 {
        (self.keys.len() * KEY_BYTES + self.values.len()) as u64
    }
}

/// An open database.
pub trait Engine: Send + Sync {
    /// Puts them all; acknowledged when it returns.
    ///
    /// # Errors
    /// What the engine says.
    fn put(&self, batch: &PutBatch) -> anyhow::Result<()>;

    /// What one thread gets with. Where puts are made meanwhile (`is_changing`), it finds what was put before each get.
    ///
    /// # Errors
    /// What the engine says.
    fn reader(&self, is_changing: bool) -> anyhow::Result<Box<dyn EngineReader + '_>>;

    /// Makes durable what was put.
    ///
    /// # Errors
    /// What the engine says.
    fn sync(&self) -> anyhow::Result<()>;

    /// Makes durable what was put, and waits until there is nothing left to do in the background; for how long there was
    /// nothing when that was found out.
    ///
    /// # Errors
    /// What the engine says.
    fn settle(&self) -> anyhow::Result<Duration>;

    /// The part of its memory that is the system's page cache, bytes; `None`: it reads past it.
    fn page_cache(&self) -> Option<u64>;

    /// How its memory is shared out, for people.
    fn shares(&self) -> String;
}

/// Gets of one thread.
pub trait EngineReader {
    /// Whether the key is there; `value` is told its value.
    ///
    /// # Errors
    /// What the engine says.
    fn get(&mut self, key: &[u8], value: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool>;
}
