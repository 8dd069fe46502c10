//! `fawn dump`: every record of a server, or of a cluster, into a file or a pipe.
//!
//! # Layout
//!
//! * This file: of a server, by listing its keys. [`output`]: the file. [`leftovers`]: what is left of one that is interrupted.
//! * [`cluster`]: of a cluster. [`under_way`]: what becomes of what its nodes show. [`spool`]: what has come of a range that is
//!   not over, in [`runs`]. [`state`]: how far it is, to go on.

mod cluster;
mod leftovers;
mod output;
mod runs;
mod spool;
mod state;
mod under_way;

use std::io;
use std::sync::mpsc::Receiver;
use std::thread;

use self::leftovers::{Leftovers, Phase};
use self::output::Output;
use crate::Outcome;
use crate::client::{Connection, Endpoint, Failure, Fetched, Missed, fetch_all};
use crate::command::{DumpArguments, Format};
use crate::load::{Report, Tally};
use crate::progress::Progress;
use crate::tell::tell;

/// Runs `fawn dump`.
pub fn run(arguments: &DumpArguments, is_of_cluster: bool) -> anyhow::Result<Outcome> {
    if let Some(doubt) = arguments.format_in_doubt() {
        tell(format_args!("fawn: {doubt}"));
    }
    if is_of_cluster { cluster::run(arguments) } else { of_server(arguments) }
}

fn of_server(arguments: &DumpArguments) -> anyhow::Result<Outcome> {
    let format = arguments.format.unwrap_or_else(|| Format::of_name(&arguments.file));
    let endpoint = arguments.connect.endpoint(arguments.from.clone());
    let total = Connection::open(&endpoint)?.stat("curr_items")?;
    let (progress, leftovers) = (Progress::records(total), Leftovers::default());
    leftovers.heed_signals(&progress)?;
    let mut output = {
        let mut phase = leftovers.lock();
        let output = Output::create(&arguments.file)?;
        *phase = output.partial().map_or(Phase::Streaming, |partial| Phase::Begun(vec![partial.to_owned()]));
        output
    };
    let dumped = of_server_into(arguments, &endpoint, format, &mut output, &progress).and_then(|report| {
        let mut phase = leftovers.lock();
        output.sync()?;
        // What cannot get its name is complete all the same.
        *phase = Phase::Complete;
        output.finish()?;
        Ok(report)
    });
    if dumped.is_err() {
        leftovers.fail();
    }
    let report = dumped?;
    if arguments.file.as_os_str() == "-" {
        report.print("dumped", arguments.json, &mut io::stderr())?;
    } else {
        report.print("dumped", arguments.json, &mut io::stdout())?;
    }
    Ok(report.outcome())
}

/// Fetches every record, and writes it.
fn of_server_into(
    arguments: &DumpArguments,
    endpoint: &Endpoint,
    format: Format,
    output: &mut Output,
    progress: &Progress,
) -> anyhow::Result<Report> {
    let (failure, missed) = (Failure::default(), Missed::default());
    let mut report = Report::start();
    let written = thread::scope(|scope| {
        let records = fetch_all(scope, endpoint, arguments.connections, &missed, &failure)?;
        write_all(&records, format, output, &mut report, progress)
    });
    progress.finish();
    let tally = failure.resolve(written)?;
    report.finish(&tally);
    (report.vanished, report.unreadable, report.unfetched) =
        (missed.vanished(), missed.unreadable(), missed.unfetched());
    Ok(report)
}

/// Writes every record of the channel.
fn write_all(
    records: &Receiver<Fetched>,
    format: Format,
    output: &mut Output,
    report: &mut Report,
    progress: &Progress,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut lines = Vec::new();
    for Fetched { records, .. } in records {
        lines.clear();
        for record in &records {
            format.push(&mut lines, record);
            tally.bytes += (record.key.len() + record.value.len()) as u64;
            report.cut += !format.carries_all_of(record) as u64;
            report.long_keys += !record.is_loadable() as u64;
        }
        tally.loaded += records.len() as u64;
        output.write(&lines)?;
        progress.update(tally.loaded, String::new());
    }
    Ok(tally)
}
