//! `fawn dump`: arguments, the call, and the summary.

use std::io::{self, Write};
use std::time::Duration;

use fawn_client::blocking::Client;
use fawn_client::{ConnectError, Options};
use fawn_manager::operator::refuse_others;
use fawn_transfer::dump::DumpedInterval;
use fawn_transfer::{DumpOptions, dump_cluster, dump_server};

use crate::command::DumpArguments;
use crate::outcome::CommandStatus;
use crate::summary;
use crate::tell::{SlowNotice, tell};
use crate::transfer_ui::Terminal;

/// Managers that are there answer within this, mostly.
const SOON: Duration = Duration::from_secs(2);

/// Runs `fawn dump`.
pub fn run(arguments: &DumpArguments, is_of_cluster: bool) -> anyhow::Result<CommandStatus> {
    if let Some(doubt) = arguments.format_in_doubt() {
        tell(format_args!("fawn: {doubt}"));
    }
    let options = DumpOptions {
        file: arguments.file.clone(),
        format: arguments.format.map(Into::into),
        connections: arguments.connections,
        restart: arguments.restart,
    };
    if is_of_cluster {
        return of_cluster(arguments, &options);
    }
    let endpoint = arguments.connect.endpoint(arguments.from.clone());
    let report = dump_server(&options, &endpoint, &Terminal)?;
    summary::print(&report, "dumped", arguments.json, &mut out(arguments))?;
    Ok(summary::outcome(&report))
}

fn of_cluster(arguments: &DumpArguments, options: &DumpOptions) -> anyhow::Result<CommandStatus> {
    let mut with = Options::new(arguments.managers.clone());
    with.certificates = arguments.certs.operator()?;
    let slow = SlowNotice::begin(format!("waiting for a manager at {} to answer", arguments.managers.join(", ")));
    let client = connect(with, &arguments.managers)?;
    drop(slow);
    let dump = dump_cluster(options, &client, &Terminal)?;
    let mut out = out(arguments);
    if arguments.json {
        let mut told = serde_json::to_value(&dump.summary)?;
        told["began"] = dump.began.into();
        told["ranges"] = serde_json::to_value(&dump.done)?;
        writeln!(out, "{told}")?;
    } else {
        summary::print(&dump.summary, "dumped", false, &mut out)?;
        let done = if arguments.verbose { &dump.done[..] } else { &[] };
        for DumpedInterval { low, high, range, epoch, seq, records, .. } in done {
            let (low, high) = (&low[..8], &high[..8]);
            writeln!(out, "range {range}, keys {low} to {high}: as of record {epoch}.{seq}, {records} records")?;
        }
    }
    Ok(summary::outcome(&dump.summary))
}

/// Connects. Where no manager answers soon, it is looked at what answers in its place.
fn connect(options: Options, managers: &[String]) -> anyhow::Result<Client> {
    let soon = Options { connect_timeout: SOON.min(options.connect_timeout), ..options.clone() };
    match Client::connect(soon) {
        Err(ConnectError::NoAnswer { .. }) => {
            refuse_others(managers)?;
            Ok(Client::connect(options)?)
        }
        connected => Ok(connected?),
    }
}

/// Where the summary goes: not between records.
fn out(arguments: &DumpArguments) -> Box<dyn Write> {
    if arguments.file.as_os_str() == "-" { Box::new(io::stderr()) } else { Box::new(io::stdout()) }
}
