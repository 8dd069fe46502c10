//! Fuzzes the decoders. `cargo xtask fuzz` has the command line, and calls this with one that is right.
//!
//! Executions run in a process of their own, so that a failure that ends it (memory that cannot be had, a stack that is
//! too deep) is told with its input like any other.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use fawn_sim::fuzz::{Inputs, TARGETS, Target, execute, from_hex, run, to_hex};

const USAGE: &str = "see cargo xtask fuzz --help";

/// Why it ends before its time.
enum Failed {
    /// Whoever read standard output has what it wanted.
    Closed,
    /// The process that did the work has said it.
    Told,
    /// Anything else.
    Because(String),
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

impl From<&str> for Failed {
    fn from(why: &str) -> Self {
        Self::Because(why.to_owned())
    }
}

/// What the command line says.
struct Options {
    target: Option<String>,
    executions: Option<u64>,
    seed: u64,
    from: u64,
    input: Option<String>,
    /// Run here, and write the number of each execution into this file first.
    note: Option<String>,
}

fn main() -> ExitCode {
    match options().and_then(|options| fuzz(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Closed) => ExitCode::from(141),
        Err(Failed::Told) => ExitCode::FAILURE,
        Err(Failed::Because(why)) => {
            // Standard error is the last place to complain to.
            let _ = writeln!(std::io::stderr().lock(), "fuzz: {why}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, Failed> {
    let mut options = Options { target: None, executions: None, seed: 1, from: 0, input: None, note: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value: {USAGE}"))?;
        let number = || value.replace('_', "").parse().map_err(|_| format!("{value} is not a number: {USAGE}"));
        match name.as_str() {
            "--target" => options.target = Some(value),
            "--executions" => options.executions = Some(number()?),
            "--seed" => options.seed = number()?,
            "--from" => options.from = number()?,
            "--input" => options.input = Some(value),
            "--note" => options.note = Some(value),
            _ => return Err(format!("there is no {name}: {USAGE}").into()),
        }
    }
    Ok(options)
}

fn fuzz(options: &Options) -> Result<(), Failed> {
    let named = |target: &&&dyn Target| options.target.as_deref().is_none_or(|name| name == target.name());
    let targets: Vec<_> = TARGETS.iter().filter(named).copied().collect();
    if targets.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name()).collect();
        return Err(format!("there is no such target; there are {}", names.join(", ")).into());
    }
    if let Some(hex) = &options.input {
        let input = from_hex(hex).ok_or("an input is hexadecimal digits, its parts apart by dots")?;
        let [target] = targets.as_slice() else { return Err("an input has one target".into()) };
        let what = if execute(*target, &input, &measure)? { "decoded" } else { "refused" };
        return say(&format!("{}: {what}, nothing found", target.name()));
    }
    let executions = options.executions.ok_or(USAGE)?;
    if let Some(note) = &options.note {
        let [target] = targets.as_slice() else { return Err(USAGE.into()) };
        return work(*target, options, executions, Path::new(note));
    }
    let each = executions.div_ceil(targets.len() as u64);
    for target in targets {
        let began = Instant::now();
        let each = if options.target.is_some() { each } else { each.div_ceil(target.cost()) };
        watch(target, options.seed, options.from, each)?;
        let seconds = began.elapsed().as_secs_f64();
        say(&format!("{:<14} {each:>12} executions in {seconds:>7.1} s, nothing found", target.name()))?;
    }
    Ok(())
}

/// Prints a line, where `println!` would panic without a reader or room.
fn say(line: &str) -> Result<(), Failed> {
    std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failed::Closed,
        _ => Failed::Because(format!("cannot write to standard output: {error}")),
    })
}

/// Bytes that the work held at most.
fn measure(work: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(work).bytes_max
}

/// Runs executions here.
fn work(target: &dyn Target, options: &Options, executions: u64, note: &Path) -> Result<(), Failed> {
    // What is caught is told with its input.
    std::panic::set_hook(Box::new(|_| {}));
    let note = File::create(note).map_err(|error| error.to_string())?;
    let mut about_to = |number: u64| {
        note.write_all_at(&number.to_le_bytes(), 0).expect("a file takes eight bytes");
    };
    let numbers = options.from..options.from + executions;
    run(target, options.seed, numbers, &measure, &mut about_to).map_err(|failure| failure.to_string().into())
}

/// Runs executions in another process, and tells which one it was that ended it.
fn watch(target: &dyn Target, seed: u64, from: u64, executions: u64) -> Result<(), Failed> {
    let note = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["--target", target.name(), "--seed", &seed.to_string(), "--from", &from.to_string()]);
    command.args(["--executions", &executions.to_string(), "--note"]).arg(note.path());
    let status = command.status().map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(());
    }
    if status.code().is_some() {
        return Err(Failed::Told);
    }
    let mut number = [0; 8];
    note.as_file().read_exact_at(&mut number, 0).map_err(|error| error.to_string())?;
    let number = u64::from_le_bytes(number);
    let (name, input) = (target.name(), to_hex(&Inputs::new(target, seed).at(number)));
    Err(format!(
        "{name}: it ends the process ({status})\ninput: {input}\nagain: cargo xtask fuzz --target {name} --seed {seed} --from {number} --executions 1"
    )
    .into())
}
