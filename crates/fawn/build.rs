//! Tells the program which commit it is built from, for what it measures to say so.

use std::process::Command;

fn main() {
    // Elsewhere than in a checkout nobody knows.
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=FAWN_COMMIT={commit}");
    println!("cargo::rerun-if-changed=build.rs");
    // It is written with each commit, and when another one is checked out.
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
