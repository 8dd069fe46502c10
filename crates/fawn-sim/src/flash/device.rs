//! The state of a simulated device and what each operation does to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use fawn_check::random::Random;
use fawn_store::flash::{FileId, FlashError, Space};
use fawn_store::page::{PAGE_BYTES, Page};

use super::counters::Counters;
use super::fault::{Fault, Occasion, due};
use super::file::{PowerCut, SimFile};
use super::trace::Operation;

/// The capacity, in pages, of a device that is never full.
const UNLIMITED: u64 = u64::MAX / PAGE_BYTES as u64;

/// Identity of a file's contents; names point to it.
type Inode = u64;

#[derive(Clone, Debug)]
pub(super) struct SimDevice {
    pub(super) random: Random,
    /// In pages.
    pub(super) capacity: u64,
    pub(super) faults: Vec<Fault>,
    pub(super) unreadable: Vec<(FileId, Range<u64>)>,
    /// Write points until everything fails.
    pub(super) points_left: Option<u64>,
    pub(super) crashed: bool,
    pub(super) trace: Option<Vec<Operation>>,
    pub(super) counters: Counters,
    next_inode: Inode,
    inodes: BTreeMap<Inode, SimFile>,
    /// What `list` shows.
    names: BTreeMap<FileId, Inode>,
    durable_names: BTreeMap<FileId, Inode>,
    /// What each name meant since the last sync of names, oldest first, never empty.
    unsynced_names: BTreeMap<FileId, Vec<Option<Inode>>>,
}

impl SimDevice {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            capacity: UNLIMITED,
            faults: Vec::new(),
            unreadable: Vec::new(),
            points_left: None,
            crashed: false,
            trace: None,
            counters: Counters::default(),
            next_inode: 0,
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced_names: BTreeMap::new(),
        }
    }

    pub(super) fn create(&mut self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.begin(Operation::Create { file, pages })?;
        if self.names.contains_key(&file) {
            return Err(FlashError::Io(format!("{file:?} exists already")));
        }
        if pages > self.free() {
            return Err(FlashError::NoSpace);
        }
        let inode = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(inode, SimFile::new(pages));
        self.names.insert(file, inode);
        self.unsynced_names.entry(file).or_default().push(Some(inode));
        Ok(())
    }

    pub(super) fn read(&mut self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        let count = pages.len() as u64;
        self.begin(Operation::Read { file, first, count })?;
        self.counters.pages_read += count;
        let fails = due(&mut self.faults, Occasion::Read).is_some();
        let contents = self.file_mut(file)?;
        if first.checked_add(count).is_none_or(|end| end > contents.len()) {
            return Err(FlashError::Short(file));
        }
        for (number, page) in (first..).zip(pages) {
            contents.read(number, page);
        }
        let bad = |(of, range): &(FileId, Range<u64>)| *of == file && range.start < first + count && first < range.end;
        if fails || self.unreadable.iter().any(bad) { Err(eio("read", file)) } else { Ok(()) }
    }

    pub(super) fn write(&mut self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        self.begin(Operation::Write { file, first, count: pages.len() as u64 })?;
        self.counters.pages_written += pages.len() as u64;
        let free = self.free();
        self.file_mut(file)?;
        match due(&mut self.faults, Occasion::Write) {
            Some(Fault::Misdirect { file, page, .. }) => {
                if let Ok(contents) = self.file_mut(file) {
                    contents.write(page, pages);
                }
                return Ok(());
            }
            Some(_) => {
                let written = self.random.below(pages.len() as u64 + 1) as usize;
                let contents = self.file_mut(file)?;
                contents.write(first, &pages[..written]);
                return Err(eio("write", file));
            }
            None => {}
        }
        let contents = self.file_mut(file)?;
        // What fits is written, as file systems do.
        let fits = (0..=pages.len()).rev().find(|&n| contents.growth(first, first + n as u64) <= free).unwrap_or(0);
        contents.write(first, &pages[..fits]);
        if fits < pages.len() { Err(FlashError::NoSpace) } else { Ok(()) }
    }

    pub(super) fn sync(&mut self, file: FileId) -> Result<(), FlashError> {
        self.begin(Operation::Sync { file })?;
        let fails = due(&mut self.faults, Occasion::Sync).is_some();
        let mut random = self.random.fork();
        let contents = self.file_mut(file)?;
        if fails {
            contents.fail_sync(&mut random);
            return Err(eio("sync", file));
        }
        contents.sync();
        Ok(())
    }

    pub(super) fn sync_names(&mut self) -> Result<(), FlashError> {
        self.begin(Operation::SyncNames)?;
        if due(&mut self.faults, Occasion::SyncNames).is_some() {
            return Err(FlashError::Io("EIO: sync of names".into()));
        }
        self.durable_names.clone_from(&self.names);
        self.unsynced_names.clear();
        self.drop_unnamed();
        Ok(())
    }

    pub(super) fn punch(&mut self, file: FileId, first: u64, count: u64) -> Result<(), FlashError> {
        self.begin(Operation::Punch { file, first, count })?;
        self.file_mut(file)?.punch(first, count);
        Ok(())
    }

    pub(super) fn truncate(&mut self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.begin(Operation::Truncate { file, pages })?;
        self.file_mut(file)?.truncate(pages);
        Ok(())
    }

    pub(super) fn remove(&mut self, file: FileId) -> Result<(), FlashError> {
        self.begin(Operation::Remove { file })?;
        self.names.remove(&file).ok_or(FlashError::NotFound(file))?;
        self.unsynced_names.entry(file).or_default().push(None);
        Ok(())
    }

    pub(super) fn list(&mut self) -> Result<Vec<(FileId, u64)>, FlashError> {
        self.alive()?;
        Ok(self.names.iter().map(|(&file, inode)| (file, self.inodes[inode].len())).collect())
    }

    pub(super) fn space(&mut self) -> Result<Space, FlashError> {
        self.alive()?;
        let bytes = |pages: u64| pages.saturating_mul(PAGE_BYTES as u64);
        Ok(Space { total: bytes(self.capacity), free: bytes(self.free()) })
    }

    pub(super) fn lose(&mut self, file: FileId) -> Result<(), FlashError> {
        self.names.remove(&file).ok_or(FlashError::NotFound(file))?;
        self.durable_names.remove(&file);
        self.unsynced_names.remove(&file);
        self.drop_unnamed();
        Ok(())
    }

    pub(super) fn power_cut(&mut self, cut: PowerCut, seed: u64) {
        let random = &mut Random::new(seed);
        for (file, meanings) in std::mem::take(&mut self.unsynced_names) {
            let meaning = match cut {
                PowerCut::Lost => continue,
                PowerCut::Kept => meanings.last().copied().flatten(),
                PowerCut::Torn => match random.below(meanings.len() as u64 + 1) {
                    0 => continue,
                    chosen => meanings[chosen as usize - 1],
                },
            };
            match meaning {
                Some(inode) => drop(self.durable_names.insert(file, inode)),
                None => drop(self.durable_names.remove(&file)),
            }
        }
        self.names.clone_from(&self.durable_names);
        self.drop_unnamed();
        for file in self.inodes.values_mut() {
            file.settle(cut, random);
        }
        self.faults.clear();
        self.points_left = None;
        self.crashed = false;
    }

    pub(super) fn file_mut(&mut self, file: FileId) -> Result<&mut SimFile, FlashError> {
        let inode = self.names.get(&file).ok_or(FlashError::NotFound(file))?;
        Ok(self.inodes.get_mut(inode).expect("a name points to contents"))
    }

    /// Pages that named files hold.
    pub(super) fn used(&self) -> u64 {
        self.names.values().map(|inode| self.inodes[inode].allocated()).sum()
    }

    pub(super) fn memory(&self) -> usize {
        self.inodes.values().map(SimFile::memory).sum()
    }

    fn free(&self) -> u64 {
        if self.capacity == UNLIMITED { UNLIMITED } else { self.capacity.saturating_sub(self.used()) }
    }

    /// Counts and records an operation, unless the power is gone.
    fn begin(&mut self, operation: Operation) -> Result<(), FlashError> {
        self.alive()?;
        if operation.is_write_point() {
            if let Some(left) = self.points_left.as_mut() {
                if *left == 0 {
                    self.crashed = true;
                    return self.alive();
                }
                *left -= 1;
            }
            self.counters.write_points += 1;
        }
        match operation {
            Operation::Read { .. } => self.counters.reads += 1,
            Operation::Write { .. } => self.counters.writes += 1,
            Operation::Sync { .. } => self.counters.syncs += 1,
            _ => {}
        }
        if let Some(trace) = self.trace.as_mut() {
            trace.push(operation);
        }
        Ok(())
    }

    fn alive(&self) -> Result<(), FlashError> {
        if self.crashed { Err(FlashError::Io("crashed".into())) } else { Ok(()) }
    }

    fn drop_unnamed(&mut self) {
        let unsynced = self.unsynced_names.values().flatten().flatten();
        let named: BTreeSet<Inode> =
            self.names.values().chain(self.durable_names.values()).chain(unsynced).copied().collect();
        self.inodes.retain(|inode, _| named.contains(inode));
    }
}

fn eio(what: &str, file: FileId) -> FlashError {
    FlashError::Io(format!("EIO: {what} of {file:?}"))
}
