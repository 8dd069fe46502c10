//! `fawn load`: arguments, the call, and the summary.

use std::path::PathBuf;

use anyhow::{Context, bail};
use fawn_flash::BulkOptions;
use fawn_transfer::{LoadOptions, LoadServer, NotResumable, ResumeState, copy, load_bulk, load_file};

use crate::command::LoadArguments;
use crate::local_cluster::refuse_cluster;
use crate::observe::tell_warnings;
use crate::outcome::{CommandStatus, UsageError};
use crate::serve::arguments::refuse_file;
use crate::summary;
use crate::transfer_ui::Terminal;

/// Runs `fawn load`.
pub fn run(arguments: &LoadArguments) -> anyhow::Result<CommandStatus> {
    let options = options(arguments);
    let endpoint = || arguments.server.endpoint();
    let target = LoadServer { address: &arguments.server.to, endpoint: &endpoint };
    let report = match (&arguments.from_memcached, &arguments.file) {
        (None, Some(file)) if arguments.bulk.bulk => {
            let dir = arguments.bulk.dir.as_deref().context("--bulk needs --dir")?;
            let bulk = BulkOptions { memory: arguments.bulk.memory().bytes, stores: arguments.bulk.threads().get() };
            tell_warnings();
            let check = || refuse_file(dir).and_then(|()| refuse_cluster(dir));
            load_bulk(&options, file, dir, (bulk, check), &Terminal)?
        }
        (Some(from), _) => copy(&options, from, &target, &Terminal)?,
        (None, Some(file)) => load_file(&options, file, &target, &Terminal).map_err(misused)?,
        (None, None) => bail!("name a file to load, or - for standard input"),
    };
    summary::print(&report, "loaded", arguments.json, &mut std::io::stdout())?;
    Ok(summary::outcome(&report))
}

fn options(arguments: &LoadArguments) -> LoadOptions {
    let resume = match &arguments.resume {
        _ if arguments.no_resume => ResumeState::Nowhere,
        Some(state) => ResumeState::In(PathBuf::clone(state)),
        None => ResumeState::Beside,
    };
    LoadOptions {
        format: arguments.format.map(Into::into),
        on_error: arguments.on_error.into(),
        binary_keys: arguments.binary_keys,
        resume,
        restart: arguments.restart,
        connections: arguments.connections,
    }
}

/// What only the command line can mend.
fn misused(error: anyhow::Error) -> anyhow::Error {
    if error.is::<NotResumable>() { UsageError(error.to_string()).into() } else { error }
}
