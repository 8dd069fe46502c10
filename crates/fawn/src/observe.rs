//! What operators see of a process that runs: its log, and its admin port.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;

use clap::{Args, ValueEnum};
use fawn_admin::{Board, Server};
use tracing_subscriber::EnvFilter;

use crate::tell::{Log, tell};
use crate::values::parse_listen;

/// What operators see of it.
#[derive(Clone, Debug, Args)]
pub struct ObserveArguments {
    /// Serve metrics (/metrics) and health (/health) over HTTP on this address; port 0 picks a free port [default:
    /// off]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub admin: Option<String>,
    /// Log level: error, warn, info, debug or trace; or per module, e.g. `warn,fawn_node=debug`
    #[arg(long, value_name = "LEVEL", env = "FAWN_LOG", default_value = "info", value_parser = parse_level)]
    pub log_level: String,
    /// Log format: text for people, or one JSON object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    // The flag's help says it in a line. Lines for people, in colours on a terminal.
    Text,
    // A JSON object a line.
    Json,
}

/// What may be logged.
const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// Parses `--log-level`. A word that is no level would be taken for a part of the program.
fn parse_level(text: &str) -> Result<String, String> {
    let is_known = |part: &str| part.contains(['=', '[']) || LEVELS.contains(&part.to_ascii_lowercase().as_str());
    if let Some(unknown) = text.split(',').find(|part| !part.is_empty() && !is_known(part)) {
        return Err(format!("'{unknown}' is not a log level: choose {}, or PART=LEVEL", LEVELS.join(", ")));
    }
    EnvFilter::try_new(text).map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

/// The whole filter. Consensus tells each of its steps, and that a member is away as often as it tries; managers tell once
/// what comes of them, and what stops them. TLS logs what strangers send as often as they send it. So both are heard only when
/// they are asked for.
fn filter(level: &str) -> String {
    let level = if level.is_empty() { "info" } else { level };
    let quiet = ["openraft", "rustls"].into_iter().filter(|part| !level.contains(part));
    quiet.fold(level.to_owned(), |filter, part| format!("{filter},{part}=off"))
}

/// What is to be said as soon as there is a log.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Logs these lines as soon as there is a log.
pub fn warn_later(lines: impl Iterator<Item = String>) {
    WARNINGS.lock().expect("nobody panics with it").extend(lines);
}

/// Has a command print the warnings of the parts that it uses, as lines of its own.
pub fn tell_warnings() {
    let told = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(|| WarningWriter);
    // Where something logs already, it has them.
    let _ = told.without_time().with_target(false).with_level(false).with_ansi(false).try_init();
}

/// Prints what is written to it, a line at a time, as this program's.
struct WarningWriter;

impl Write for WarningWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        tell(format_args!("fawn: {}", String::from_utf8_lossy(bytes).trim_end()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines for which there has been no log.
pub fn unsaid() -> Vec<String> {
    std::mem::take(&mut *WARNINGS.lock().expect("nobody panics with it"))
}

/// An admin port that is there as long as this.
pub struct Admin {
    server: Server,
    /// What it tells.
    pub board: Board,
}

impl Admin {
    /// Tells on standard output where it is.
    pub fn tell(&self, out: &mut impl Write) {
        // Nobody may be listening; that is no reason to stop.
        let _ = writeln!(out, "fawn: metrics and health on http://{}/", self.server.address());
    }
}

impl ObserveArguments {
    /// Begins to log to standard error, whether anybody reads it or not.
    pub fn log(&self) {
        let terminal = std::io::stderr().is_terminal();
        let coloured = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let log =
            tracing_subscriber::fmt().with_env_filter(EnvFilter::new(filter(&self.log_level))).with_writer(|| Log);
        match self.log_format {
            LogFormat::Text => log.with_ansi(coloured).init(),
            LogFormat::Json => log.json().flatten_event(true).init(),
        }
        for line in unsaid() {
            tracing::warn!("{line}");
        }
    }

    /// Opens the admin port, if there is to be one.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self, insecure: bool) -> anyhow::Result<Option<Admin>> {
        let Some(listen) = &self.admin else { return Ok(None) };
        let board = Board::new();
        Ok(Some(Admin { server: Server::start(listen, insecure, board.clone())?, board }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for good in ["", "info", "WARN", "warn,fawn_node=debug", "off", "info,openraft=trace"] {
            assert_eq!(parse_level(good).as_deref(), Ok(good));
        }
        let error = parse_level("verbose").unwrap_err();
        assert!(error.contains("'verbose'") && error.contains("debug"), "{error}");
        assert!(parse_level("fawn_node=loud").is_err());
    }

    #[test]
    fn consensus_and_tls_are_quiet_unless_they_are_asked_for() {
        assert_eq!(filter("info"), "info,openraft=off,rustls=off");
        assert_eq!(filter(""), "info,openraft=off,rustls=off");
        assert_eq!(filter("error"), "error,openraft=off,rustls=off");
        assert_eq!(filter("debug,openraft=info,rustls=warn"), "debug,openraft=info,rustls=warn");
    }
}
