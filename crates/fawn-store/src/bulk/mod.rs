//! Bulk loads: much that is new goes into a store at rest, sorted, without its log and without merges afterwards.
//!
//! 1. Records are gathered in a [`Batch`] in DRAM. A full one is sorted and [spooled](Bulk::spool), and the next begun.
//! 2. At the end ([`Bulk::build`]) the spools and the last batch, which stays in DRAM, are merged in the order of key
//!    positions, newest first, and written as the store's own segments: stretch by stretch of the key space, each of which
//!    the manifest takes over whole or not at all.
//!
//! So each byte is written twice, or once where all of it fits DRAM, and a crash leaves a store in which each slice is as
//! before or as after. What the store holds of a slice already is merged with what is new if that is at least as much;
//! otherwise the new records become its newest part, since rewriting it would cost more than it saves.
//!
//! Records are numbered above all that the store has or may have given out ([`Range::seq_reserved`]), so that they win over
//! whatever is there, and no flush of the past hides them.
//!
//! # Layout
//!
//! `batch`: DRAM. `spool`: flash. `run`: either, as merges read it. `plan`: which stretches. `maintenance/bulk.rs`: what the
//! manifest hears.
//!
//! [`Range::seq_reserved`]: crate::format::manifest::Range::seq_reserved

mod batch;
mod plan;
mod run;
mod spool;

use std::sync::Arc;

use fawn_ring::{Interval, Secret};

use batch::Places;

pub use batch::Batch;
pub(crate) use plan::Inputs;
pub(crate) use run::Run;

use crate::api::{Ack, WrittenBatch};
use crate::flash::{FileId, Flash, FlashError};
use crate::format::page::PAGE_BYTES;
use crate::format::segment::SegmentError;
use crate::maintenance::{Maintenance, Step};
use crate::merge::Void;
use crate::open::{OpenError, Opening};
use crate::options::Options;
use crate::store::Store;
use crate::work::MaintenanceWork;
use plan::{PlannedMerge, plan};
use spool::{SpoolReader, SpoolWriter};

/// Least and most pages of a spool's chunk: what is read at once where many spools are.
const CHUNK_PAGES: (u64, u64) = (4, 64);
/// Share of the memory that one chunk may take.
const CHUNK_SHARE: u64 = 4096;
/// Most pages that are read ahead of one spool.
const MOST_READ_PAGES: u64 = 512;

/// What was spooled of one batch.
struct Spool {
    file: u64,
    pages: u64,
    records: u64,
}

/// A store at rest that takes a load. See the module's text. Dropping it is like a crash: what [`build`](Self::build) has
/// not put into the store yet is gone, and the next opening removes its files.
pub struct Bulk {
    maintenance: Maintenance,
    secret: Secret,
    interval: Interval,
    segment_bytes: usize,
    /// Unix second of the opening: what has expired by then is dropped where a merge takes everything.
    now: u32,
    chunk_pages: usize,
    spools: Vec<Spool>,
    /// Bytes of new records in each slice, about: those of one key in several batches count several times.
    slice_bytes: Vec<u64>,
    /// The first number of a value file that this load may take, and the next one.
    values: (u64, u64),
}

/// What a load did to a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkSummary {
    /// Number of segments that the load has written.
    pub segments: u64,
    /// Bytes of the segments that the load has written.
    pub written_bytes: u64,
    /// Slices that were merged with what they held.
    pub merged: u64,
    /// Records that were there and cannot be read any more.
    pub lost: u64,
}

impl Bulk {
    /// Opens the store on `flash`, or makes it when there is none, and seals what its log holds. `now` is the Unix second;
    /// of the options, `memory` bounds what is read ahead later, and says how large a value may be that is kept in line.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(options: &Options, flash: &dyn Flash, now: u32) -> Result<(Self, Opening), OpenError> {
        let options = Options { ack: Ack::Durable, ..options.clone() };
        let chunk_pages = (options.memory / CHUNK_SHARE / PAGE_BYTES as u64).clamp(CHUNK_PAGES.0, CHUNK_PAGES.1);
        let (mut store, mut maintenance, opening) = Store::open(options, flash, now)?;
        store.tick(now, true);
        // What is loaded goes by the log: a page that comes after the opening's tells it from an opening that was cut short.
        if let Some(batch) = store.replay().take_first_mark() {
            let result = flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
            store.committed(WrittenBatch { batch, result });
        }
        store.hurry();
        bring_to_rest(&mut store, &mut maintenance, flash)?;
        let first_value = store.new_value_file();
        let bulk = Self {
            secret: store.options().secret,
            interval: store.options().interval,
            segment_bytes: store.buffers().segment_bytes(),
            now,
            chunk_pages: chunk_pages as usize,
            spools: Vec::new(),
            slice_bytes: vec![0; maintenance.state().slices.len()],
            values: (first_value, first_value),
            maintenance,
        };
        Ok((bulk, opening))
    }

    /// The keys that the store holds.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// Bytes of a record above which its value gets a file of its own, and it a stub for its value.
    pub fn most_in_line(&self) -> usize {
        self.segment_bytes / 4
    }

    /// A number for a new value file: write and sync the file, then push its stub. Every second one is a value's, from this
    /// on.
    pub fn first_value_file(&self) -> u64 {
        self.values.0
    }

    /// No value file with this number or a greater one was made.
    pub fn set_next_value_file(&mut self, next: u64) {
        self.values.1 = next;
    }

    /// Writes what of the sorted `batch` is this store's to a spool.
    ///
    /// # Errors
    /// The device's.
    pub fn spool(&mut self, flash: &dyn Flash, batch: &Batch) -> Result<(), FlashError> {
        let file = self.maintenance.new_files(1);
        let mut writer = SpoolWriter::create(flash, file, self.chunk_pages)?;
        let mut records = 0;
        let mut slices = Slices { number: 0, maintenance: &self.maintenance };
        let mut places = Places::of(&self.interval);
        while let Some((prefix, record)) = places.next(batch) {
            writer.push(flash, record.bytes)?;
            self.slice_bytes[slices.of(prefix)] += record.record_bytes();
            records += 1;
        }
        let pages = writer.finish(flash)?;
        self.spools.push(Spool { file, pages, records });
        Ok(())
    }

    /// Puts everything spooled, and what of the sorted `last` is this store's, into the store. `read_bytes` is DRAM to read
    /// ahead; `progress` is told by how many bytes of records it has gone on. When it returns the load is durable.
    ///
    /// # Errors
    /// [`SegmentError`]: the device's, or that of a segment which the store had. Slices are as before or as after then.
    pub fn build(
        mut self,
        flash: &dyn Flash,
        last: &Arc<Batch>,
        read_bytes: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<BulkSummary, SegmentError> {
        let built = self.build_all(flash, last, read_bytes, progress);
        let cleaned = self.remove_own(flash);
        let built = built?;
        cleaned?;
        Ok(built)
    }

    /// Gives the load up: its files are removed, and the store is as before.
    ///
    /// # Errors
    /// The device's; the next opening removes what is left.
    pub fn abandon(mut self, flash: &dyn Flash) -> Result<(), FlashError> {
        self.remove_own(flash)
    }

    fn build_all(
        &mut self,
        flash: &dyn Flash,
        last: &Arc<Batch>,
        read_bytes: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<BulkSummary, SegmentError> {
        let records = self.count_last(last);
        let all = records + self.spools.iter().map(|spool| spool.records).sum::<u64>();
        let mut built = BulkSummary::default();
        if all == 0 {
            return Ok(built);
        }
        if self.values.0 < self.values.1 {
            flash.sync_names()?;
        }
        let first = self.maintenance.reserve_numbers(flash, all)?;
        let stretches = plan(&self.maintenance, &self.slice_bytes);
        let mut runs = self.runs(last, first, read_bytes);
        for stretch in &stretches {
            runs = self.build_stretch(flash, stretch, runs, &mut built)?;
            progress(stretch.bytes);
        }
        Ok(built)
    }

    /// Counts what of the last batch is this store's.
    fn count_last(&mut self, last: &Batch) -> u64 {
        let mut slices = Slices { number: 0, maintenance: &self.maintenance };
        let mut places = Places::of(&self.interval);
        let mut records = 0;
        while let Some((prefix, record)) = places.next(last) {
            self.slice_bytes[slices.of(prefix)] += record.record_bytes();
            records += 1;
        }
        records
    }

    /// All runs, oldest first, each numbered above the one before.
    fn runs(&self, last: &Arc<Batch>, first: u64, read_bytes: u64) -> Vec<Run> {
        let read_pages = read_bytes / PAGE_BYTES as u64 / self.spools.len().max(1) as u64;
        let read_pages = read_pages.min(MOST_READ_PAGES) as usize;
        let mut seq = first;
        let mut runs = Vec::with_capacity(self.spools.len() + 1);
        for spool in &self.spools {
            let reader = SpoolReader::new(spool.file, spool.pages, self.chunk_pages, read_pages);
            runs.push(Run::of_spool(reader, seq));
            seq += spool.records;
        }
        runs.push(Run::of_batch(Arc::clone(last), &self.interval, seq));
        runs
    }

    /// Merges one stretch and has the manifest take it over. Gives the runs back, behind it.
    fn build_stretch(
        &mut self,
        flash: &dyn Flash,
        stretch: &PlannedMerge,
        mut runs: Vec<Run>,
        built: &mut BulkSummary,
    ) -> Result<Vec<Run>, SegmentError> {
        for run in &mut runs {
            run.set_limit(stretch.interval.high);
        }
        let before: Vec<Option<(u64, u64)>> = runs.iter().map(Run::spool).collect();
        let void = Void { flushed: self.maintenance.flushed(), times: vec![(Interval::ALL, self.now)] };
        let mut merge = self.maintenance.begin_bulk(stretch.interval, stretch.inputs, runs, void, stretch.run_bytes);
        let merged = loop {
            match merge.step(flash, &self.secret) {
                Ok(None) => {}
                Ok(Some(merged)) => break merged,
                Err(error) => {
                    Maintenance::drop_bulk(flash, &merge)?;
                    return Err(error);
                }
            }
        };
        let mut runs = merge.into_runs();
        let stubs = runs.iter_mut().flat_map(Run::take_stubs).collect();
        built.segments += merged.outputs.iter().filter(|output| output.written.is_some()).count() as u64;
        built.written_bytes += merged.bytes_written;
        built.merged += u64::from(stretch.inputs == Inputs::All);
        built.lost += merged.lost.as_ref().map_or(0, |lost| lost.records);
        self.maintenance.record_bulk(flash, stretch.interval, stretch.inputs, merged, stubs)?;
        for (run, before) in runs.iter().zip(before) {
            if let (Some((file, passed)), Some((_, before))) = (run.spool(), before) {
                flash.punch(FileId::Segment(file), before, passed - before)?;
            }
        }
        Ok(runs)
    }

    /// Removes the spools, and the value files of this load that no record names: later lines had their keys, too.
    fn remove_own(&mut self, flash: &dyn Flash) -> Result<(), FlashError> {
        let spools = self.spools.drain(..).map(|spool| FileId::Segment(spool.file));
        let (first, next) = self.values;
        let named = &self.maintenance.state().values;
        let values = (first..next).step_by(2).filter(|file| !named.contains_key(file)).map(FileId::Value);
        for file in spools.chain(values) {
            match flash.remove(file) {
                Err(FlashError::NotFound(_)) => {}
                result => result?,
            }
        }
        Ok(())
    }
}

/// Slice by slice, in the order of records.
struct Slices<'a> {
    number: usize,
    maintenance: &'a Maintenance,
}

impl Slices<'_> {
    /// The slice of the next record, whose position has this prefix.
    #[inline]
    fn of(&mut self, prefix: u64) -> usize {
        let slices = &self.maintenance.state().slices;
        while slices[self.number].interval.high.prefix() < prefix {
            self.number += 1;
        }
        self.number
    }
}

/// Seals what the log holds, flushes included, and stops the store cleanly: its manifest then says all that there is.
fn bring_to_rest(store: &mut Store, maintenance: &mut Maintenance, flash: &dyn Flash) -> Result<(), OpenError> {
    let (mut is_sealed, mut is_closing) = (false, false);
    while !store.upkeep().is_closed() {
        while let Some(work) = store.take_work() {
            // Nobody looks anything up: indexes are not needed, and what a merge would do waits.
            if !matches!(work, MaintenanceWork::Load { .. } | MaintenanceWork::Merge(_)) {
                maintenance.submit(work);
            }
        }
        if let Some(batch) = store.take_batch(0) {
            let result = flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
            store.committed(WrittenBatch { batch, result });
        }
        match maintenance.step(flash) {
            Step::Event(event) => {
                store.handle(event);
                while store.step(usize::MAX) {}
            }
            Step::More => {}
            Step::Stalled => return Err(FlashError::NoSpace.into()),
            Step::Idle if is_closing || !store.is_idle() => {}
            Step::Idle if is_sealed => {
                is_closing = true;
                store.close();
            }
            Step::Idle => {
                is_sealed = true;
                store.replay().seal_everything();
            }
        }
        if let Some(why) = store.stopped() {
            return Err(OpenError::Stopped(why.to_owned()));
        }
    }
    Ok(())
}
