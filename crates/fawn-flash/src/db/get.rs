//! Reads of one key: in DRAM under the lock; from flash by the thread itself, without it.

use std::cell::RefCell;

use fawn_ring::Key;
use fawn_store::flash::{Flash as _, FlashError};
use fawn_store::large::Stub;
use fawn_store::page::{Page, PageBuf};
use fawn_store::record::{Kind, Record};
use fawn_store::{Damage, FinishedRead, Gate, Lookup, Read};

use super::error::Error;
use super::shard::{PATIENCE, Shard};
use crate::os::clock;

/// Pages that a thread keeps for its reads; longer reads take a buffer of their own.
const KEEP_PAGES: usize = 16;

thread_local! {
    static PAGES: RefCell<PageBuf> = RefCell::new(PageBuf::zeroed(KEEP_PAGES));
}

/// What a read on flash came to.
pub(super) enum ReadOutcome<T> {
    /// The answer, `None` when the key is absent, and what it waits for.
    Answer(Option<T>, Gate),
    /// The value is in a file of its own.
    Large(LargeRecord),
}

/// The record of a large value, without it.
pub(super) struct LargeRecord {
    stub: Stub,
    seq: u64,
    client_flags: u32,
    expiry: u32,
    client_cas: Option<u64>,
}

impl LargeRecord {
    pub fn of(record: &Record<'_>) -> Self {
        let stub = Stub::decode(record.value).expect("a stub's value is a stub");
        let Record { seq, client_flags, expiry, client_cas, .. } = *record;
        Self { stub, seq, client_flags, expiry, client_cas }
    }

    /// The value's file was not there, as `gone` was not before: when the key was written meanwhile, it is another one.
    fn is_gone(&self, gone: &mut Option<u64>) -> Result<(), Damage> {
        if gone.replace(self.stub.file) == Some(self.stub.file) {
            let what = "the value's file is missing".to_owned();
            return Err(Damage { file: self.stub.id(), offset: 0, what });
        }
        Ok(())
    }
}

impl Shard {
    /// Looks `name` up, whose position is `key`, and gives its newest version to `found`, which is called once at most.
    /// Waits for what the answer shows to be durable.
    pub fn get<T>(&self, key: &Key, name: &[u8], mut found: impl FnMut(&Record<'_>) -> T) -> Result<Option<T>, Error> {
        let now = clock::unix();
        let mut gone = None;
        loop {
            let heard = self.events.listen();
            let mut core = self.open_core()?;
            let read = match core.store.lookup(key, name, now) {
                Lookup::Found { record, gate } if record.kind == Kind::Stub => {
                    let large = LargeRecord::of(&record);
                    drop(core);
                    self.wait(gate)?;
                    match self.get_large(&large, name, &mut found)? {
                        Some(answer) => return Ok(Some(answer)),
                        None => large.is_gone(&mut gone)?,
                    }
                    continue;
                }
                Lookup::Found { record, gate } => {
                    let answer = found(&record);
                    drop(core);
                    self.wait(gate)?;
                    return Ok(Some(answer));
                }
                Lookup::Absent { gate } => {
                    drop(core);
                    self.wait(gate)?;
                    return Ok(None);
                }
                Lookup::Read(read) => read,
                Lookup::Damaged(damage) => return Err(damage.into()),
                Lookup::Loading => {
                    core.hand_out();
                    drop(core);
                    self.check()?;
                    self.events.wait(heard, Some(PATIENCE));
                    continue;
                }
            };
            drop(core);
            match self.carry_out(read, key, name, now, &mut found)? {
                ReadOutcome::Answer(answer, gate) => {
                    self.wait(gate)?;
                    return Ok(answer);
                }
                ReadOutcome::Large(large) => {
                    if let Some(answer) = self.get_large(&large, name, &mut found)? {
                        return Ok(Some(answer));
                    }
                    large.is_gone(&mut gone)?;
                }
            }
        }
    }

    /// Carries out a planned read, and those that follow from it, on this thread.
    pub(super) fn carry_out<T>(
        &self,
        read: Read,
        key: &Key,
        name: &[u8],
        now: u32,
        found: &mut impl FnMut(&Record<'_>) -> T,
    ) -> Result<ReadOutcome<T>, Error> {
        let mut read = read;
        loop {
            let count = read.count as usize;
            let step = with_pages(count, |pages| {
                if let Err(error) = self.files.read(read.file, read.first, pages) {
                    self.give_up(read);
                    return Err(error.into());
                }
                self.finish(read, pages, key, name, now, found)
            });
            match step? {
                Ok(carried) => return Ok(carried),
                Err(next) => read = next,
            }
        }
    }

    /// Finishes a read whose pages have come; `Err` names the next one.
    pub(super) fn finish<T>(
        &self,
        read: Read,
        pages: &mut [Page],
        key: &Key,
        name: &[u8],
        now: u32,
        found: &mut impl FnMut(&Record<'_>) -> T,
    ) -> Result<Result<ReadOutcome<T>, Read>, Error> {
        let mut core = self.lock();
        let finished = core.store.finish(read, pages, key, name, now);
        core.hand_out();
        drop(core);
        match finished {
            FinishedRead::Found(record) if record.kind == Kind::Stub => {
                Ok(Ok(ReadOutcome::Large(LargeRecord::of(&record))))
            }
            FinishedRead::Found(record) => Ok(Ok(ReadOutcome::Answer(Some(found(&record)), Gate::NONE))),
            FinishedRead::Absent { gate } => Ok(Ok(ReadOutcome::Answer(None, gate))),
            FinishedRead::Read(next) => Ok(Err(next)),
            FinishedRead::Damaged(damage) => Err(damage.into()),
        }
    }

    /// Gives a read back that failed.
    pub(super) fn give_up(&self, read: Read) {
        let mut core = self.lock();
        core.store.abandon(read);
        core.hand_out();
    }

    /// Reads a large value's file. `None` when it is gone: the key was written meanwhile.
    pub(super) fn get_large<T>(
        &self,
        large: &LargeRecord,
        name: &[u8],
        found: &mut impl FnMut(&Record<'_>) -> T,
    ) -> Result<Option<T>, Error> {
        let LargeRecord { stub, seq, client_flags, expiry, client_cas } = large;
        let mut pages = PageBuf::zeroed(stub.pages() as usize);
        match self.files.read(stub.id(), 0, pages.pages_mut()) {
            Err(FlashError::NotFound(_)) => return Ok(None),
            result => result?,
        }
        let damage = || Damage { file: stub.id(), offset: 0, what: "the value's checksum does not match".to_owned() };
        let value = stub.value(&pages).ok_or_else(damage)?;
        let record = Record {
            kind: Kind::Value,
            marks: fawn_store::record::Marks::default(),
            epoch: 0,
            seq: *seq,
            client_flags: *client_flags,
            expiry: *expiry,
            client_cas: *client_cas,
            key: name,
            value,
        };
        Ok(Some(found(&record)))
    }

    /// The version of `name` as of now, and when an answer that shows it may leave; the store is given back locked, so
    /// that nothing changes before the caller has decided. `None`: try again.
    pub(super) fn version(&self, key: &Key, name: &[u8], now: u32) -> Result<Option<LockedVersion<'_>>, Error> {
        let heard = self.events.listen();
        let mut core = self.open_core()?;
        let before = core.writes(key);
        let mut read = match core.store.lookup(key, name, now) {
            Lookup::Found { record, gate } => {
                let seq = Some(record.seq);
                return Ok(Some(LockedVersion { core, seq, gate }));
            }
            Lookup::Absent { gate } => return Ok(Some(LockedVersion { core, seq: None, gate })),
            Lookup::Read(read) => read,
            Lookup::Damaged(damage) => return Err(damage.into()),
            Lookup::Loading => {
                self.pause(core, heard)?;
                return Ok(None);
            }
        };
        drop(core);
        loop {
            let count = read.count as usize;
            let step = with_pages(count, |pages| {
                if let Err(error) = self.files.read(read.file, read.first, pages) {
                    self.give_up(read);
                    return Err(Error::from(error));
                }
                let mut core = self.lock();
                let finished = core.store.finish(read, pages, key, name, now);
                core.hand_out();
                let gate = Gate::NONE;
                match finished {
                    FinishedRead::Found(record) => Ok(Ok(Some(LockedVersion { core, seq: Some(record.seq), gate }))),
                    FinishedRead::Absent { gate } => Ok(Ok(Some(LockedVersion { core, seq: None, gate }))),
                    FinishedRead::Read(next) => Ok(Err(next)),
                    FinishedRead::Damaged(damage) => Err(damage.into()),
                }
            });
            match step? {
                // Written to while it was read: what was read is not the newest version any more.
                Ok(Some(version)) if version.core.writes(key) != before => return Ok(None),
                Ok(version) => return Ok(version),
                Err(next) => read = next,
            }
        }
    }
}

/// A key's newest version, with the store locked.
pub(super) struct LockedVersion<'a> {
    pub core: std::sync::MutexGuard<'a, super::shard::ShardCore>,
    /// Sequence number; `None` when the key is absent.
    pub seq: Option<u64>,
    /// An answer that shows it waits for this.
    pub gate: Gate,
}

/// Lends `count` pages, from the thread's own where they suffice.
fn with_pages<T>(count: usize, work: impl FnOnce(&mut [Page]) -> T) -> T {
    if count > KEEP_PAGES {
        return work(PageBuf::zeroed(count).pages_mut());
    }
    PAGES.with_borrow_mut(|pages| work(&mut pages.pages_mut()[..count]))
}
