//! The pattern of a log-structured merge tree with leveled compaction.
//!
//! Puts go to a log, written in groups as they come, and to a table in memory. A full table is flushed as a file of level 0. Four
//! such files are merged into level 1; each level is ten times as large as the one above. Which keys each file holds is known, so
//! that a merge writes exactly what is left. A get reads the one page that holds the newest version: filters that never err, an
//! index in memory, no cache. A second table may be full while the first one is flushed; then, or with twelve files in level 0,
//! puts wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use fawn_store::flash::{FileId, Flash as _, FlashError};

use super::clients::{Clients, RequestInFlight, TrialOperation};
use super::disk::{SimulatedDisk, Ticket};
use super::levels::{Compaction, Levels, SortedFile};
use super::settings::{PAGE_BYTES, StoreTrialError};
use super::store_run::StoreRun;
use super::world::{Foreground, World};
use crate::time::SimTime;

/// Files of level 0 at which puts wait.
const STOP_FILES: usize = 12;
/// Pages that a merge reads or writes at a time.
const CHUNK_PAGES: u64 = 64;
/// The log has room for so many tables.
const LOG_TABLES: u64 = 4;

/// The event loop of such a store.
pub struct LsmServer {
    clients: Clients,
    record_bytes: u64,
    keys_a_file: u64,
    table: BTreeSet<u32>,
    table_puts: u64,
    full_table: Option<Rc<Vec<u32>>>,
    levels: Levels,
    blocked: VecDeque<RequestInFlight>,
    unlogged: Vec<RequestInFlight>,
    log_write: Option<(Ticket, Vec<RequestInFlight>)>,
    log_at: u64,
    log_pages: u64,
    gets: BTreeMap<Ticket, RequestInFlight>,
    get_bytes: u64,
}

impl LsmServer {
    fn start(&mut self, mut issued: RequestInFlight, disk: &mut SimulatedDisk) {
        let key = issued.index as u32;
        if issued.operation == TrialOperation::Put {
            if self.table_puts >= self.keys_a_file && !self.turn_table() {
                return self.blocked.push_back(issued);
            }
            issued.version = self.clients.issued(issued.index) + 1;
            self.clients.took(issued.index, issued.version);
            self.table.insert(key);
            self.table_puts += 1;
            return self.unlogged.push(issued);
        }
        let in_memory =
            self.table.contains(&key) || self.full_table.as_ref().is_some_and(|keys| keys.binary_search(&key).is_ok());
        let found = if in_memory { None } else { self.levels.find(key) };
        let Some((file, place)) = found else { return self.clients.answer(&issued, disk.now()) };
        let first = place * self.record_bytes / PAGE_BYTES;
        let count = ((place + 1) * self.record_bytes).div_ceil(PAGE_BYTES) - first;
        self.get_bytes += count * PAGE_BYTES;
        let ticket = disk.read_file(FileId::Segment(file), first, count).expect("a file has pages for all its keys");
        self.gets.insert(ticket, issued);
    }

    /// Another table takes the place of the full one. False if that has to wait.
    fn turn_table(&mut self) -> bool {
        if self.full_table.is_some() || self.levels.level_0() >= STOP_FILES {
            return false;
        }
        self.full_table = Some(Rc::new(std::mem::take(&mut self.table).into_iter().collect()));
        self.table_puts = 0;
        true
    }

    fn send_log(&mut self, disk: &mut SimulatedDisk) {
        if self.log_write.is_some() || self.unlogged.is_empty() {
            return;
        }
        let puts = std::mem::take(&mut self.unlogged);
        let pages = (puts.len() as u64 * self.record_bytes).div_ceil(PAGE_BYTES).min(self.log_pages);
        if self.log_at + pages > self.log_pages {
            self.log_at = 0;
        }
        let ticket = disk.write_file(FileId::CommitLog, self.log_at, pages, None).expect("the log has its place");
        self.log_at += pages;
        self.log_write = Some((ticket, puts));
    }

    fn retry(&mut self, disk: &mut SimulatedDisk) {
        for issued in std::mem::take(&mut self.blocked) {
            self.start(issued, disk);
        }
        self.send_log(disk);
    }
}

impl Foreground for LsmServer {
    fn next_at(&self, now: SimTime) -> Option<SimTime> {
        self.clients.next_at(now)
    }

    fn wake(&mut self, disk: &mut SimulatedDisk) {
        while let Some(issued) = self.clients.next(disk.now()) {
            self.start(issued, disk);
        }
        self.send_log(disk);
    }

    fn done(&mut self, ticket: Ticket, disk: &mut SimulatedDisk) {
        if let Some((_, puts)) = self.log_write.take_if(|(written, _)| *written == ticket) {
            for issued in puts {
                self.clients.answer(&issued, disk.now());
            }
            self.send_log(disk);
        } else if let Some(issued) = self.gets.remove(&ticket) {
            self.clients.answer(&issued, disk.now());
        }
    }
}

/// Such a store, its event loop and the thread that flushes and merges.
pub struct LsmRun<'p> {
    world: World<'p, LsmServer>,
    next_file: u64,
}

impl LsmRun<'_> {
    /// On a disk, with tables of so many bytes.
    ///
    /// # Errors
    /// The log does not fit.
    pub fn open(mut disk: SimulatedDisk, clients: Clients, memtable_bytes: u64) -> Result<Self, StoreTrialError> {
        let record_bytes = clients.workload().record_bytes();
        let keys_a_file = (memtable_bytes / record_bytes).max(16);
        let log_pages = (LOG_TABLES * memtable_bytes.max(256 << 10)).div_ceil(PAGE_BYTES);
        if !disk.volume.create(FileId::CommitLog, log_pages) {
            let bytes = disk.volume.space().0 * PAGE_BYTES;
            return Err(StoreTrialError::Log { needed: log_pages * PAGE_BYTES, bytes });
        }
        let server = LsmServer {
            levels: Levels::new(clients.workload().records, keys_a_file),
            clients,
            record_bytes,
            keys_a_file,
            table: BTreeSet::new(),
            table_puts: 0,
            full_table: None,
            blocked: VecDeque::new(),
            unlogged: Vec::new(),
            log_write: None,
            log_at: 0,
            log_pages,
            gets: BTreeMap::new(),
            get_bytes: 0,
        };
        Ok(Self { world: World::new(disk, server), next_file: 1 })
    }

    /// One piece of the background thread's work. False if there is none.
    fn work(&mut self) -> Result<bool, FlashError> {
        if self.flush()? {
            return Ok(true);
        }
        let Some(compaction) = self.world.with(|server, _| server.levels.next_compaction()) else { return Ok(false) };
        self.merge(&compaction)?;
        Ok(true)
    }

    fn flush(&mut self) -> Result<bool, FlashError> {
        let Some(keys) = self.world.with(|server, _| server.full_table.clone()) else { return Ok(false) };
        let file = self.write(&keys)?;
        self.world.with(|server, disk| {
            server.levels.flushed(file);
            server.full_table = None;
            server.retry(disk);
        });
        Ok(true)
    }

    fn pages(&self, keys: usize) -> u64 {
        (keys as u64 * self.world.with(|server, _| server.record_bytes)).div_ceil(PAGE_BYTES)
    }

    /// Writes a file of these keys.
    fn write(&mut self, keys: &[u32]) -> Result<SortedFile, FlashError> {
        let (number, pages) = (self.next_file, self.pages(keys.len()));
        self.next_file += 1;
        let file = FileId::Segment(number);
        self.world.create(file, pages)?;
        for first in (0..pages).step_by(CHUNK_PAGES as usize) {
            let count = CHUNK_PAGES.min(pages - first);
            self.world.block_on(|disk| disk.write_file(file, first, count, None))?;
        }
        self.world.sync(file)?;
        Ok(SortedFile { number, keys: Rc::new(keys.to_vec()) })
    }

    /// Reads the inputs and writes the outputs, file by file. Tables that fill up meanwhile are flushed in between.
    fn merge(&mut self, compaction: &Compaction) -> Result<(), FlashError> {
        let keys = compaction.output();
        let keys_a_file = self.world.with(|server, _| server.keys_a_file) as usize;
        let mut output = Vec::new();
        let mut reads = compaction.inputs.iter();
        for keys in keys.chunks(keys_a_file) {
            if let Some(input) = reads.next() {
                self.read(input)?;
            }
            output.push(self.write(keys)?);
            self.flush()?;
        }
        for input in reads {
            self.read(input)?;
        }
        self.world.with(|server, disk| {
            server.levels.install(compaction, output);
            for input in &compaction.inputs {
                disk.volume.remove(FileId::Segment(input.number));
            }
            server.retry(disk);
        });
        self.world.sync_names()
    }

    fn read(&self, input: &SortedFile) -> Result<(), FlashError> {
        let pages = self.pages(input.keys.len());
        for first in (0..pages).step_by(CHUNK_PAGES as usize) {
            let count = CHUNK_PAGES.min(pages - first);
            self.world.block_on(|disk| disk.read_file(FileId::Segment(input.number), first, count))?;
        }
        Ok(())
    }
}

impl StoreRun for LsmRun<'_> {
    fn turn(&mut self) -> Result<(), StoreTrialError> {
        match self.work() {
            Ok(true) => Ok(()),
            Ok(false) => self.world.go_on(),
            Err(FlashError::NoSpace) => Err(StoreTrialError::Stuck(FlashError::NoSpace.to_string())),
            Err(error) => Err(StoreTrialError::Stopped(error.to_string())),
        }
    }

    fn look<R>(&mut self, look: impl FnOnce(&mut Clients, &SimulatedDisk) -> R) -> R {
        self.world.with(|server, disk| look(&mut server.clients, disk))
    }

    fn get_bytes(&mut self) -> u64 {
        self.world.with(|server, _| server.get_bytes)
    }
}
