//! `fawn dump`: every record of a server, or of a cluster, into a file or a pipe.
//!
//! # Layout
//!
//! * This file: of a server, by listing its keys. [`output`]: the file.
//! * [`cluster`]: of a cluster. [`under_way`]: what becomes of what its nodes show. [`spool`]: what has come of a range that is
//!   not over, in [`runs`]. [`state`]: how far it is, to go on.

mod cluster;
mod output;
mod runs;
mod spool;
mod state;
mod under_way;

use std::io;
use std::sync::mpsc::Receiver;
use std::thread;

use self::output::Output;
use crate::Outcome;
use crate::client::{Connection, Failure, Missed, fetch_all};
use crate::command::{DumpArguments, Format};
use crate::load::{Report, Tally};
use crate::progress::Progress;
use crate::records::Record;

/// Runs `fawn dump`.
pub fn run(arguments: &DumpArguments, is_of_cluster: bool) -> anyhow::Result<Outcome> {
    if is_of_cluster { cluster::run(arguments) } else { of_server(arguments) }
}

fn of_server(arguments: &DumpArguments) -> anyhow::Result<Outcome> {
    let format = arguments.format.unwrap_or_else(|| Format::of_name(&arguments.file));
    let endpoint = arguments.connect.endpoint(arguments.from.clone());
    let total = Connection::open(&endpoint)?.stat("curr_items")?;
    let mut output = Output::create(&arguments.file)?;

    let progress = Progress::records(total);
    let (failure, missed) = (Failure::default(), Missed::default());
    let mut report = Report::start();
    let written = thread::scope(|scope| {
        let records = fetch_all(scope, &endpoint, arguments.connections, &missed, &failure)?;
        write_all(&records, format, &mut output, &mut report, &progress)
    });
    progress.finish();
    let tally = failure.resolve(written)?;
    output.finish()?;
    report.finish(&tally);
    report.vanished = missed.vanished();
    report.unreadable = missed.unreadable();
    if arguments.file.as_os_str() == "-" {
        report.print("dumped", arguments.json, &mut io::stderr())?;
    } else {
        report.print("dumped", arguments.json, &mut io::stdout())?;
    }
    Ok(report.outcome())
}

/// Writes every record of the channel.
fn write_all(
    records: &Receiver<Vec<Record>>,
    format: Format,
    output: &mut Output,
    report: &mut Report,
    progress: &Progress,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut lines = Vec::new();
    for batch in records {
        lines.clear();
        for record in &batch {
            format.push(&mut lines, record);
            tally.bytes += (record.key.len() + record.value.len()) as u64;
            report.cut += !format.carries_all_of(record) as u64;
        }
        tally.loaded += batch.len() as u64;
        output.write(&lines)?;
        progress.update(tally.loaded, String::new());
    }
    Ok(tally)
}
