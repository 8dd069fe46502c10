//! What the tests of the jobs share: a manifest on a flash of vectors, and segments that are sealed into it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fawn_ring::{Interval, Key, Secret};

use super::catalog::SegmentCatalog;
use super::load::IndexLoader;
use super::merge::Merger;
use super::seal::Sealer;
use super::step::Step;
use crate::api::Gate;
use crate::buffers::open_segment::OpenSegment;
use crate::format::manifest::{Manifest, State};
use crate::format::record::{Kind, Marks, Record};
use crate::format::segment::tests::Memory;
use crate::log::LogPosition;
use crate::work::MaintenanceEvent;

pub(super) const SECRET: Secret = Secret([7; 32]);

/// A store's files, and the jobs that work on them.
pub(super) struct JobFixture {
    pub flash: Memory,
    pub catalog: SegmentCatalog,
    pub loader: IndexLoader,
    pub merger: Merger,
    pub events: VecDeque<MaintenanceEvent>,
    next_seq: u64,
}

impl JobFixture {
    /// A store without records, of so many slices.
    pub fn new(slices: u32) -> Self {
        let flash = Memory::default();
        let manifest = Manifest::create(&flash, State::new(0, 1, Interval::ALL, SECRET, 1, slices, 64)).unwrap();
        Self {
            catalog: SegmentCatalog::new(manifest, BTreeMap::new(), 1),
            loader: IndexLoader::new(1 << 20),
            merger: Merger::new(1 << 20, 64),
            events: VecDeque::new(),
            next_seq: 1,
            flash,
        }
    }

    /// A frozen segment of these keys and values; an empty value deletes its key.
    pub fn frozen(&mut self, records: &[(&str, &str)]) -> Arc<OpenSegment> {
        let mut segment = OpenSegment::new(1 << 16);
        assert!(segment.has_memory());
        for (name, value) in records {
            let record = Record {
                kind: if value.is_empty() { Kind::Delete } else { Kind::Value },
                marks: Marks::default(),
                epoch: 1,
                seq: self.next_seq,
                client_flags: 0,
                expiry: 0,
                client_cas: None,
                key: name.as_bytes(),
                value: value.as_bytes(),
            };
            segment.append(&position(name), Gate::NONE, &record);
            self.next_seq += 1;
        }
        Arc::new(segment)
    }

    /// Does a piece of a seal.
    pub fn seal_step(&mut self, sealer: &mut Sealer) -> Step {
        sealer.step((&mut self.catalog, &self.flash), &mut self.merger, &mut self.events).unwrap()
    }

    /// Seals a segment of this age; returns its number.
    pub fn seal(&mut self, age: u64, records: &[(&str, &str)]) -> u16 {
        let mut sealer = Sealer::default();
        let segment = self.frozen(records);
        sealer.begin(segment, age, (LogPosition::default(), LogPosition::default()), Vec::new(), Vec::new());
        loop {
            if let Step::Event(MaintenanceEvent::Sealed { segment, .. }) = self.seal_step(&mut sealer) {
                return segment.expect("it has records").0.get();
            }
        }
    }

    /// Does a piece of the next load.
    pub fn load_next(&mut self) -> Step {
        self.loader.load_next(&self.catalog, &self.flash, &mut self.events)
    }

    /// Starts of the slices, in key order.
    pub fn slices(&self) -> Vec<Key> {
        self.catalog.state().slices.iter().map(|slice| slice.interval.low).collect()
    }
}

/// The position of a key.
pub(super) fn position(name: &str) -> Key {
    SECRET.position(name.as_bytes())
}
