//! The pattern of a store that updates pages in place.
//!
//! Records lie at fixed places, as many a page of 4 KiB as fit. A put reads its page and writes it back; puts of a page that is
//! under way share its next write. A get reads a page. There is neither a journal against torn pages, which would double the
//! writes, nor a cache, nor an index on flash: this is the least that such a store can do.

use std::collections::BTreeMap;

use fawn_store::flash::FileId;

use super::clients::{Clients, RequestInFlight, TrialOperation};
use super::disk::{SimulatedDisk, Ticket};
use super::settings::{PAGE_BYTES, StoreTrialError};
use super::store_run::StoreRun;
use super::world::{Foreground, World};
use crate::time::SimTime;

/// The file of all pages.
const FILE: FileId = FileId::Segment(0);

enum PageWork {
    Get(RequestInFlight),
    Read(u64),
    Write(u64),
}

/// A page with puts.
#[derive(Default)]
struct BusyPage {
    writing: Vec<RequestInFlight>,
    waiting: Vec<RequestInFlight>,
}

/// The event loop of such a store.
pub struct PageServer {
    clients: Clients,
    records_a_page: u64,
    pages_a_record: u64,
    busy: BTreeMap<u64, BusyPage>,
    work: BTreeMap<Ticket, PageWork>,
    get_bytes: u64,
}

impl PageServer {
    fn start(&mut self, mut issued: RequestInFlight, disk: &mut SimulatedDisk) {
        let place = issued.index / self.records_a_page;
        if issued.operation == TrialOperation::Get {
            self.get_bytes += self.pages_a_record * PAGE_BYTES;
            self.read(place, PageWork::Get(issued), disk);
            return;
        }
        issued.version = self.clients.issued(issued.index) + 1;
        self.clients.took(issued.index, issued.version);
        let is_busy = self.busy.contains_key(&place);
        self.busy.entry(place).or_default().waiting.push(issued);
        if !is_busy {
            self.read(place, PageWork::Read(place), disk);
        }
    }

    fn read(&mut self, place: u64, work: PageWork, disk: &mut SimulatedDisk) {
        let ticket = disk.read_file(FILE, place * self.pages_a_record, self.pages_a_record);
        self.work.insert(ticket.expect("every record has a place"), work);
    }

    /// Writes a page with all puts that wait for it.
    fn write(&mut self, place: u64, disk: &mut SimulatedDisk) {
        let page = self.busy.get_mut(&place).expect("a page that is written has puts");
        page.writing = std::mem::take(&mut page.waiting);
        let ticket = disk.write_file(FILE, place * self.pages_a_record, self.pages_a_record, None);
        self.work.insert(ticket.expect("every record has a place"), PageWork::Write(place));
    }
}

impl Foreground for PageServer {
    fn next_at(&self, now: SimTime) -> Option<SimTime> {
        self.clients.next_at(now)
    }

    fn wake(&mut self, disk: &mut SimulatedDisk) {
        while let Some(issued) = self.clients.next(disk.now()) {
            self.start(issued, disk);
        }
    }

    fn done(&mut self, ticket: Ticket, disk: &mut SimulatedDisk) {
        match self.work.remove(&ticket) {
            Some(PageWork::Get(issued)) => self.clients.answer(&issued, disk.now()),
            Some(PageWork::Read(place)) => self.write(place, disk),
            Some(PageWork::Write(place)) => {
                let page = self.busy.get_mut(&place).expect("a page that was written has puts");
                for issued in std::mem::take(&mut page.writing) {
                    self.clients.answer(&issued, disk.now());
                }
                if page.waiting.is_empty() {
                    self.busy.remove(&place);
                } else {
                    self.write(place, disk);
                }
            }
            None => {}
        }
    }
}

/// Such a store with its clients.
pub struct PageRun<'p> {
    world: World<'p, PageServer>,
}

impl PageRun<'_> {
    /// On a disk.
    ///
    /// # Errors
    /// The records do not fit.
    pub fn open(mut disk: SimulatedDisk, clients: Clients) -> Result<Self, StoreTrialError> {
        let record = clients.workload().record_bytes();
        let (records_a_page, pages_a_record) = ((PAGE_BYTES / record).max(1), record.div_ceil(PAGE_BYTES));
        let pages = clients.workload().records.div_ceil(records_a_page) * pages_a_record;
        if !disk.volume.create(FILE, pages) {
            let (needed, bytes) = (pages * PAGE_BYTES, disk.volume.space().0 * PAGE_BYTES);
            return Err(StoreTrialError::TooSmall { needed, bytes });
        }
        let (busy, work) = (BTreeMap::new(), BTreeMap::new());
        let server = PageServer { clients, records_a_page, pages_a_record, busy, work, get_bytes: 0 };
        Ok(Self { world: World::new(disk, server) })
    }
}

impl StoreRun for PageRun<'_> {
    fn turn(&mut self) -> Result<(), StoreTrialError> {
        self.world.go_on()
    }

    fn look<R>(&mut self, look: impl FnOnce(&mut Clients, &SimulatedDisk) -> R) -> R {
        self.world.with(|server, disk| look(&mut server.clients, disk))
    }

    fn get_bytes(&mut self) -> u64 {
        self.world.with(|server, _| server.get_bytes)
    }
}
