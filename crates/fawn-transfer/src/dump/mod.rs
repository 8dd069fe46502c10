//! Dumping: every record of a server, or of a cluster, into a file or a pipe.
//!
//! # Layout
//!
//! * This file: of a server, by listing its keys. `output`: the file. `leftovers`: what is left of one that is interrupted.
//! * [`cluster`]: of a cluster. `resumable_dump`: what becomes of what its nodes show. `spool`: what has come of a range that is
//!   not over, in `runs`. `state`: how far it is, to go on.

pub mod cluster;
mod leftovers;
mod output;
mod resumable_dump;
mod runs;
mod spool;
mod state;

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::thread;

use self::leftovers::{DumpPhase, Leftovers};
use self::output::Output;
pub use self::state::DumpedInterval;
use crate::client::{Endpoint, FetchedRecords, FirstFailure, MissedKeys, ServerConnection, fetch_all};
use crate::load::TransferCounts;
use crate::records::Format;
use crate::summary::TransferSummary;
use crate::ui::{Progress, TransferExtent, Ui};

/// What is dumped where.
#[derive(Clone, Debug)]
pub struct DumpOptions {
    /// The file; `-` is standard output.
    pub file: PathBuf,
    /// How records are written; `None`: as the file's name says.
    pub format: Option<Format>,
    /// Connections that fetch the values of a server, at least 1.
    pub connections: u16,
    /// Whether a dump of a cluster begins anew, whatever an interrupted one has left.
    pub restart: bool,
}

impl DumpOptions {
    fn format(&self) -> Format {
        self.format.unwrap_or_else(|| Format::of_name(&self.file))
    }
}

/// Dumps a server.
///
/// # Errors
/// Nothing is left in the file's place.
pub fn dump_server(options: &DumpOptions, endpoint: &Endpoint, ui: &dyn Ui) -> anyhow::Result<TransferSummary> {
    let total = ServerConnection::open(endpoint)?.stat("curr_items")?;
    let leftovers = Leftovers::default();
    let progress = ui.begin(TransferExtent::Records(total), leftovers.interrupted())?;
    let mut output = {
        let mut phase = leftovers.lock();
        let output = Output::create(&options.file)?;
        *phase = output.partial().map_or(DumpPhase::Streaming, |partial| DumpPhase::Begun(vec![partial.to_owned()]));
        output
    };
    let dumped = of_server_into(options, endpoint, &mut output, progress.as_ref()).and_then(|summary| {
        let mut phase = leftovers.lock();
        output.sync()?;
        // What cannot get its name is complete all the same.
        *phase = DumpPhase::Complete;
        output.finish()?;
        Ok(summary)
    });
    if dumped.is_err() {
        leftovers.fail();
    }
    dumped
}

/// Fetches every record, and writes it.
fn of_server_into(
    options: &DumpOptions,
    endpoint: &Endpoint,
    output: &mut Output,
    progress: &dyn Progress,
) -> anyhow::Result<TransferSummary> {
    let (failure, missed) = (FirstFailure::default(), MissedKeys::default());
    let mut summary = TransferSummary::start();
    let written = thread::scope(|scope| {
        let records = fetch_all(scope, endpoint, options.connections, &missed, &failure)?;
        write_all(&records, options.format(), output, &mut summary, progress)
    });
    progress.finish();
    let transferred = failure.resolve(written)?;
    summary.finish(&transferred);
    (summary.vanished, summary.unreadable, summary.unfetched) =
        (missed.vanished(), missed.unreadable(), missed.unfetched());
    Ok(summary)
}

/// Writes every record of the channel.
fn write_all(
    records: &Receiver<FetchedRecords>,
    format: Format,
    output: &mut Output,
    summary: &mut TransferSummary,
    progress: &dyn Progress,
) -> anyhow::Result<TransferCounts> {
    let mut transferred = TransferCounts::default();
    let mut lines = Vec::new();
    for FetchedRecords { records, .. } in records {
        lines.clear();
        for record in &records {
            format.push(&mut lines, record);
            transferred.bytes += (record.key.len() + record.value.len()) as u64;
            summary.cut += !format.carries_all_of(record) as u64;
            summary.long_keys += !record.is_loadable() as u64;
        }
        transferred.loaded += records.len() as u64;
        output.write(&lines)?;
        progress.update(transferred.loaded, String::new());
    }
    Ok(transferred)
}
