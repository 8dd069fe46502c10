//! A sort from files to files.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

use fawn_meter::Meter;
use fawn_report::Watch;

use super::direct::DirectFile;
use super::error::SortError;
use super::group::SortedPieces;
use super::input::InputRecords;
use super::monitor::ByteMonitor;
use super::output::{Leftovers, OutputFile, directory_of};
use super::pages::{PAGE_BYTES, PagesPool};
use super::parts::{MergePart, PartWriting, records_between};
use super::phase::{PhaseMeter, SortPhase};
use super::piece::InputPiece;
use super::pipeline::PiecePipeline;
use super::record::RecordShape;
use super::run_reader::read_jobs;
use super::runs::SortedRuns;
use super::sort_plan::{SecondPass, SortDemand, SortPlan};
use super::space::SpaceNeeds;
use super::spool::{RunSampler, RunSpool, SortedRun, samples_every};
use super::writer::WriteTarget;

/// Reads of a merge at a time, for each thread that merges.
const READS_A_THREAD: usize = 4;
const MOST_READERS: usize = 32;

/// What is sorted, and how.
#[derive(Clone, Debug)]
pub struct SortOptions {
    /// The files, in the order in which records of equal keys stay.
    pub inputs: Vec<PathBuf>,
    /// The files that the records go into, those with the least keys first.
    pub outputs: Vec<PathBuf>,
    /// The shape of the records.
    pub shape: RecordShape,
    /// Bytes of memory.
    pub memory: u64,
    /// Threads that sort and merge.
    pub threads: usize,
    /// Where runs are spooled; `None`: beside the first output.
    pub spool: Option<PathBuf>,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct SortOutcome {
    /// Records.
    pub records: u64,
    /// How they were sorted.
    pub plan: SortPlan,
    /// Whether all files were read and written around the page cache.
    pub is_direct: bool,
    /// What each phase took.
    pub phases: Vec<SortPhase>,
}

/// Sorts records from files into others, which have their names once all of them are whole.
///
/// # Errors
/// What [`SortError`] says. The outputs are then as they were before, unless the system refused to name one of several.
pub fn sort(
    options: &SortOptions,
    meter: Option<&Meter>,
    watch: &(dyn Watch + Sync),
    leftovers: &Leftovers,
) -> Result<SortOutcome, SortError> {
    assert!(!options.outputs.is_empty(), "sorted records go into files");
    let input = InputRecords::open(&options.inputs, options.shape)?;
    let demand =
        SortDemand { shape: options.shape, records: input.records(), memory: options.memory, threads: options.threads };
    let plan = SortPlan::of(&demand)?;
    let passes = if plan.second.is_some() { 4 } else { 2 };
    let monitor = ByteMonitor::new(watch, passes * input.bytes());
    let pool = PagesPool::new(plan.transfer);
    let job = SortJob { options, input: &input, plan: &plan, pool: &pool, monitor: &monitor };
    let (phases, is_direct) = match &plan.second {
        None => job.in_one_pass(meter, leftovers)?,
        Some(second) => job.in_two_passes(second, meter, leftovers)?,
    };
    let is_direct = is_direct && input.files().all(DirectFile::is_direct);
    Ok(SortOutcome { records: input.records(), plan, is_direct, phases })
}

struct SortJob<'j> {
    options: &'j SortOptions,
    input: &'j InputRecords,
    plan: &'j SortPlan,
    /// Buffers of writes.
    pool: &'j PagesPool,
    monitor: &'j ByteMonitor<'j>,
}

/// What each phase took, and whether files were written around the page cache.
type Phases = (Vec<SortPhase>, bool);

impl SortJob<'_> {
    fn in_one_pass(&self, meter: Option<&Meter>, leftovers: &Leftovers) -> Result<Phases, SortError> {
        let mut needs = SpaceNeeds::default();
        self.add_outputs(&mut needs);
        needs.check()?;
        let phase = PhaseMeter::start("read and sort", meter)?;
        let mut pieces = Vec::new();
        self.pipeline().run(|group| {
            pieces = group;
            Ok(Vec::new())
        })?;
        self.input.check_unchanged()?;
        let first = phase.stop()?;
        let phase = PhaseMeter::start("merge and write", meter)?;
        let sorted = SortedPieces::new(self.options.shape, &pieces);
        let cuts = sorted.cuts(self.parts(self.options.threads));
        let outputs = self.create_outputs(&cuts, leftovers)?;
        self.fill_outputs(&outputs, &cuts, self.options.threads, |part, put| sorted.merge(part.from, part.to, put))?;
        let is_direct = outputs.iter().all(|output| output.file().is_direct());
        finish(outputs)?;
        Ok((vec![first, phase.stop()?], is_direct))
    }

    fn in_two_passes(
        &self,
        second: &SecondPass,
        meter: Option<&Meter>,
        leftovers: &Leftovers,
    ) -> Result<Phases, SortError> {
        let spool = self.create_spool(second)?;
        let phase = PhaseMeter::start("read, sort and spool", meter)?;
        let every = samples_every(&self.options.shape, (self.plan.piece_records * self.plan.pieces_a_group) as u64);
        let mut runs: Vec<SortedRun> = Vec::new();
        self.pipeline().run(|group| {
            let offset = runs.last().map_or(0, |run| run.end(&self.options.shape));
            runs.push(self.spool_run(&spool, offset, every, &group)?);
            Ok(group)
        })?;
        self.input.check_unchanged()?;
        let first = phase.stop()?;

        let phase = PhaseMeter::start("merge and write", meter)?;
        let sorted = SortedRuns::new(self.options.shape, &spool, runs, every);
        let cuts = sorted.cuts(self.parts(second.threads))?;
        let outputs = self.create_outputs(&cuts, leftovers)?;
        self.merge_runs(&sorted, second, &spool, &outputs, &cuts)?;
        let is_direct = spool.file().is_direct() && outputs.iter().all(|output| output.file().is_direct());
        finish(outputs)?;
        Ok((vec![first, phase.stop()?], is_direct))
    }

    /// Makes the spool, if it fits with the outputs. Where it does not fit beside all of them, its space goes to them as it is read.
    fn create_spool(&self, second: &SecondPass) -> Result<RunSpool, SortError> {
        let (directory, bytes) = (self.spool_directory(), self.input.bytes());
        let mut spool = RunSpool::create(directory, bytes + second.runs * PAGE_BYTES as u64)?;
        let needs = |spooled: u64| {
            let mut needs = SpaceNeeds::default();
            self.add_outputs(&mut needs);
            needs.add(directory, spooled);
            needs.check()
        };
        if needs(bytes).is_err()
            && let Some(not_given_back) = spool.begin_giving_back(bytes, second.readers())
        {
            let mut outputs = SpaceNeeds::default();
            self.add_outputs(&mut outputs);
            let is_shared = outputs.has_file_system_of(directory);
            needs(if is_shared { (not_given_back + second.read_ahead()).min(bytes) } else { bytes })?;
            self.monitor.note("the free space is less than two copies of the records: the spool gives its own back, which takes longer");
        } else {
            needs(bytes)?;
        }
        Ok(spool)
    }

    fn pipeline(&self) -> PiecePipeline<'_> {
        PiecePipeline { input: self.input, plan: self.plan, threads: self.options.threads, monitor: self.monitor }
    }

    /// Merges sorted pieces into a run.
    fn spool_run(
        &self,
        spool: &RunSpool,
        offset: u64,
        every: u64,
        group: &[InputPiece],
    ) -> Result<SortedRun, SortError> {
        let shape = self.options.shape;
        let sorted = SortedPieces::new(shape, group);
        let cuts = sorted.cuts(self.options.threads);
        let record_bytes = shape.record_bytes() as u64;
        let target = WriteTarget::new(spool.file(), offset + sorted.records() * record_bytes);
        let mut parts = Vec::new();
        for ends in cuts.windows(2) {
            let mut part = MergePart { from: &ends[0], to: &ends[1], target: &target, offset };
            part.offset += part.first() * record_bytes;
            parts.push(part);
        }
        let samples = Mutex::new(vec![Vec::new(); parts.len()]);
        self.writing(self.options.threads, "spooling").run(&parts, |number, part, writer| {
            let mut sampler = RunSampler::starting_at(shape, every, part.first());
            sorted.merge(part.from, part.to, |record| {
                sampler.see(record);
                writer.append(record)
            })?;
            samples.lock().unwrap_or_else(PoisonError::into_inner)[number] = sampler.keys;
            Ok(())
        })?;
        let samples = samples.into_inner().unwrap_or_else(PoisonError::into_inner).concat();
        Ok(SortedRun { offset, records: sorted.records(), samples })
    }

    fn merge_runs(
        &self,
        sorted: &SortedRuns<'_>,
        second: &SecondPass,
        spool: &RunSpool,
        outputs: &[OutputFile],
        cuts: &[Vec<u64>],
    ) -> Result<(), SortError> {
        let (jobs, received) = channel();
        let received = Mutex::new(received);
        thread::scope(|scope| {
            for _ in 0..(READS_A_THREAD * second.threads).min(MOST_READERS) {
                scope.spawn(|| read_jobs(spool, &received, self.monitor, "merging"));
            }
            // The readers end when this is dropped.
            let jobs = jobs;
            self.fill_outputs(outputs, cuts, second.threads, |part, put| {
                sorted.merge((part.from, part.to), second.block, &jobs.clone(), put)
            })
        })
    }

    /// Parts of the last merge: as many for each output.
    fn parts(&self, threads: usize) -> usize {
        self.options.outputs.len() * threads.div_ceil(self.options.outputs.len())
    }

    fn create_outputs(&self, cuts: &[Vec<u64>], leftovers: &Leftovers) -> Result<Vec<OutputFile>, SortError> {
        let paths = &self.options.outputs;
        let parts = (cuts.len() - 1) / paths.len();
        let create = |(number, path): (usize, &PathBuf)| {
            let records = records_between(&cuts[number * parts], &cuts[(number + 1) * parts]);
            OutputFile::create(path, records * self.options.shape.record_bytes() as u64, leftovers)
        };
        paths.iter().enumerate().map(create).collect()
    }

    /// Fills all outputs with what `merge` puts.
    fn fill_outputs(
        &self,
        outputs: &[OutputFile],
        cuts: &[Vec<u64>],
        threads: usize,
        merge: impl Fn(&MergePart<'_>, &mut dyn FnMut(&[u8]) -> Result<(), SortError>) -> Result<(), SortError> + Sync,
    ) -> Result<(), SortError> {
        let targets: Vec<_> = outputs.iter().map(|output| WriteTarget::new(output.file(), output.size())).collect();
        let parts_an_output = (cuts.len() - 1) / outputs.len();
        let mut parts = Vec::new();
        for (number, ends) in cuts.windows(2).enumerate() {
            let first = &cuts[number / parts_an_output * parts_an_output];
            parts.push(MergePart {
                from: &ends[0],
                to: &ends[1],
                target: &targets[number / parts_an_output],
                offset: records_between(first, &ends[0]) * self.options.shape.record_bytes() as u64,
            });
        }
        self.writing(threads, "writing").run(&parts, |_, part, writer| merge(part, &mut |record| writer.append(record)))
    }

    fn writing(&self, threads: usize, what: &'static str) -> PartWriting<'_> {
        PartWriting { threads, pool: self.pool, monitor: self.monitor, what }
    }

    fn add_outputs(&self, needs: &mut SpaceNeeds) {
        // Which records go into which is not known yet.
        let each = self.input.bytes().div_ceil(self.options.outputs.len() as u64);
        self.options.outputs.iter().for_each(|output| needs.add_file(output, each));
    }

    fn spool_directory(&self) -> &Path {
        self.options.spool.as_deref().unwrap_or_else(|| directory_of(&self.options.outputs[0]))
    }
}

fn finish(outputs: Vec<OutputFile>) -> Result<(), SortError> {
    outputs.into_iter().try_for_each(OutputFile::finish)
}

#[cfg(test)]
mod tests;
