//! `cargo xtask tidy`: everything about the code that a program can judge, without running it.

use anyhow::bail;

use crate::command::TidyArguments;
use crate::exceptions::Exceptions;
use crate::process::{cargo, root};
use crate::tell::{say, tell};
use crate::tree::Tree;
use crate::{
    book, circles, citations, dependencies, exceptions, links, modules, names, peers, renewal, rules, sentences, sizes,
};

/// Runs every check, and fails at the end if one has failed.
pub fn run(arguments: &TidyArguments) -> anyhow::Result<()> {
    let tree = Tree::read(&root())?;
    if arguments.renew_exceptions {
        return renew(&tree);
    }
    let complaints = complaints(&tree)?;
    for complaint in &complaints {
        tell(complaint);
    }
    let mut failed = Vec::new();
    if !complaints.is_empty() {
        failed.push(format!("{} lines against the project's rules", complaints.len()));
    }
    for (name, command) in CARGO.iter().filter(|_| !arguments.rules) {
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

/// Everything that is against the project's own rules.
fn complaints(tree: &Tree) -> anyhow::Result<Vec<String>> {
    let exceptions = Exceptions::read(tree)?;
    let crates = modules::crates(tree);
    let mut complaints = rules::check(tree);
    complaints.extend(links::check(tree));
    complaints.extend(book::check(tree));
    complaints.extend(citations::check(tree));
    complaints.extend(sentences::check(tree));
    complaints.extend(exceptions.check(&crates));
    for krate in &crates {
        complaints.extend(circles::check(krate, &exceptions));
        complaints.extend(sizes::check(krate, &exceptions));
    }
    complaints.extend(names::check(&crates, &exceptions));
    complaints.extend(dependencies::check(tree.file("ARCHITECTURE.md").map_or("", |file| file.text.as_str()))?);
    Ok(complaints)
}

/// Writes the exceptions that are needed now.
fn renew(tree: &Tree) -> anyhow::Result<()> {
    let text = renewal::renewed(&Exceptions::read(tree)?, &modules::crates(tree));
    std::fs::write(root().join(exceptions::PATH), &text)?;
    Ok(say(renewal::summary(&Exceptions::parse(&text)?))?)
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
