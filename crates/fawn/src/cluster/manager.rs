//! `fawn manager`: a manager, and who else is one.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use fawn_kv::ids::ManagerId;
use fawn_kv::manager::Waits;
use fawn_kv::status::Question;
use fawn_manager::{Options, RecoverySummary, start};
use fawn_node::signals;

use super::arguments::{
    AddManagerArguments, ManagerArguments, ManagerCommand, RecoverArguments, RemoveManagerArguments,
    RunManagerArguments,
};
use super::backup;
use super::managers::done;
use crate::local_cluster::replicas::{RequestedSettings, warn_if_other};
use crate::outcome::CommandStatus;
use crate::tell::tell;

/// To be brought up to date may take a new manager a while.
const ADDED: Duration = Duration::from_mins(1);

/// Runs a manager, or does what is below it.
pub fn run(arguments: &ManagerArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        None => serve(&arguments.run),
        Some(ManagerCommand::Add(arguments)) => add(arguments),
        Some(ManagerCommand::Remove(arguments)) => remove(arguments),
        Some(ManagerCommand::Recover(arguments)) => recover(arguments),
        Some(ManagerCommand::Backup(arguments)) => backup::make(arguments),
        Some(ManagerCommand::Restore(arguments)) => backup::restore(arguments),
    }
}

fn options(arguments: &RunManagerArguments) -> Options {
    Options {
        listen: Some(arguments.listen.clone()),
        advertise: arguments.advertise.clone(),
        peers: arguments.peers.clone(),
        join: arguments.join.clone(),
        settings: arguments.settings(),
        tls: arguments.certs.material(&arguments.name),
        insecure: arguments.insecure,
        ..Options::new(&arguments.dir)
    }
}

/// Runs until a signal asks to stop.
fn serve(arguments: &RunManagerArguments) -> anyhow::Result<CommandStatus> {
    arguments.observe.log();
    let admin = arguments.observe.open(arguments.insecure)?;
    let board = admin.as_ref().map(|admin| admin.board.clone());
    let stop = Arc::new(AtomicBool::new(false));
    for signal in signals::that_stop() {
        signal_hook::flag::register(signal, stop.clone()).context("cannot wait for signals")?;
    }
    for signal in signals::meaningless() {
        // A debugger or an emulator keeps some real-time signals for itself: they cannot come.
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
    let mut running = Arc::new(start(Options { board, ..options(arguments) })?);
    let id = running.id().0;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        dir = %arguments.dir.display(),
        file_system = fawn_flash::file_system(&arguments.dir).as_deref().unwrap_or("unknown"),
        address = running.address().map_or_else(String::new, |address| address.to_string()),
        reached_at = arguments.advertise.as_deref().unwrap_or(&arguments.listen),
        peers = arguments.peers.join(","),
        joins = arguments.join.join(","),
        tls = arguments.certs.certs.is_some(),
        "manager {id} has started"
    );
    if let Some(consistency) = arguments.consistency {
        let given = RequestedSettings { replicas: None, consistency: Some(consistency.into()) };
        warn_if_other(&running, given, arguments.dir.clone());
    }
    if let Some(address) = running.address() {
        crate::tell::finish();
        let mut out = std::io::stdout().lock();
        // Nobody may be listening; that is no reason to stop.
        let _ = writeln!(out, "fawn: manager {} ready on {address}", running.id().0);
        if let Some(admin) = &admin {
            admin.tell(&mut out);
        }
        let _ = out.flush();
    }
    if let Some(admin) = &admin {
        admin.board.serves();
    }
    while !stop.load(Ordering::Relaxed) && running.is_running() {
        std::thread::sleep(Duration::from_millis(50));
    }
    if running.is_running() {
        tracing::info!("signal: manager {id} stops");
    }
    running.stop();
    loop {
        // Whoever compares flags with what is kept holds it for a moment.
        running = match Arc::try_unwrap(running) {
            Ok(running) => break running.wait()?,
            Err(shared) => shared,
        };
        std::thread::sleep(Duration::from_millis(5));
    }
    tracing::info!("manager {id} has stopped");
    Ok(CommandStatus::Done)
}

fn recover(arguments: &RecoverArguments) -> anyhow::Result<CommandStatus> {
    let waits = if arguments.do_not_wait { Waits::ForOne } else { Waits::ForAll };
    let RecoverySummary { id, address, others, entries } = fawn_manager::recover(&arguments.dir, waits)?;
    tell(format_args!("manager {id} at {address} is now the only one of its group, with {entries} entries of its log"));
    for (id, address) in others {
        tell(format_args!("never start manager {id} at {address} with its old directory"));
    }
    tell("start this manager as usual; each range serves once the nodes of its chain are back");
    Ok(CommandStatus::Done)
}

fn add(arguments: &AddManagerArguments) -> anyhow::Result<CommandStatus> {
    let managers = &arguments.managers;
    let operator = managers.operator_within(managers.patience().max(ADDED))?.that_gives_up_on_nobody();
    done(managers.ask_as(&operator, &Question::AddManager { address: arguments.address.clone() })?)?;
    tell(format_args!("the manager at {} is in the group", arguments.address));
    Ok(CommandStatus::Done)
}

fn remove(arguments: &RemoveManagerArguments) -> anyhow::Result<CommandStatus> {
    let managers = arguments.managers.status()?.managers;
    let which = &arguments.which;
    let found = managers.iter().find(|manager| manager.address == *which || manager.id.0.to_string() == *which);
    let Some(found) = found else {
        let known: Vec<String> = managers.iter().map(|known| format!("{} at {}", known.id.0, known.address)).collect();
        bail!("there is no manager {which}: the managers are {}", known.join(", "));
    };
    arguments.managers.order(&Question::RemoveManager { id: ManagerId(found.id.0) })?;
    tell(format_args!("manager {} at {} is no longer in the group: stop it", found.id.0, found.address));
    Ok(CommandStatus::Done)
}
