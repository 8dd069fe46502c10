//! `cargo xtask tidy`: everything about the code that a program can judge, without running it.

use anyhow::bail;

use crate::process::{cargo, root};
use crate::tell::{say, tell};
use crate::tree::Tree;
use crate::{dependencies, links, peers, rules};

/// Runs every check, and fails at the end if one has failed.
pub fn run() -> anyhow::Result<()> {
    let tree = Tree::read(&root())?;
    let mut complaints = Vec::new();
    complaints.extend(rules::check(&tree));
    complaints.extend(links::check(&tree));
    complaints.extend(dependencies::check(tree.file("ARCHITECTURE.md").map_or("", |file| file.text.as_str()))?);
    for complaint in &complaints {
        tell(complaint);
    }
    let mut failed = Vec::new();
    if !complaints.is_empty() {
        failed.push(format!("{} lines against the project's rules", complaints.len()));
    }
    for (name, command) in CARGO {
        say(format_args!("tidy: {name}"))?;
        let command = command.replace("ENGINES", if peers::has_bdb() { "bdb,redb" } else { "redb" });
        let arguments: Vec<&str> = command.split(' ').collect();
        if cargo(&arguments, &[("RUSTDOCFLAGS", DOC)]).is_err() {
            failed.push((*name).to_owned());
        }
    }
    if failed.is_empty() {
        return Ok(say(format_args!("tidy: no problems ({} files)", tree.files.len()))?);
    }
    bail!("not tidy: {}", failed.join(", "))
}

/// What cargo checks.
const CARGO: &[(&str, &str)] = &[
    ("format", "fmt --all --check"),
    ("format of the peers", "fmt --manifest-path peers/Cargo.toml --check"),
    ("lints", "clippy --workspace --all-targets -- -D warnings"),
    // With the engines that are quickly compiled; the others are by whoever measures them.
    (
        "lints of the peers",
        "clippy --manifest-path peers/Cargo.toml --locked --target-dir target --no-default-features --features ENGINES \
         --all-targets -- -D warnings",
    ),
    ("documentation", "doc --workspace --no-deps --document-private-items"),
];

/// Links that lead nowhere are errors; links to private items are not, as private items are documented, too.
const DOC: &str = "-D warnings -A rustdoc::private_intra_doc_links";
