//! Gets under way: plan, read, finish, wait for the gate — with anything in between.

use fawn_check::random::Random;
use fawn_store::page::PageBuf;
use fawn_store::{Damage, FinishedRead, Gate, Lookup, Read};

use super::history::History;
use super::oracle::OracleItem;
use super::program::{Failure, Program};

/// What a get does next.
enum Stage {
    /// Look the key up.
    Plan,
    /// Read these pages.
    Read(Read),
    /// Finish with the pages read.
    Finish(Read, PageBuf),
    /// Answer once the gate is durable.
    Answer(Option<OracleItem>, Gate),
}

/// One get between its beginning and its answer.
pub(super) struct PendingGet {
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

impl PendingGet {
    pub(super) fn begin(program: &Program, history: &History, name: &[u8]) -> Self {
        Self {
            name: name.to_vec(),
            since: history.oracle.issued(),
            began: program.now(),
            proves: 0,
            is_checked: true,
            gone: None,
            planned: 0,
            stage: Some(Stage::Plan),
        }
    }

    pub(super) fn begin_unchecked(program: &Program, history: &History, name: &[u8]) -> Self {
        Self { is_checked: false, ..Self::begin(program, history, name) }
    }

    /// One step; the answer once it may leave.
    pub(super) fn advance(
        &mut self,
        program: &mut Program,
        history: &mut History,
    ) -> Option<Result<Option<OracleItem>, Failure>> {
        let stage = self.stage.take().expect("an answered get is not carried on");
        let next = match stage {
            Stage::Plan => self.plan(program, history),
            Stage::Read(read) => Self::read(program, read),
            Stage::Finish(read, pages) => self.finish((program, history), read, pages),
            Stage::Answer(item, gate) if gate <= program.store.durable() => {
                if self.is_checked {
                    history.shown(self.proves);
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
    pub(super) fn drop_unanswered(self, program: &mut Program) {
        if let Some(Stage::Read(read) | Stage::Finish(read, _)) = self.stage {
            program.store.abandon(read);
        }
    }

    fn plan(&mut self, program: &mut Program, history: &History) -> Result<Stage, Failure> {
        let key = program.store.options().secret.position(&self.name);
        let now = program.now();
        // Changes no answer.
        program.store.prefetch(&[key, key]);
        let (record, gate) = match program.store.lookup(&key, &self.name, now) {
            Lookup::Found { record, gate } => {
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                (bytes, gate)
            }
            Lookup::Absent { gate } => return Ok(self.decided(now, history, None, gate)),
            Lookup::Read(read) => {
                self.planned = history.oracle.issued();
                return Ok(Stage::Read(read));
            }
            Lookup::Loading => return Ok(Stage::Plan),
            Lookup::Damaged(damage) => return Err(Failure::Damaged(damage)),
        };
        self.found((program, history), &record, gate)
    }

    fn read(program: &mut Program, read: Read) -> Result<Stage, Failure> {
        use fawn_store::flash::Flash;
        assert!(read.count >= 1, "a read has a page at least");
        let mut pages = PageBuf::zeroed(read.count as usize);
        match program.flash.read(read.file, read.first, pages.pages_mut()) {
            Ok(()) => Ok(Stage::Finish(read, pages)),
            Err(error) => {
                program.store.abandon(read);
                Err(Failure::Flash(error))
            }
        }
    }

    fn finish(
        &mut self,
        (program, history): (&mut Program, &History),
        read: Read,
        mut pages: PageBuf,
    ) -> Result<Stage, Failure> {
        let key = program.store.options().secret.position(&self.name);
        let now = program.now();
        let record = match program.store.finish(read, pages.pages_mut(), &key, &self.name, now) {
            FinishedRead::Found(record) => {
                self.is_as_planned(now, history, Some(record.seq));
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                bytes
            }
            FinishedRead::Absent { gate } => {
                self.is_as_planned(now, history, None);
                return Ok(self.decided(now, history, None, gate));
            }
            FinishedRead::Read(read) => return Ok(Stage::Read(read)),
            FinishedRead::Damaged(damage) => return Err(Failure::Damaged(damage)),
        };
        self.found((program, history), &record, Gate::NONE)
    }

    /// What a read found, by its sequence number, is what was newest when it was planned: nothing issued since shows.
    fn is_as_planned(&self, now: u32, history: &History, found: Option<u64>) {
        if self.is_checked {
            let then = history.oracle.admits_as_of(&self.name, found, self.planned, now);
            let name = String::from_utf8_lossy(&self.name);
            assert!(then, "a get of {name:?} planned in state {} finds {found:?}, issued later", self.planned);
        }
    }

    fn found(&mut self, (program, history): (&Program, &History), record: &[u8], gate: Gate) -> Result<Stage, Failure> {
        let now = program.now();
        let (record, _) = fawn_store::record::Record::decode(record).expect("encoded just before");
        assert_eq!(record.key, self.name, "a lookup gives the record of the key that was asked for");
        Ok(match program.item(&record)? {
            Some(item) => self.decided(now, history, Some(item), gate),
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
    fn decided(&mut self, now: u32, history: &History, item: Option<OracleItem>, gate: Gate) -> Stage {
        if self.is_checked {
            match history.oracle.admits(&self.name, item.as_ref(), self.since, self.began, now) {
                Some(state) => self.proves = state,
                None => panic!(
                    "a get of {:?} begun in state {} answers {item:?} in state {}; the versions are {:?}",
                    String::from_utf8_lossy(&self.name),
                    self.since,
                    history.oracle.issued(),
                    history.oracle.versions(&self.name),
                ),
            }
        }
        Stage::Answer(item, gate)
    }
}

/// The gets under way, in no order.
#[derive(Default)]
pub(super) struct PendingGets {
    gets: Vec<PendingGet>,
}

impl PendingGets {
    pub(super) fn push(&mut self, get: PendingGet) {
        self.gets.push(get);
    }

    /// Carries one of them on. Damage and I/O errors panic, unless the device has crashed.
    pub(super) fn turn(&mut self, random: &mut Random, program: &mut Program, history: &mut History) {
        if self.gets.is_empty() {
            return;
        }
        let chosen = random.below(self.gets.len() as u64) as usize;
        let mut get = self.gets.swap_remove(chosen);
        match get.advance(program, history) {
            None => self.gets.push(get),
            Some(Ok(_)) => {}
            Some(Err(failure)) if program.is_down() => drop(failure),
            Some(Err(failure)) => panic!("a get on a sound device fails: {failure:?}"),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.gets.is_empty()
    }
}
