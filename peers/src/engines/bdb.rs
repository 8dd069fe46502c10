//! `BerkeleyDB`: a hash or a B-tree of pages of 4 KiB, without a log.
#![allow(unsafe_code, reason = "a C library, behind the few functions of bdb.c")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::engine::{AckPolicy, PutBatch, Engine, EngineReader, Settings};

/// Its cache takes a quarter more than it is told, for what describes the pages.
const CACHE_OVER_TOLD: (u64, u64) = (5, 4);
/// Bytes of a page, and of what a page keeps of each record beside key and value.
const PAGE_BYTES: usize = 4096;
const RECORD_BYTES: usize = 8;

/// What bdb.c makes.
#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

// SAFETY: the signatures are those of bdb.c, which is compiled with this file.
unsafe extern "C" {
    fn peer_bdb_open(dir: *const c_char, cache: u64, elements: u32, fill: u32, made: *mut *mut Opaque) -> c_int;
    fn peer_bdb_put(
        peer: *mut Opaque,
        key: *const c_void,
        key_bytes: u32,
        value: *const c_void,
        value_bytes: u32,
    ) -> c_int;
    fn peer_bdb_get(
        peer: *mut Opaque,
        key: *const c_void,
        key_bytes: u32,
        room: *mut c_void,
        room_bytes: u32,
        bytes: *mut u32,
    ) -> c_int;
    fn peer_bdb_sync(peer: *mut Opaque) -> c_int;
    fn peer_bdb_close(peer: *mut Opaque) -> c_int;
    fn peer_bdb_error(code: c_int) -> *const c_char;
    fn peer_bdb_version() -> *const c_char;
}

/// How it finds entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a hash of the key, in a table that is made for as many entries.
    Hash,
    /// In the order of keys.
    Tree,
}

/// An open database.
pub struct Bdb {
    peer: *mut Opaque,
    cache: u64,
    page_cache: u64,
    value_bytes: usize,
}

// SAFETY: environment and database are opened with DB_THREAD, so that any thread may use them.
unsafe impl Send for Bdb {}
// SAFETY: the same, also at once.
unsafe impl Sync for Bdb {}

/// Its version.
pub fn version() -> String {
    // SAFETY: the library returns a constant that ends with a zero.
    let text = unsafe { CStr::from_ptr(peer_bdb_version()) }.to_string_lossy();
    text.trim_start_matches("Berkeley DB ").split(':').next().unwrap_or_default().to_owned()
}

fn checked(code: c_int, what: &str) -> anyhow::Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the library returns a text that ends with a zero for every code.
    let text = unsafe { CStr::from_ptr(peer_bdb_error(code)) };
    bail!("BerkeleyDB cannot {what}: {}", text.to_string_lossy())
}

impl Bdb {
    /// Opens or makes it.
    ///
    /// # Errors
    /// What the library says; durable puts, for which it would need transactions.
    pub fn open(settings: &Settings, method: Method) -> anyhow::Result<Self> {
        if settings.ack != AckPolicy::Memory {
            bail!("BerkeleyDB is measured without a log: give --ack memory");
        }
        let (cache, page_cache) = (settings.memory / 2, settings.memory / 2);
        let told = cache * CACHE_OVER_TOLD.1 / CACHE_OVER_TOLD.0;
        let dir = CString::new(settings.dir.as_os_str().as_bytes()).context("a directory has no zero in its name")?;
        let fill = PAGE_BYTES / (fawn_workload::KEY_BYTES + settings.value_bytes + RECORD_BYTES);
        let elements = match method {
            Method::Hash => u32::try_from(settings.entries).context("BerkeleyDB takes fewer than 2^32 entries")?,
            Method::Tree => 0,
        };
        let mut peer = std::ptr::null_mut();
        // SAFETY: `dir` ends with a zero and lives during the call; `peer` is set where the code is 0.
        let code = unsafe { peer_bdb_open(dir.as_ptr(), told, elements, fill.max(1) as u32, &raw mut peer) };
        checked(code, "open the database")?;
        Ok(Self { peer, cache, page_cache, value_bytes: settings.value_bytes })
    }
}

impl Engine for Bdb {
    fn put(&self, batch: &PutBatch) -> anyhow::Result<()> {
        for (key, value) in batch.iter() {
            // SAFETY: key and value are as long as is said, and are read during the call only.
            let code = unsafe {
                peer_bdb_put(
                    self.peer,
                    key.as_ptr().cast(),
                    key.len() as u32,
                    value.as_ptr().cast(),
                    value.len() as u32,
                )
            };
            checked(code, "put")?;
        }
        Ok(())
    }

    fn reader(&self, _: bool) -> anyhow::Result<Box<dyn EngineReader + '_>> {
        // Room for a value that is longer than it should be, so that this is noticed.
        Ok(Box::new(BdbReader { of: self, room: vec![0; self.value_bytes + 64] }))
    }

    fn sync(&self) -> anyhow::Result<()> {
        // SAFETY: the database is open as long as `self` is.
        checked(unsafe { peer_bdb_sync(self.peer) }, "sync")
    }

    fn settle(&self) -> anyhow::Result<Duration> {
        self.sync()?;
        Ok(Duration::ZERO)
    }

    fn page_cache(&self) -> Option<u64> {
        Some(self.page_cache)
    }

    fn shares(&self) -> String {
        format!("its page pool {} MiB, the system's page cache {} MiB", self.cache >> 20, self.page_cache >> 20)
    }
}

impl Drop for Bdb {
    fn drop(&mut self) {
        // SAFETY: it is closed once, and nothing has it any more.
        let code = unsafe { peer_bdb_close(self.peer) };
        if let Err(error) = checked(code, "close the database") {
            eprintln!("fawn-peers: {error}");
        }
    }
}

struct BdbReader<'b> {
    of: &'b Bdb,
    room: Vec<u8>,
}

impl EngineReader for BdbReader<'_> {
    fn get(&mut self, key: &[u8], value: &mut dyn FnMut(&[u8])) -> anyhow::Result<bool> {
        let mut bytes = 0;
        // SAFETY: key and room are as long as is said; the library writes no more than the room takes.
        let code = unsafe {
            peer_bdb_get(
                self.of.peer,
                key.as_ptr().cast(),
                key.len() as u32,
                self.room.as_mut_ptr().cast(),
                self.room.len() as u32,
                &raw mut bytes,
            )
        };
        if code == 1 {
            return Ok(false);
        }
        checked(code, "get")?;
        value(&self.room[..bytes as usize]);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use fawn_workload::{key_of, version_of};

    use super::*;

    #[test]
    fn both_methods_find_what_was_put_and_have_files_of_their_kind() {
        // What db.h has a hash's and a B-tree's first page say.
        for (method, magic) in [(Method::Hash, 0x0006_1561_u32), (Method::Tree, 0x0005_3162)] {
            let dir = tempfile::tempdir().unwrap();
            let (entries, value_bytes): (Vec<u64>, _) = ((0..3000).collect(), 180);
            let settings = Settings {
                dir: dir.path().to_owned(),
                entries: entries.len() as u64,
                value_bytes,
                memory: 4 << 20,
                ack: AckPolicy::Memory,
                bloom_bits: 0.0,
            };
            let bdb = Bdb::open(&settings, method).unwrap();
            let mut batch = PutBatch::new(value_bytes);
            for (entries, version) in [(&entries[..], 1), (&[7], 2)] {
                batch.fill(entries, version);
                bdb.put(&batch).unwrap();
            }
            let mut reader = bdb.reader(false).unwrap();
            let mut version = |index: u64| {
                let mut found = None;
                let is_there = reader.get(&key_of(index), &mut |value| found = version_of(index, value)).unwrap();
                is_there.then_some(found)
            };
            assert_eq!((version(7), version(2999), version(3000)), (Some(Some(2)), Some(Some(1)), None), "{method:?}");
            drop(reader);
            bdb.sync().unwrap();
            let file = std::fs::read(dir.path().join("data.db")).unwrap();
            assert_eq!(file[12..16], magic.to_ne_bytes(), "{method:?}");
        }
    }
}
