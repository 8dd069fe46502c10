//! What a trace amounts to: one pass over it, which counts damage and says where it is.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Serialize;

use super::report::{LatencySummary, LatencySums};
use crate::trace::{Access, BlockRequest, TraceError, TraceFormat, TraceReader, TraceSummary};

/// Damage that is kept with its text; more is counted.
pub const DAMAGE_TOLD: usize = 10;

/// Volumes that are told apart. Those beyond share the addresses of the first.
const MOST_VOLUMES: usize = 1 << 16;

/// The part of a trace that is wanted: one volume or all, and no more than so many requests.
#[derive(Debug)]
pub struct TraceSelection<R> {
    reader: TraceReader<R>,
    volume: Option<String>,
    left: u64,
}

impl<R: BufRead> TraceSelection<R> {
    /// Of what `reader` reads. A volume is named as the trace names it, or by its number.
    pub fn new(reader: TraceReader<R>, volume: Option<String>, most: u64) -> Self {
        Self { reader, volume, left: most }
    }

    fn is_wanted(&self, device: u32) -> bool {
        let Some(wanted) = &self.volume else { return true };
        self.reader.device_name(device).map_or_else(|| *wanted == device.to_string(), |name| name == wanted)
    }
}

impl<R: BufRead> Iterator for TraceSelection<R> {
    type Item = Result<BlockRequest, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 {
            let request = match self.reader.next()? {
                Ok(request) => request,
                Err(error) => return Some(Err(error)),
            };
            if self.is_wanted(request.device) {
                self.left -= 1;
                return Some(Ok(request));
            }
        }
        None
    }
}

/// A trace, scanned.
#[derive(Clone, Debug, Serialize)]
pub struct TraceScan {
    /// Its format.
    pub format: &'static str,
    /// Whether its requests have times.
    pub has_times: bool,
    /// Requests.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Discards.
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Seconds from the first request to the last.
    pub seconds: f64,
    /// Volumes.
    pub volumes: u64,
    /// Requests whose time is before the time of the one in front of them.
    pub unordered: u64,
    /// Lines or blocks that could not be read.
    pub damaged: u64,
    /// What is wrong with the first of them.
    pub damage: Vec<String>,
    /// Why the trace could not be read to its end.
    pub ended_early: Option<String>,
    /// How long the recorded machine took, if the trace says.
    pub recorded_latency: Option<LatencySummary>,
    /// The time of the earliest request.
    #[serde(skip)]
    pub first_ns: u64,
    /// The end of each volume, in bytes.
    #[serde(skip)]
    pub ends: BTreeMap<u32, u64>,
    #[serde(skip)]
    summary: TraceSummary,
    #[serde(skip)]
    recorded: LatencySums,
}

impl TraceScan {
    /// Of a trace of this format, of which nothing was read.
    pub fn new(format: TraceFormat) -> Self {
        Self {
            format: format.name(),
            has_times: format.has_times(),
            requests: 0,
            reads: 0,
            writes: 0,
            discards: 0,
            flushes: 0,
            bytes_read: 0,
            bytes_written: 0,
            seconds: 0.0,
            volumes: 0,
            unordered: 0,
            damaged: 0,
            damage: Vec::new(),
            ended_early: None,
            recorded_latency: None,
            first_ns: 0,
            ends: BTreeMap::new(),
            summary: TraceSummary::default(),
            recorded: LatencySums::default(),
        }
    }

    /// Counts what a reader gave. The request, if it was one.
    pub fn add(&mut self, result: Result<BlockRequest, TraceError>) -> Option<BlockRequest> {
        let request = match result {
            Ok(request) => request,
            Err(error) if error.is_final() => {
                self.ended_early = Some(error.to_string());
                return None;
            }
            Err(error) => {
                self.damaged += 1;
                if self.damage.len() < DAMAGE_TOLD {
                    self.damage.push(error.to_string());
                }
                return None;
            }
        };
        self.summary.add(&request);
        if let Some(response_ns) = request.response_ns {
            self.recorded.add(response_ns);
        }
        if self.ends.len() < MOST_VOLUMES || self.ends.contains_key(&request.device) {
            let end = self.ends.entry(request.device).or_default();
            *end = (*end).max(request.end());
        }
        Some(request)
    }

    /// Requests so far.
    pub fn seen(&self) -> u64 {
        self.summary.requests.iter().sum()
    }

    /// Fills in what follows from all requests.
    pub fn finish(&mut self) {
        let summary = &self.summary;
        let of = |access: Access| summary.requests[access as usize];
        (self.reads, self.writes) = (of(Access::Read), of(Access::Write));
        (self.discards, self.flushes) = (of(Access::Discard), of(Access::Flush));
        self.requests = self.seen();
        self.bytes_read = summary.bytes[Access::Read as usize];
        self.bytes_written = summary.bytes[Access::Write as usize];
        let (first_ns, last_ns) = summary.times_ns.unwrap_or_default();
        self.volumes = self.ends.len() as u64;
        self.first_ns = first_ns;
        self.seconds = (last_ns - first_ns) as f64 / 1e9;
        self.unordered = summary.unordered;
        self.recorded_latency = self.recorded.summary();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_counts_requests_and_tells_damage_with_its_line() {
        let text =
            b"128166372003061629,web,0,Read,4096,24576,41286\nnonsense\n128166372013061629,web,1,Write,0,512,10000\n";
        let reader = TraceReader::detect(&text[..]).unwrap();
        let mut scan = TraceScan::new(reader.format());
        let requests = reader.filter_map(|result| scan.add(result)).count();
        scan.finish();
        assert_eq!((requests, scan.requests, scan.reads, scan.writes, scan.damaged), (2, 2, 1, 1, 1));
        assert!(scan.damage[0].starts_with("line 2: "), "{:?}", scan.damage);
        assert_eq!((scan.seconds, scan.ends.len(), scan.format), (1.0, 2, "msr"));
        assert_eq!(scan.recorded_latency.map(|latency| latency.requests), Some(2));
    }
    #[test]
    fn one_volume_and_so_many_requests_can_be_chosen() {
        let text = b"128166372003061629,web,0,Read,4096,512,1\n128166372003061630,web,1,Read,0,512,1\n128166372003061631,web,1,Write,0,512,1\n";
        let chosen = |volume: Option<&str>, most| {
            let reader = TraceReader::detect(&text[..]).unwrap();
            TraceSelection::new(reader, volume.map(str::to_owned), most).count()
        };
        assert_eq!((chosen(None, 9), chosen(None, 2), chosen(Some("web.1"), 9), chosen(Some("none"), 9)), (3, 2, 2, 0));
    }
}
