//! `fawn config check`: everything that can be said about a configuration without running anything.

use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};
use serde_json::json;

use super::file::{self, ConfigFile};
use super::flags::{Section, sections};
use super::problem::Problem;
use super::settings::{Setting, settings};
use super::variables::{Environment, environment, unknown, without_variables};
use crate::command::Fawn;
use crate::outcome::CommandStatus;

/// Checks a file, if there is one, and the environment.
pub fn run(path: Option<&PathBuf>, json: bool) -> anyhow::Result<CommandStatus> {
    let root = Fawn::command();
    let sections = sections(&root);
    let file = path.map(|path| file::read(path, &sections)).unwrap_or_default();
    // A variable that is wrong is told of by itself, and is not to spoil what is tried with other settings.
    let problems = problems(&without_variables(root), &sections, &environment(), &file);
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", json!({ "file": path, "problems": problems }))?;
    } else if problems.is_empty() {
        match path {
            Some(path) => writeln!(out, "{}: no errors", path.display())?,
            None => writeln!(out, "no file was given; no errors in the environment")?,
        }
    } else {
        for problem in &problems {
            writeln!(out, "{problem}")?;
        }
    }
    Ok(if problems.is_empty() { CommandStatus::Done } else { CommandStatus::Missing })
}

/// Everything that is wrong.
fn problems(root: &Command, sections: &[Section], environment: &Environment, file: &ConfigFile) -> Vec<Problem> {
    let mut problems = file.problems.clone();
    problems.extend(unknown(sections, environment));
    let mut told = BTreeSet::new();
    for section in sections {
        let (set, wrong) = settings(section, environment, file);
        let (mut wrong, mut is_told) = (wrong, false);
        for setting in &set {
            if let Some(problem) = bad_value(root, section, setting) {
                // One command is enough to tell of what is for all.
                let is_new = told.insert((setting.from.clone(), setting.flag.long.clone()));
                if is_new || !setting.is_common {
                    wrong.push(problem);
                } else {
                    is_told = true;
                }
            }
        }
        if wrong.is_empty() && !is_told && !set.is_empty() {
            wrong.extend(together(root, section, &set));
        }
        problems.extend(wrong);
    }
    problems.sort();
    // What is before all tables is looked at for each command.
    problems.dedup();
    problems
}

/// What a command says to settings alone.
fn attempt(root: &Command, section: &Section, set: &[&Setting<'_>]) -> Result<Fawn, clap::Error> {
    let mut line: Vec<OsString> = vec!["fawn".into()];
    line.extend(section.words.iter().map(OsString::from));
    line.extend(set.iter().flat_map(|setting| setting.arguments()));
    root.clone().try_get_matches_from(line).and_then(|matches| Fawn::from_arg_matches(&matches))
}

/// A value that its flag refuses.
pub(super) fn bad_value(root: &Command, section: &Section, setting: &Setting<'_>) -> Option<Problem> {
    let error = attempt(root, section, &[setting]).err()?;
    let long = &setting.flag.long;
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.clone(),
        _ => setting.values.join(", "),
    };
    let why = match error.kind() {
        ErrorKind::ValueValidation => error.source().map(ToString::to_string).unwrap_or_default(),
        ErrorKind::InvalidValue => match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(values)) => format!("choose {}", values.join(" or ")),
            _ => "it needs a value".to_owned(),
        },
        ErrorKind::TooManyValues | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            "it takes a different number of values".to_owned()
        }
        _ => return None,
    };
    // What is for all commands may be right for others.
    let whose = if setting.is_common { format!(" for [{}]", section.name) } else { String::new() };
    Some(Problem { at: setting.from.clone(), what: format!("{long:?} cannot be {value:?}{whose}: {why}") })
}

/// What settings, each of which is good, do to each other.
fn together(root: &Command, section: &Section, set: &[Setting<'_>]) -> Vec<Problem> {
    let all: Vec<&Setting<'_>> = set.iter().collect();
    let whole = |what: String| Problem { at: set[0].from.clone(), what: format!("[{}] {what}", section.name) };
    match attempt(root, section, &all) {
        Ok(fawn) => fawn.command.check(&fawn.typed).err().map(whole).into_iter().collect(),
        Err(error) if error.kind() == ErrorKind::ArgumentConflict => {
            let names = [strings(&error, ContextKind::InvalidArg), strings(&error, ContextKind::PriorArg)].concat();
            let mut both: Vec<&Setting<'_>> = set.iter().filter(|setting| names.contains(&setting.flag.long)).collect();
            both.sort_by_key(|setting| &setting.from);
            let names: Vec<String> = both.iter().map(|setting| format!("{:?}", setting.flag.long)).collect();
            let at = both.last().map_or_else(|| set[0].from.clone(), |setting| setting.from.clone());
            vec![Problem { at, what: format!("[{}] cannot have both {}", section.name, names.join(" and ")) }]
        }
        Err(_) => set.iter().filter_map(|setting| needs(root, section, setting, set)).collect(),
    }
}

/// A flag that is set without another that it needs.
fn needs(root: &Command, section: &Section, setting: &Setting<'_>, set: &[Setting<'_>]) -> Option<Problem> {
    let missing = |set: &[&Setting<'_>]| match attempt(root, section, set) {
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => strings(&error, ContextKind::InvalidArg),
        _ => Vec::new(),
    };
    // What is always needed may come with the command line.
    let always = missing(&[]);
    let is_set = |name: &String| set.iter().any(|other| other.flag.long == *name);
    let is_flag = |name: &String| section.flag(name).is_some_and(|flag| !flag.is_required);
    let needed =
        missing(&[setting]).into_iter().find(|name| !always.contains(name) && !is_set(name) && is_flag(name))?;
    let what = format!("[{}] sets {:?}, which also needs {needed:?}", section.name, setting.flag.long);
    Some(Problem { at: setting.from.clone(), what })
}

/// The long names that an error is about: `tls-key` for `--tls-key <FILE>`.
fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    let texts = match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.as_str()],
        Some(ContextValue::Strings(texts)) => texts.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let name = |text: &str| text.split([' ', '=', '[']).next().unwrap_or_default().trim_start_matches("--").to_owned();
    texts.into_iter().map(name).collect()
}
