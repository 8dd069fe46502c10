//! `cargo xtask trial`: one trial, and what came of it.
//!
//! The exit code is 0 if all was well, 1 if something was found or failed, 2 if the command line is wrong, 130 after
//! Ctrl-C.

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use clap::Parser as _;
use fawn_trial::arguments::Arguments;
use fawn_trial::net::Network;
use fawn_trial::report::TrialReport;
use fawn_trial::{enclosure, trial};
use signal_hook::consts::{SIGINT, SIGTERM};

fn main() -> ExitCode {
    let mut arguments = Arguments::parse();
    // Drawn once: inside, this program reads its arguments again.
    match run(&mut arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            tell(&format!("trial: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &mut Arguments) -> anyhow::Result<u8> {
    let seed = arguments.seed.unwrap_or_else(time_of_day);
    if arguments.plan {
        let lines = trial::planned(arguments, seed, &trial::asked(arguments)).into_iter();
        say(&lines.map(|fault| fault.to_string()).collect::<Vec<_>>().join("\n"));
        return Ok(0);
    }
    let network = network(arguments)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let dir = directory(arguments, seed)?;
    let fawn = arguments.fawn.clone().map_or_else(trial::default_fawn, Ok)?;
    tell(&format!("seed {seed}, logs in {}", dir.join("logs").display()));
    let ran = trial::run(arguments, seed, (&fawn, &dir, network), &stop, &tell);
    let mut report =
        ran.with_context(|| format!("no violation was found; logs are in {}", dir.join("logs").display()))?;
    if report.is_good() && arguments.dir.is_none() {
        // What is left of it costs room, no more.
        let _ = std::fs::remove_dir_all(&dir);
    } else {
        report.logs = dir.join("logs").display().to_string();
    }
    say(&text(&report, arguments.json)?);
    Ok(match (report.is_good(), report.is_stopped) {
        (false, _) => 1,
        (true, true) => 130,
        (true, false) => 0,
    })
}

/// A new directory for logs and data.
fn directory(arguments: &Arguments, seed: u64) -> anyhow::Result<PathBuf> {
    if let Some(dir) = &arguments.dir {
        std::fs::create_dir(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        return Ok(dir.clone());
    }
    let dirs = (1..).map(|number| std::env::temp_dir().join(format!("fawn-trial-{seed}-{number}")));
    for dir in dirs {
        match std::fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot make {}", dir.display())),
        }
    }
    unreachable!("some number is free")
}

fn text(report: &TrialReport, as_json: bool) -> anyhow::Result<String> {
    Ok(if as_json { serde_json::to_string(report)? } else { report.to_string() })
}

/// Hosts in namespaces, which this program enters by starting again, or on the loopback.
fn network(arguments: &Arguments) -> anyhow::Result<Network> {
    if arguments.inside {
        return Network::namespaces();
    }
    if !arguments.loopback {
        let why = enclosure::enter()?;
        tell(&format!("no network namespaces ({why}): hosts are addresses of the loopback, with relays between them"));
    }
    Ok(Network::loopback())
}

fn time_of_day() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

fn say(text: &str) {
    let _ = std::io::stdout().lock().write_all(format!("{text}\n").as_bytes());
}

fn tell(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}
