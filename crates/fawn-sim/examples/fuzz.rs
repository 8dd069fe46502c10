//! Fuzzes the decoders: `cargo xtask fuzz --executions N [--target NAME] [--seed S] [--from N]`, or `--target NAME
//! --input HEX`.
//!
//! Executions run in a process of their own, so that a failure that ends it (memory that cannot be had, a stack that is
//! too deep) is told with its input like any other.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use fawn_sim::fuzz::{Inputs, TARGETS, Target, execute, from_hex, run, to_hex};

const USAGE: &str =
    "usage: cargo xtask fuzz --executions N [--target NAME] [--seed S] [--from N] | --target NAME --input HEX";

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
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options { target: None, executions: None, seed: 1, from: 0, input: None, note: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        let number = || value.replace('_', "").parse().map_err(|_| format!("{value} is not a number\n{USAGE}"));
        match name.as_str() {
            "--target" => options.target = Some(value),
            "--executions" => options.executions = Some(number()?),
            "--seed" => options.seed = number()?,
            "--from" => options.from = number()?,
            "--input" => options.input = Some(value),
            "--note" => options.note = Some(value),
            _ => return Err(format!("there is no {name}\n{USAGE}")),
        }
    }
    Ok(options)
}

fn fuzz(options: &Options) -> Result<(), String> {
    let named = |target: &&&dyn Target| options.target.as_deref().is_none_or(|name| name == target.name());
    let targets: Vec<_> = TARGETS.iter().filter(named).copied().collect();
    if targets.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name()).collect();
        return Err(format!("there is no such target; there are {}", names.join(", ")));
    }
    if let Some(hex) = &options.input {
        let input = from_hex(hex).ok_or("an input is hexadecimal digits, its parts apart by dots")?;
        let [target] = targets.as_slice() else { return Err(format!("whose input is it?\n{USAGE}")) };
        return execute(*target, &input, &measure);
    }
    let executions = options.executions.ok_or(USAGE)?;
    if let Some(note) = &options.note {
        let [target] = targets.as_slice() else { return Err(USAGE.to_owned()) };
        return work(*target, options, executions, Path::new(note));
    }
    let each = executions.div_ceil(targets.len() as u64);
    for target in targets {
        let began = Instant::now();
        watch(target, options.seed, options.from, each)?;
        let seconds = began.elapsed().as_secs_f64();
        println!("{:<10} {each:>12} executions in {seconds:>7.1} s, nothing found", target.name());
    }
    Ok(())
}

/// Bytes that the work held at most.
fn measure(work: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(work).bytes_max
}

/// Runs executions here.
fn work(target: &dyn Target, options: &Options, executions: u64, note: &Path) -> Result<(), String> {
    // What is caught is told with its input.
    std::panic::set_hook(Box::new(|_| {}));
    let note = File::create(note).map_err(|error| error.to_string())?;
    let mut about_to = |number: u64| {
        note.write_all_at(&number.to_le_bytes(), 0).expect("a file takes eight bytes");
    };
    let numbers = options.from..options.from + executions;
    run(target, options.seed, numbers, &measure, &mut about_to).map_err(|failure| failure.to_string())
}

/// Runs executions in another process, and tells which one it was that ended it.
fn watch(target: &dyn Target, seed: u64, from: u64, executions: u64) -> Result<(), String> {
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
        return Err(format!("{} fails", target.name()));
    }
    let mut number = [0; 8];
    note.as_file().read_exact_at(&mut number, 0).map_err(|error| error.to_string())?;
    let number = u64::from_le_bytes(number);
    let (name, input) = (target.name(), to_hex(&Inputs::new(target, seed).at(number)));
    Err(format!(
        "{name}: it ends the process ({status})\ninput: {input}\nagain: cargo xtask fuzz --target {name} --seed {seed} --from {number} --executions 1"
    ))
}
