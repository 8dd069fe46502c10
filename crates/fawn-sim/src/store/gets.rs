//! Gets under way: plan, read, finish, wait for the gate — with anything in between.

use fawn_store::page::PageBuf;
use fawn_store::{Damage, Finished, Gate, Lookup, Read};

use super::machine::{Failure, Machine};
use super::oracle::Item;

/// What a get does next.
enum Stage {
    /// Look the key up.
    Plan,
    /// Read these pages.
    Read(Read),
    /// Finish with the pages read.
    Finish(Read, PageBuf),
    /// Answer once the gate is durable.
    Answer(Option<Item>, Gate),
}

/// One get between its beginning and its answer.
pub(super) struct Get {
    name: Vec<u8>,
    /// Number of the newest state when it began.
    since: u64,
    /// Unix second when it began.
    began: u32,
    /// The oldest state that the answer proves durable, once it is known.
    proves: u64,
    is_checked: bool,
    /// Sequence number of the stub whose file was found gone.
    gone: Option<u64>,
    /// Number of the newest state when its first read was planned.
    planned: u64,
    stage: Option<Stage>,
}

impl Get {
    pub(super) fn begin(machine: &Machine, name: &[u8]) -> Self {
        Self {
            name: name.to_vec(),
            since: machine.oracle.issued(),
            began: machine.now(),
            proves: 0,
            is_checked: true,
            gone: None,
            planned: 0,
            stage: Some(Stage::Plan),
        }
    }

    pub(super) fn begin_unchecked(machine: &Machine, name: &[u8]) -> Self {
        Self { is_checked: false, ..Self::begin(machine, name) }
    }

    /// One step; the answer once it may leave.
    pub(super) fn advance(&mut self, machine: &mut Machine) -> Option<Result<Option<Item>, Failure>> {
        let stage = self.stage.take().expect("an answered get is not carried on");
        let next = match stage {
            Stage::Plan => self.plan(machine),
            Stage::Read(read) => Self::read(machine, read),
            Stage::Finish(read, pages) => self.finish(machine, read, pages),
            Stage::Answer(item, gate) if gate <= machine.store.durable() => {
                if self.is_checked {
                    machine.proved_durable(self.proves);
                }
                return Some(Ok(item));
            }
            waiting @ Stage::Answer(..) => Ok(waiting),
        };
        match next {
            Ok(stage) => {
                self.stage = Some(stage);
                None
            }
            Err(failure) => Some(Err(failure)),
        }
    }

    /// Hands back what it holds of the store.
    pub(super) fn drop_unanswered(self, machine: &mut Machine) {
        if let Some(Stage::Read(read) | Stage::Finish(read, _)) = self.stage {
            machine.store.abandon(read);
        }
    }

    fn plan(&mut self, machine: &mut Machine) -> Result<Stage, Failure> {
        let key = machine.store.secret().position(&self.name);
        let now = machine.now();
        // Changes no answer.
        machine.store.prefetch(&[key, key]);
        let (record, gate) = match machine.store.lookup(&key, &self.name, now) {
            Lookup::Found { record, gate } => {
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                (bytes, gate)
            }
            Lookup::Absent { gate } => return Ok(self.decided(machine, None, gate)),
            Lookup::Read(read) => {
                self.planned = machine.oracle.issued();
                return Ok(Stage::Read(read));
            }
            Lookup::Loading => return Ok(Stage::Plan),
            Lookup::Damaged(damage) => return Err(Failure::Damaged(damage)),
        };
        self.found(machine, &record, gate)
    }

    fn read(machine: &mut Machine, read: Read) -> Result<Stage, Failure> {
        use fawn_store::flash::Flash;
        assert!(read.count >= 1, "a read has a page at least");
        let mut pages = PageBuf::zeroed(read.count as usize);
        match machine.flash.read(read.file, read.first, pages.pages_mut()) {
            Ok(()) => Ok(Stage::Finish(read, pages)),
            Err(error) => {
                machine.store.abandon(read);
                Err(Failure::Flash(error))
            }
        }
    }

    fn finish(&mut self, machine: &mut Machine, read: Read, mut pages: PageBuf) -> Result<Stage, Failure> {
        let key = machine.store.secret().position(&self.name);
        let now = machine.now();
        let record = match machine.store.finish(read, pages.pages_mut(), &key, &self.name, now) {
            Finished::Found(record) => {
                self.is_as_planned(machine, Some(record.seq));
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                bytes
            }
            Finished::Absent { gate } => {
                self.is_as_planned(machine, None);
                return Ok(self.decided(machine, None, gate));
            }
            Finished::Read(read) => return Ok(Stage::Read(read)),
            Finished::Damaged(damage) => return Err(Failure::Damaged(damage)),
        };
        self.found(machine, &record, Gate::NONE)
    }

    /// What a read found, by its sequence number, is what was newest when it was planned: nothing issued since shows.
    fn is_as_planned(&self, machine: &Machine, found: Option<u64>) {
        if self.is_checked {
            let then = machine.oracle.admits_as_of(&self.name, found, self.planned, machine.now());
            let name = String::from_utf8_lossy(&self.name);
            assert!(then, "a get of {name:?} planned in state {} finds {found:?}, issued later", self.planned);
        }
    }

    fn found(&mut self, machine: &mut Machine, record: &[u8], gate: Gate) -> Result<Stage, Failure> {
        let (record, _) = fawn_store::record::Record::decode(record).expect("encoded just before");
        assert_eq!(record.key, self.name, "a lookup gives the record of the key that was asked for");
        Ok(match machine.item(&record)? {
            Some(item) => self.decided(machine, Some(item), gate),
            None if self.gone == Some(record.seq) => {
                let file = fawn_store::large::Stub::decode(record.value).expect("a stub's value is a stub").id();
                return Err(Failure::Damaged(Damage { file, offset: 0, what: "the value's file is gone".into() }));
            }
            None => {
                self.gone = Some(record.seq);
                Stage::Plan
            }
        })
    }

    /// The answer is known: it must be right now, whatever happens until it leaves.
    fn decided(&mut self, machine: &Machine, item: Option<Item>, gate: Gate) -> Stage {
        if self.is_checked {
            let now = machine.now();
            match machine.oracle.admits(&self.name, item.as_ref(), self.since, self.began, now) {
                Some(state) => self.proves = state,
                None => panic!(
                    "a get of {:?} begun in state {} answers {item:?} in state {}; the versions are {:?}",
                    String::from_utf8_lossy(&self.name),
                    self.since,
                    machine.oracle.issued(),
                    machine.oracle.versions(&self.name),
                ),
            }
        }
        Stage::Answer(item, gate)
    }
}

/// The gets under way, in no order.
#[derive(Default)]
pub(super) struct Gets {
    gets: Vec<Get>,
}

impl Gets {
    pub(super) fn push(&mut self, get: Get) {
        self.gets.push(get);
    }

    pub(super) fn take(&mut self, number: usize) -> Get {
        self.gets.swap_remove(number)
    }

    pub(super) fn len(&self) -> usize {
        self.gets.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.gets.is_empty()
    }
}
