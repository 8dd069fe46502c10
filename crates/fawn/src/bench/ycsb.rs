//! `fawn bench ycsb`: the core workloads of YCSB, by the load generator of `fawn bench net`.

use std::time::Duration;

use clap::Args;
use fawn_loadgen::Workload;
use fawn_transfer::client::Address;

use super::net::{GeneratorArguments, Load, check_value, parse_server};
use crate::outcome::Outcome;
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
Records are drawn by Zipf's law with 0.99, the popular ones scattered by the hashes of their keys; in D by how lately they were \
inserted. The law is over --records, as published: of a million the first gets 6.5% of the reads. YCSB's own client takes it over \
10^16, hashed onto the records: there the first gets 3.8%, whatever their number. E scans ranges of keys and is refused: memcached's protocol has no scan.

A record has ten fields of 100 bytes: one value of 1,000, without names in it. Reads ask for all of it (readallfields=true, as in \
the files), and updates write all of it. YCSB's updates write one field, which plain values do not have: its memcached binding \
then sends a value of that field alone, and records shrink; others read the record first. Here an update is one set, and records keep \
their size: writeallfields=true. A read-modify-write is a get, and a set once it is answered; as in YCSB it is not atomic, and \
counts as one operation. Its latency is told as a whole; reads and updates tell its halves. Inserts are sets.

--load sets --records records. Then --operations N measures so many operations from the first; otherwise it is measured for --time \
after --warm-up. Every value that is read is looked at, as `fawn bench net` does, with any number of writers: a record must be of its key, and not older \
than what was acknowledged when it was asked for. The exit code is 1 when a value was wrong, an operation was refused, \
or a read found no record. Connections, depth, pace and the rest are those of `fawn bench net`, whose --help says more.

For example:
  fawn bench ycsb A 127.0.0.1:11211 --load --records 1M --time 0
  fawn bench ycsb A 127.0.0.1:11211 --records 1M --operations 1M --depth 4
  fawn bench ycsb D node1:11211,node2:11211 --load --rate 20k --time 60s --json")]
pub struct YcsbArguments {
    /// A, B, C, D or F
    #[arg(value_name = "WORKLOAD")]
    pub workload: Workload,
    /// Servers of one store or cluster: HOST:PORT (an IPv6 address in brackets) or unix:PATH; connections go to all in turn
    #[arg(value_name = "ADDR", value_delimiter = ',', required_unless_present = "calibrate", value_parser = parse_server)]
    pub servers: Vec<Address>,
    /// Records that are loaded; the generator holds 8 bytes for each where there are updates
    #[arg(long, value_name = "N", default_value = "1M")]
    pub records: Count,
    /// Bytes of each record, at least 8
    #[arg(long, value_name = "BYTES", default_value = "1000")]
    pub value_bytes: Size,
    /// Measure so many operations, instead of for a time
    #[arg(long, value_name = "N", hide_env = true, conflicts_with_all = ["time", "warm_up"])]
    pub operations: Option<Count>,
    /// How long is measured; 0 with --load: the load alone
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub time: Span,
    /// How long the same is done before
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
            return Err("there is nothing to read without a record: give --records 1 or more".into());
        }
        if self.operations == Some(Count(0)) {
            return Err("nothing would be measured: give --operations 1 or more, or --load with --time 0".into());
        }
        let has_time = self.operations.is_some() || !self.time.0.is_zero();
        if !has_time && !self.generator.load && !self.servers.is_empty() {
            return Err("nothing would be measured: give --operations or --time 1s or more, or --load".into());
        }
        Ok(())
    }

    fn load(&self) -> Load {
        Load {
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
pub fn run(arguments: &YcsbArguments) -> anyhow::Result<Outcome> {
    let (findings, outcome) = arguments.generator.run(&arguments.servers, arguments.load())?;
    if findings.misses == 0 {
        return Ok(outcome);
    }
    tell(format_args!(
        "fawn: {} reads found no record: load as many --records as are asked for, or see what the server has lost",
        findings.misses
    ));
    Ok(Outcome::Missing)
}
