//! `fawn dump --manager`: all that is in a cluster, each range as one record of its log left it.
//!
//! What comes of a range goes into a spool until the range is over; then its records go to the file, each once. Between two
//! events all is in [`State`](super::state::State), which is saved about once a second: whoever kills the dump has lost no more
//! than that.

use std::io::Write;

use fawn_client::Options;
use fawn_client::blocking::Client;

use super::leftovers::Leftovers;
use super::state::Done;
use super::under_way::Dumping;
use crate::Outcome;
use crate::command::{DumpArguments, Format};
use crate::load::{Report, Tally};
use crate::progress::Progress;
use crate::tell::{SlowNotice, tell};

/// Of what the bar is a part.
const WHOLE: u64 = 10_000;

/// Runs it.
pub fn run(arguments: &DumpArguments) -> anyhow::Result<Outcome> {
    let format = arguments.format.unwrap_or_else(|| Format::of_name(&arguments.file));
    let mut options = Options::new(arguments.managers.clone());
    options.certificates = arguments.certs.operator()?;
    let slow = SlowNotice::begin(format!("waiting for a manager at {} to answer", arguments.managers.join(", ")));
    let client = Client::connect(options)?;
    drop(slow);
    let cluster = client.cluster().map(|cluster| cluster.to_string());
    let (progress, leftovers) = (Progress::ranges(WHOLE), Leftovers::default());
    leftovers.heed_signals(&progress)?;
    let mut dumping = Dumping::begin(&arguments.file, format, cluster, arguments.restart, &leftovers)?;
    if let Some(began) = dumping.goes_on_since() {
        let began = fawn_tls::certificate::moment(began);
        tell(format!("continuing the dump that began at {began}; to start from the beginning, use --restart"));
    }
    let mut report = Report::start();
    let worked = work(&mut dumping, &client, &progress);
    progress.finish();
    if worked.is_err() {
        leftovers.fail();
    }
    worked?;
    let state = dumping.finish()?;
    (report.cut, report.long_keys) = (state.cut, state.long_keys);
    report.finish(&Tally { loaded: state.records, bytes: state.bytes, ..Tally::default() });
    let mut out: Box<dyn Write> =
        if arguments.file.as_os_str() == "-" { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) };
    if arguments.json {
        let mut told = serde_json::to_value(&report)?;
        told["began"] = state.began.into();
        told["ranges"] = serde_json::to_value(&state.done)?;
        writeln!(out, "{told}")?;
    } else {
        report.print("dumped", false, &mut out)?;
        let done = if arguments.verbose { &state.done[..] } else { &[] };
        for Done { low, high, range, epoch, seq, records, .. } in done {
            let (low, high) = (&low[..8], &high[..8]);
            writeln!(out, "range {range}, keys {low} to {high}: as of record {epoch}.{seq}, {records} records")?;
        }
    }
    Ok(report.outcome())
}

/// Takes all that comes.
fn work(dumping: &mut Dumping, client: &Client, progress: &Progress) -> anyhow::Result<()> {
    let mut dump = client.dump(Some(dumping.bookmark().clone()));
    loop {
        let event = match dump.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(()),
            Err(error) => {
                dumping.save()?;
                return Err(error.into());
            }
        };
        dumping.take(event, |key| dump.place(key))?;
        dumping.save_now_and_then()?;
        let part = dumping.reached().map_or(1.0, |at| at.prefix() as f64 / u64::MAX as f64);
        progress.update((part * WHOLE as f64) as u64, format!("{} records", dumping.records()));
    }
}
