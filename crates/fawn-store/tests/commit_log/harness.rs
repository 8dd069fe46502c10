//! A store that does nothing but log: it knows what it appended, what was acknowledged, and where recovery begins.

use crate::killed::Killed;
use fawn_check::random::Random;
use fawn_sim::flash::{PowerCut, SimFlash};
use fawn_store::flash::{FileId, Flash, FlashError};
use fawn_store::log::{Entry, LogError, LogExpectation, LogPosition, LogRecovery, LogShape, LogWriter, recover};
use fawn_store::record::{Kind, Marks, Record};

pub const SALT: u32 = 0x5eed_5a17;

/// An entry with its own bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owned {
    Record(Vec<u8>),
    Flush(u64),
    FlushScheduled(u32),
    SequenceReserved(u64),
    Range(Vec<u8>),
}

impl Owned {
    pub fn borrow(&self) -> Entry<'_> {
        match self {
            Self::Record(bytes) => Entry::Record(bytes),
            Self::Flush(watermark) => Entry::Flush { watermark: *watermark },
            Self::FlushScheduled(deadline) => Entry::FlushScheduled { deadline: *deadline },
            Self::SequenceReserved(limit) => Entry::SequenceReserved { limit: *limit },
            Self::Range(bytes) => Entry::Range(bytes),
        }
    }

    fn of(entry: Entry<'_>) -> Self {
        match entry {
            Entry::Record(bytes) => Self::Record(bytes.to_vec()),
            Entry::Flush { watermark } => Self::Flush(watermark),
            Entry::FlushScheduled { deadline } => Self::FlushScheduled(deadline),
            Entry::SequenceReserved { limit } => Self::SequenceReserved(limit),
            Entry::Range(bytes) => Self::Range(bytes.to_vec()),
        }
    }
}

/// The bytes of a record with this number and value.
pub fn record(seq: u64, value: &[u8]) -> Owned {
    let record = Record {
        kind: Kind::Value,
        marks: Marks::default(),
        epoch: 0,
        seq,
        client_flags: 0,
        expiry: 0,
        client_cas: None,
        key: b"key",
        value,
    };
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    Owned::Record(bytes)
}

/// What recovery says and hands out.
pub fn replay(
    flash: &dyn Flash,
    ring_pages: u64,
    expected: LogExpectation,
) -> Result<(LogRecovery, Vec<(u64, Owned)>), LogError> {
    let mut entries = Vec::new();
    let found = recover(flash, LogShape { ring_pages, salt: SALT }, expected, |replayed| {
        entries.push((replayed.range, Owned::of(replayed.entry)));
    })?;
    assert_eq!(found.entries, entries.len() as u64);
    Ok((found, entries))
}

pub struct Logger {
    pub flash: SimFlash,
    pub writer: LogWriter,
    pub ring_pages: u64,
    /// What the manifest would say.
    pub expected: LogExpectation,
    /// All entries from `expected.start` on, each with its gate in this opening (0: of an earlier one).
    pub appended: Vec<(u64, Owned, u64)>,
    next_seq: u64,
    /// Writes and syncs until the process is killed.
    pub operations_left: u64,
}

impl Logger {
    pub fn create(ring_pages: u64) -> Self {
        let flash = SimFlash::new(1);
        flash.create(FileId::CommitLog, ring_pages).unwrap();
        flash.sync(FileId::CommitLog).unwrap();
        flash.sync_names().unwrap();
        let start = LogPosition::default();
        let expected = LogExpectation { manifest: 1, start, generation: 1, clean_end: None, reached: start };
        let writer = writer(ring_pages, 1, 0, LogPosition::default());
        Self { flash, writer, ring_pages, expected, appended: Vec::new(), next_seq: 1, operations_left: u64::MAX }
    }

    /// Appends; false when the log refused.
    pub fn append(&mut self, range: u64, entry: Owned) -> bool {
        let gate = self.writer.append(range, &entry.borrow());
        if let Ok(gate) = gate {
            self.appended.push((range, entry, gate));
        }
        gate.is_ok()
    }

    /// Appends a record whose value has `len` bytes and no two records share.
    pub fn append_record(&mut self, len: usize) -> bool {
        let mut value = vec![0; len];
        Random::new(self.next_seq).fill(&mut value);
        self.next_seq += 1;
        self.append(7, record(self.next_seq, &value))
    }

    /// Appends something that depends on `random`.
    pub fn append_random(&mut self, random: &mut Random) -> bool {
        let range = random.within(1, 3);
        match random.below(10) {
            0 => self.append(range, Owned::Flush(random.word())),
            1 => self.append(range, Owned::FlushScheduled(random.word() as u32)),
            2 => self.append(range, Owned::SequenceReserved(random.word())),
            3 => self.append_record(random.below(20_000) as usize),
            4 => {
                let mut bytes = vec![0; random.below(900) as usize];
                random.fill(&mut bytes);
                self.append(range, Owned::Range(bytes))
            }
            _ => self.append_record(random.below(600) as usize),
        }
    }

    /// Writes the batch under construction, if there is one.
    pub fn commit(&mut self) -> Result<(), FlashError> {
        while let Some(batch) = self.writer.take() {
            let flash = Killed::after(self.operations_left, &self.flash);
            let result = flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
            self.operations_left = self.operations_left.saturating_sub(2);
            result?;
            self.writer.written(batch.gate, batch.pages);
        }
        Ok(())
    }

    /// What a seal of all that was appended does to the log.
    pub fn seal(&mut self) {
        self.expected.start = self.writer.position();
        self.expected.reached = self.writer.durable_at();
        let pending = self.writer.gate();
        self.appended.retain(|(_, _, gate)| *gate == pending);
        self.writer.recycle_to(self.expected.start.page);
    }

    /// Number of entries that recovery must find.
    pub fn acknowledged(&self) -> usize {
        self.appended.iter().take_while(|(_, _, gate)| *gate <= self.writer.durable()).count()
    }

    /// Recovers, demands a prefix with everything acknowledged, and goes on from there.
    pub fn reopen(&mut self) -> LogRecovery {
        let (found, entries) = replay(&self.flash, self.ring_pages, self.expected).unwrap();
        assert!(entries.len() >= self.acknowledged(), "acknowledged entries are recovered");
        assert!(entries.len() <= self.appended.len(), "nothing is recovered that was not appended");
        self.appended.truncate(entries.len());
        for ((range, entry, gate), found) in self.appended.iter_mut().zip(&entries) {
            assert_eq!((&*range, &*entry), (&found.0, &found.1));
            *gate = 0;
        }
        self.expected.clean_end = None;
        self.expected.reached = found.end;
        self.expected.generation += 1;
        self.writer = writer(self.ring_pages, self.expected.generation, self.expected.start.page, found.end);
        found
    }

    pub fn power_cut(&mut self, cut: PowerCut, seed: u64) -> LogRecovery {
        self.flash.power_cut(cut, seed);
        self.reopen()
    }
}

pub fn writer(ring_pages: u64, generation: u64, tail: u64, end: LogPosition) -> LogWriter {
    LogWriter::new(LogShape { ring_pages, salt: SALT }, generation, tail, end, 1 << 20)
}
