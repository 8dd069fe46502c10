//! `fawn manager backup` and `restore`.

use std::io::{Read as _, Write as _};

use anyhow::{Context as _, anyhow};
use fawn_files::links;
use fawn_kv::manager::Waits;
use fawn_kv::status::{Answer, Question};
use fawn_manager::Backup;

use super::arguments::{BackupArguments, RestoreArguments};
use super::managers::unexpected;
use crate::outcome::CommandStatus;
use crate::tell::tell;

/// Asks the managers for a backup, looks whether it can be used, and keeps it.
pub fn make(arguments: &BackupArguments) -> anyhow::Result<CommandStatus> {
    let BackupArguments { managers, file } = arguments;
    let bytes = match managers.ask(&Question::Backup)? {
        Answer::Backup(bytes) => bytes,
        other => return unexpected(other),
    };
    let Backup { cluster, place, members, .. } =
        Backup::decode(&bytes).map_err(|error| anyhow!("cannot use the managers' backup: {error}"))?;
    let is_stdout = file.as_os_str() == "-";
    let name = if is_stdout { "standard output".to_owned() } else { file.display().to_string() };
    let written = if is_stdout {
        let mut out = std::io::stdout().lock();
        out.write_all(&bytes).and_then(|()| out.flush())
    } else {
        links::replace(file, &bytes, 0o600)
    };
    written.with_context(|| format!("cannot write {name}"))?;
    tell(format_args!(
        "{name} has cluster {cluster} as of entry {} of its managers' log, with the members {}: keep it on another \
        machine, where nobody else can read it",
        place.index,
        if members.is_empty() { "(none yet)".to_owned() } else { members.join(", ") }
    ));
    Ok(CommandStatus::Done)
}

/// Makes a manager's directory from a backup.
pub fn restore(arguments: &RestoreArguments) -> anyhow::Result<CommandStatus> {
    let RestoreArguments { dir, file, do_not_wait, .. } = arguments;
    let is_stdin = file.as_os_str() == "-";
    let name = if is_stdin { "standard input".to_owned() } else { file.display().to_string() };
    let bytes = if is_stdin {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let bytes = bytes.with_context(|| format!("cannot read {name}"))?;
    let backup = Backup::decode(&bytes).map_err(|error| anyhow!("cannot use {name}: {error}"))?;
    let waits = if *do_not_wait { Waits::ForOne } else { Waits::ForAll };
    let id = backup.restore(dir, waits)?;
    let day = fawn_tls::certificate::date(i64::try_from(backup.place.taken_unix).unwrap_or(i64::MAX));
    tell(format_args!(
        "manager {id} in {} is the only one of cluster {}, as of {day}, at entry {} of the log",
        dir.display(),
        backup.cluster,
        backup.place.index
    ));
    tell(format_args!(
        "start it at an address where its nodes look for a manager (--listen); never start one of the lost managers \
        with its old directory"
    ));
    Ok(CommandStatus::Done)
}
