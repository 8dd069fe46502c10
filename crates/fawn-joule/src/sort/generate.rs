//! A file of the benchmark's records, made by all cores.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use fawn_report::Watch;
use serde::Serialize;

use super::checksum::Checksum;
use super::error::{SortError, first_cause};
use super::gensort::{RECORD_BYTES, RecordGenerator, RecordText};
use super::monitor::ByteMonitor;
use super::output::{Leftovers, OutputFile};
use super::pages::{PAGE_BYTES, Pages};
use super::space::SpaceNeeds;

/// Records that a thread makes at a time: as many bytes are whole pages.
const RECORDS_AT_A_TIME: u64 = 10 * 1024;

/// Which records are made.
#[derive(Clone, Copy, Debug)]
pub struct GeneratePlan {
    /// How many.
    pub records: u64,
    /// The number of the first.
    pub first: u64,
    /// What their bytes are.
    pub text: RecordText,
    /// Whether many keys share their first bytes.
    pub is_skewed: bool,
    /// Threads that make them.
    pub threads: usize,
}

/// What a file of records holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RecordTotals {
    /// Records.
    pub records: u64,
    /// Their checksum.
    #[serde(serialize_with = "as_text")]
    pub checksum: Checksum,
}

fn as_text<S: serde::Serializer>(checksum: &Checksum, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(checksum)
}

/// Writes the records into a file, which has its name once it is whole.
///
/// # Errors
/// The file cannot be written.
pub fn generate(
    plan: &GeneratePlan,
    path: &Path,
    watch: &(dyn Watch + Sync),
    leftovers: &Leftovers,
) -> Result<RecordTotals, SortError> {
    // What no file system holds is refused as such.
    let size = plan.records.saturating_mul(RECORD_BYTES as u64);
    let mut needs = SpaceNeeds::default();
    needs.add_file(path, size);
    needs.check()?;
    let output = OutputFile::create(path, size, leftovers)?;
    let (next, monitor) = (AtomicU64::new(0), ByteMonitor::new(watch, size));
    let mut checksum = Checksum::default();
    let make = || make_parts(plan, &output, &next, &monitor);
    let parts = thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect::<Vec<_>>()
    });
    first_cause(parts.into_iter().map(|part| part.map(|sum| checksum += sum)))?;
    output.finish()?;
    Ok(RecordTotals { records: plan.records, checksum })
}

/// Makes parts of the file until there are no more, and returns the checksum of these.
fn make_parts(
    plan: &GeneratePlan,
    output: &OutputFile,
    next: &AtomicU64,
    monitor: &ByteMonitor<'_>,
) -> Result<Checksum, SortError> {
    let mut pages = Pages::with_bytes(RECORDS_AT_A_TIME as usize * RECORD_BYTES)?;
    let mut checksum = Checksum::default();
    loop {
        let from = next.fetch_add(1, Ordering::Relaxed) * RECORDS_AT_A_TIME;
        if from >= plan.records {
            return Ok(checksum);
        }
        let bytes = RECORDS_AT_A_TIME.min(plan.records - from) as usize * RECORD_BYTES;
        let mut generator = RecordGenerator::starting_at(plan.first + from, plan.text, plan.is_skewed);
        let (records, _) = pages.bytes_mut()[..bytes].as_chunks_mut::<RECORD_BYTES>();
        for record in records {
            generator.write_next(record);
            checksum.add(record);
        }
        // What is behind the last record goes when the file is finished.
        let whole = bytes.next_multiple_of(PAGE_BYTES);
        output.file().write_pages(&pages.bytes()[..whole], from * RECORD_BYTES as u64)?;
        monitor.add(bytes as u64, "records");
    }
}
