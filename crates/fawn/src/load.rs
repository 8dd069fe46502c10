//! `fawn load`: arguments, the call, and the summary.

use std::path::{Path, PathBuf};

use anyhow::Context;
use fawn_flash::BulkOptions;
use fawn_transfer::{
    LoadOptions, LoadServer, NotResumable, RdbInput, ResumeState, TransferSummary, copy, load_bulk, load_file,
    load_rdb, load_rdb_bulk, load_redis,
};

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
    let report = if arguments.bulk.bulk {
        into_directory(arguments, &options)?
    } else if let Some(from) = &arguments.from_redis {
        let source = arguments.redis.source(from.clone(), arguments.server.connect.timeout);
        load_redis(&options, &source, &target, &Terminal)?
    } else if let Some(rdb) = rdb(arguments) {
        load_rdb(&options, &rdb, &target, &Terminal).map_err(misused)?
    } else if let Some(from) = &arguments.from_memcached {
        copy(&options, from, &target, &Terminal)?
    } else {
        load_file(&options, file(arguments)?, &target, &Terminal).map_err(misused)?
    };
    summary::print(&report, "loaded", arguments.json, &mut std::io::stdout())?;
    Ok(summary::outcome(&report))
}

fn into_directory(arguments: &LoadArguments, options: &LoadOptions) -> anyhow::Result<TransferSummary> {
    let dir = arguments.bulk.dir.as_deref().context("--bulk needs --dir")?;
    let bulk = BulkOptions { memory: arguments.bulk.memory().bytes, stores: arguments.bulk.threads().get() };
    tell_warnings();
    let check = || refuse_file(dir).and_then(|()| refuse_cluster(dir));
    match rdb(arguments) {
        Some(rdb) => load_rdb_bulk(options, &rdb, dir, (bulk, check), &Terminal),
        None => load_bulk(options, file(arguments)?, dir, (bulk, check), &Terminal),
    }
}

/// The RDB file to load.
fn rdb(arguments: &LoadArguments) -> Option<RdbInput> {
    arguments.from_rdb.clone().map(|path| RdbInput { path, database: arguments.redis.from_database })
}

/// The file of lines to load.
fn file(arguments: &LoadArguments) -> anyhow::Result<&Path> {
    arguments.file.as_deref().context("name a file to load, or - for standard input")
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
