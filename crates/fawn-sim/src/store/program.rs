//! The program around a store: its commit log is written, its maintenance goes on, and files of large values are read and
//! written, one part at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use fawn_check::random::Random;
use fawn_store::flash::{FileId, Flash, FlashError};
use fawn_store::large::Stub;
use fawn_store::page::PageBuf;
use fawn_store::record::{Kind, MAX_VALUE_BYTES, Record};
use fawn_store::work::MaintenanceEvent;
use fawn_store::{Batch, Damage, Maintenance, OpenError, Options, Refusal, Step, Store, WrittenBatch};

use super::oracle::OracleItem;
use crate::flash::SimFlash;

/// Why a get gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Bytes on flash are damaged, and the store says so.
    Damaged(Damage),
    /// The device failed the read.
    Flash(FlashError),
}

/// A batch of the commit log between being taken and being handed back.
enum InFlight {
    Taken(Batch),
    Written(WrittenBatch),
}

/// A store, the device under it, and what is on its way between them.
pub(super) struct Program {
    pub(super) flash: SimFlash,
    pub(super) store: Store,
    maintenance: Maintenance,
    /// What the clock shows, in milliseconds.
    pub(super) clock_ms: u64,
    in_flight: Option<InFlight>,
    events: VecDeque<MaintenanceEvent>,
}

impl Program {
    /// Opens the store on a device.
    pub(super) fn open(flash: SimFlash, options: Options, clock_ms: u64) -> Result<Self, OpenError> {
        let (store, maintenance, _) = Store::open(options, &flash, seconds(clock_ms))?;
        Ok(Self { flash, store, maintenance, clock_ms, in_flight: None, events: VecDeque::new() })
    }

    /// Opens the store again, whatever happened.
    pub(super) fn reopen(&mut self, options: Options) -> Result<(), OpenError> {
        self.in_flight = None;
        self.events.clear();
        let (store, maintenance, _) = Store::open(options, &self.flash, self.now())?;
        (self.store, self.maintenance) = (store, maintenance);
        Ok(())
    }

    /// Unix second.
    pub(super) fn now(&self) -> u32 {
        seconds(self.clock_ms)
    }

    /// Whether nothing more can happen before a restart: the device has crashed.
    pub(super) fn is_down(&self) -> bool {
        self.flash.has_crashed()
    }

    /// Whether no batch of the commit log is on its way.
    pub(super) fn is_log_idle(&self) -> bool {
        self.in_flight.is_none()
    }

    /// Whether neither a batch of the commit log nor an event is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.is_log_idle() && self.events.is_empty()
    }

    /// The item that a record of the store is; reads a large value's file. `None` when that file is gone: the record was
    /// superseded meanwhile, or the file is lost.
    pub(super) fn item(&self, record: &Record<'_>) -> Result<Option<OracleItem>, Failure> {
        let value = match record.kind {
            Kind::Value => Arc::from(record.value),
            Kind::Delete | Kind::Lost => panic!("a lookup never finds {:?}", record.kind),
            Kind::Stub => {
                let stub = Stub::decode(record.value).expect("a stub's value is a stub");
                let mut pages = PageBuf::zeroed(stub.pages() as usize);
                match self.flash.read(stub.id(), 0, pages.pages_mut()) {
                    Err(FlashError::NotFound(_)) => return Ok(None),
                    other => other.map_err(Failure::Flash)?,
                }
                let damage = Damage { file: stub.id(), offset: 0, what: "the value's checksum does not match".into() };
                Arc::from(stub.value(&pages).ok_or(Failure::Damaged(damage))?)
            }
        };
        Ok(Some(OracleItem {
            value,
            client_flags: record.client_flags,
            expiry: record.expiry,
            marks: record.marks,
            client_cas: record.client_cas,
            seq: record.seq,
        }))
    }

    /// Gives a value a file of its own.
    pub(super) fn write_value(&mut self, value: &[u8]) -> Result<Stub, Refusal> {
        if value.len() > MAX_VALUE_BYTES {
            return Err(Refusal::TooLarge);
        }
        let stub = Stub::of(self.store.new_value_file(), value);
        let written = (|| {
            self.flash.create(stub.id(), stub.pages())?;
            for (n, chunk) in value.chunks(4 << 20).enumerate() {
                let pages = Stub::lay_out(chunk);
                self.flash.write(stub.id(), n as u64 * 1024, pages.pages())?;
            }
            self.flash.sync(stub.id())?;
            self.flash.sync_names()
        })();
        match written {
            Err(FlashError::NoSpace) => {
                // As the program would: nothing is left of what did not fit.
                if self.flash.remove(stub.id()).is_ok() {
                    self.flash.sync_names().map_err(|error| Refusal::Stopped(error.to_string()))?;
                }
                Err(Refusal::NoSpace)
            }
            Err(error) => Err(Refusal::Stopped(error.to_string())),
            Ok(()) => Ok(stub),
        }
    }

    /// One step of the commit log: takes a batch, writes it, or hands it back. Whether it was handed back.
    pub(super) fn turn_log(&mut self) -> bool {
        match self.in_flight.take() {
            None => self.in_flight = self.store.take_batch(self.clock_ms).map(InFlight::Taken),
            Some(InFlight::Taken(batch)) => {
                let result = self.flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
                self.in_flight = Some(InFlight::Written(WrittenBatch { batch, result }));
            }
            Some(InFlight::Written(committed)) => {
                self.store.committed(committed);
                return true;
            }
        }
        false
    }

    /// Hands work over and makes one maintenance step; whether there was anything to do.
    pub(super) fn turn_maintenance(&mut self) -> bool {
        let mut worked = false;
        if let Some(work) = self.store.take_work() {
            self.maintenance.submit(work);
            worked = true;
        }
        match self.maintenance.step(&self.flash) {
            Step::Idle | Step::Stalled => worked,
            Step::More => true,
            Step::Event(event) => {
                self.events.push_back(event);
                true
            }
        }
    }

    /// Delivers one event or installs a few entries.
    pub(super) fn turn_install(&mut self, random: &mut Random) {
        if let Some(event) = self.events.pop_front() {
            self.store.handle(event);
        }
        self.store.step(random.within(1, 64) as usize);
    }
}

fn seconds(clock_ms: u64) -> u32 {
    (clock_ms / 1000) as u32
}
