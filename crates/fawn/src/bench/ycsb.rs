//! `fawn bench ycsb`: the core workloads of YCSB, by the load generator of `fawn bench net`.

use std::time::Duration;

use clap::Args;
use fawn_loadgen::Workload;
use fawn_transfer::client::Address;

use super::net::{GeneratorArguments, RequestedLoad, check_value, parse_server};
use crate::outcome::CommandStatus;
use crate::tell::tell;
use crate::values::{Count, Size, Span};

/// Arguments of `fawn bench ycsb`.
#[derive(Debug, Args)]
#[command(after_help = "\
Workloads, with YCSB's own shares and constants (workloada to workloadf):
  A  update heavy       50% reads, 50% updates
  B  read mostly        95% reads, 5% updates
  C  read only          reads
  D  read latest        95% reads, 5% inserts; what was inserted last is read
                        most, once its insert is acknowledged
  F  read-modify-write  50% reads, 50% read-modify-writes
Records are drawn by Zipf's law with exponent 0.99, and hashes scatter the popular ones over the keys. In D, the \
most recent inserts are the most popular. The law covers --records, as published: of a million records, the first \
gets 6.5% of the reads. YCSB's own client applies it to 10^16 items, hashed onto the records: there the first gets \
3.8%, whatever their number. E scans ranges of keys, which memcached's protocol cannot do: the command refuses it.

A record has ten fields of 100 bytes: one value of 1,000 bytes, without names in it. Reads fetch all of it \
(readallfields=true, as in the files), and updates write all of it. YCSB's updates write one field, which plain \
values do not have. Its memcached binding then sends a value of that field alone, and records shrink; other \
bindings read the record first. Here an update is one set, and records keep their size: writeallfields=true. A \
read-modify-write is a get, and a set after its reply. As in YCSB, it is not atomic, and counts as one operation. \
Its row has the latency of the whole; its halves also count in the rows of reads and updates. Inserts are sets.

--load sets --records records. Then --operations N measures that many operations from the first; otherwise the \
command measures for --time after --warm-up. The generator verifies every value as `fawn bench net` does, with any \
number of writers. It must be one of this record, and not older than the last acknowledged write at the time of the \
request. The exit code is 1 if a value was wrong, an operation was refused, or a read found no record. For \
connections, depth, rate and the rest, see `fawn bench net --help`.

For example:
  fawn bench ycsb A 127.0.0.1:11211 --load --records 1M --time 0
  fawn bench ycsb A 127.0.0.1:11211 --records 1M --operations 1M --depth 4
  fawn bench ycsb D node1:11211,node2:11211 --load --rate 20k --time 60s --json")]
pub struct YcsbArguments {
    /// A, B, C, D or F
    #[arg(value_name = "WORKLOAD")]
    pub workload: Workload,
    /// Servers of one store or cluster: HOST:PORT (an IPv6 address in brackets) or unix:PATH; connections go
    /// round-robin to all
    #[arg(value_name = "ADDR", value_delimiter = ',', required_unless_present = "calibrate", value_parser = parse_server)]
    pub servers: Vec<Address>,
    /// Number of records to load; with updates, the generator needs 8 bytes of DRAM per record
    #[arg(long, value_name = "N", default_value = "1M")]
    pub records: Count,
    /// Bytes of each record, at least 8
    #[arg(long, value_name = "BYTES", default_value = "1000")]
    pub value_bytes: Size,
    /// Measure this many operations, instead of for a time
    #[arg(long, value_name = "N", hide_env = true, conflicts_with_all = ["time", "warm_up"])]
    pub operations: Option<Count>,
    /// Duration of the measurement; 0 with --load for the load alone
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub time: Span,
    /// Duration of the same load before the measurement
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub warm_up: Span,
    #[command(flatten)]
    pub generator: GeneratorArguments,
}

impl YcsbArguments {
    /// Refuses what does not go together.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        check_value(self.value_bytes)?;
        self.generator.check(&self.servers)?;
        if self.records.0 == 0 {
            return Err("there is no record to read: give --records 1 or more".into());
        }
        if self.operations == Some(Count(0)) {
            return Err("there is nothing to measure: give --operations 1 or more, or --load with --time 0".into());
        }
        let has_time = self.operations.is_some() || !self.time.0.is_zero();
        if !has_time && !self.generator.load && !self.servers.is_empty() {
            return Err("there is nothing to measure: give --operations or --time 1s or more, or --load".into());
        }
        Ok(())
    }

    fn load(&self) -> RequestedLoad {
        RequestedLoad {
            keys: self.records.0,
            value_bytes: self.value_bytes.bytes as usize,
            mix: self.workload.mix(),
            distribution: self.workload.distribution(),
            workload: Some(self.workload),
            time: if self.operations.is_some() { Duration::ZERO } else { self.time.0 },
            warm_up: self.warm_up.0,
            operations: self.operations.map(|operations| operations.0),
        }
    }
}

/// Runs it.
///
/// # Errors
/// What [`fawn_loadgen::LoadgenError`] says.
pub fn run(arguments: &YcsbArguments) -> anyhow::Result<CommandStatus> {
    let (findings, outcome) = arguments.generator.run(&arguments.servers, arguments.load())?;
    if findings.misses == 0 {
        return Ok(outcome);
    }
    tell(format_args!(
        "fawn: {} reads found no record: load as many --records as the workload reads, or check what the server has \
        lost",
        findings.misses
    ));
    Ok(CommandStatus::Missing)
}
