//! Development tasks: `cargo xtask <task>`.
//!
//! | task | what it does |
//! |---|---|
//! | `tidy` | format, lints, documentation, and the project's own rules |
//! | `sim` | simulate clusters in which everything goes wrong |
//! | `fuzz` | every decoder on damaged inputs |
//! | `porcupine` | our linearizability checker and another one on the same histories |
//! | `ci` | `cargo test --workspace`, then `tidy` |
//!
//! Longer suites get tasks of their own here, so that everything that CI or a developer runs has one name.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod dependencies;
mod fuzz;
mod licence;
mod links;
mod porcupine;
mod process;
mod rules;
mod scale;
mod script;
mod sim;
mod tidy;
mod tree;

use std::process::ExitCode;

/// One task.
struct Task {
    name: &'static str,
    description: &'static str,
    run: fn() -> anyhow::Result<()>,
}

const TASKS: &[Task] = &[
    Task { name: "tidy", description: "check format, lints, documentation and the project's rules", run: tidy::run },
    Task { name: "sim", description: "simulate clusters in which everything goes wrong", run: sim::run_task },
    Task { name: "fuzz", description: "damage what every decoder reads", run: fuzz::run_task },
    Task {
        name: "porcupine",
        description: "compare our linearizability checker with Porcupine",
        run: porcupine::run_task,
    },
    Task { name: "ci", description: "run every test, then tidy", run: ci },
];

fn main() -> ExitCode {
    let name = std::env::args().nth(1);
    let Some(task) = TASKS.iter().find(|task| Some(task.name) == name.as_deref()) else {
        eprintln!("usage: cargo xtask TASK\n");
        for Task { name, description, .. } in TASKS {
            eprintln!("  {name:<10} {description}");
        }
        return ExitCode::from(2);
    };
    match (task.run)() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What CI runs.
fn ci() -> anyhow::Result<()> {
    process::cargo(&["test", "--workspace"], &[])?;
    tidy::run()
}
