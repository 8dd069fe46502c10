//! Which value of a flag counts, of those in the environment and in a file.

use std::ffi::OsString;

use super::file::{ConfigFile, FileEntry, Value};
use super::flags::{Flag, Section, ValueKind};
use super::problem::{Problem, SettingOrigin};
use super::variables::Environment;

/// A flag that is set.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The flag.
    pub flag: &'a Flag,
    /// Its values; of a switch, `true` or `false`.
    pub values: Vec<String>,
    /// Where they are from.
    pub from: SettingOrigin,
    /// Whether it is for every command that has the flag.
    pub is_common: bool,
}

impl Setting<'_> {
    /// The arguments that say the same.
    pub fn arguments(&self) -> Vec<OsString> {
        let long = &self.flag.long;
        let with = |value: &str| OsString::from(format!("--{long}={value}"));
        match self.flag.kind {
            ValueKind::Switch if self.values == ["true"] => vec![format!("--{long}").into()],
            ValueKind::Switch => Vec::new(),
            ValueKind::Joined(delimiter) => vec![with(&self.values.join(&delimiter.to_string()))],
            ValueKind::One | ValueKind::Many => self.values.iter().map(|value| with(value)).collect(),
        }
    }
}

/// What is set for a command, and what is no value of its flag at all.
pub fn settings<'a>(
    section: &'a Section,
    environment: &Environment,
    file: &ConfigFile,
) -> (Vec<Setting<'a>>, Vec<Problem>) {
    let (mut settings, mut problems) = (Vec::new(), Vec::new());
    for flag in &section.flags {
        let Some((value, from, is_common)) = found(section, flag, environment, file) else { continue };
        match values(flag, value) {
            Ok(values) => settings.push(Setting { flag, values, from, is_common }),
            Err(what) => problems.push(Problem { at: from, what: format!("{:?} {what}", flag.long) }),
        }
    }
    (settings, problems)
}

/// The first of all places that has a value, and whether that is for all commands.
fn found(
    section: &Section,
    flag: &Flag,
    environment: &Environment,
    file: &ConfigFile,
) -> Option<(Value, SettingOrigin, bool)> {
    for (name, is_common) in [(section.variable(flag), false), (flag.common.clone(), true)] {
        if let Some(text) = environment.get(&name) {
            return Some((of_variable(flag, text), SettingOrigin::Variable(name), is_common));
        }
    }
    let with = |table: Option<&str>| {
        let is_it = |entry: &&FileEntry| entry.table.as_deref() == table && entry.key == flag.long;
        let entry = file.entries.iter().find(is_it)?;
        Some((entry.value.clone(), entry.at.clone(), table.is_none()))
    };
    with(Some(&section.name)).or_else(|| with(None))
}

/// A variable is a text: what it means depends on the flag.
fn of_variable(flag: &Flag, text: &str) -> Value {
    match (flag.kind, text.to_ascii_lowercase().as_str()) {
        (ValueKind::Switch, "true" | "1" | "yes" | "on") => Value::Switch(true),
        (ValueKind::Switch, "false" | "0" | "no" | "off") => Value::Switch(false),
        (ValueKind::Many | ValueKind::Joined(_), _) => {
            Value::Many(text.split(',').map(|item| item.trim().to_owned()).collect())
        }
        _ => Value::One(text.to_owned()),
    }
}

fn values(flag: &Flag, value: Value) -> Result<Vec<String>, &'static str> {
    // Of a variable whose bytes are no text.
    if matches!(&value, Value::One(text) if text.contains(char::REPLACEMENT_CHARACTER)) {
        return Err("is not UTF-8 text");
    }
    match (flag.kind, value) {
        (ValueKind::Switch, Value::Switch(value)) => Ok(vec![value.to_string()]),
        (ValueKind::Switch, _) => Err("is a switch: write true or false"),
        (_, Value::Switch(_)) => Err("is not a switch: give it a value"),
        (ValueKind::One, Value::Many(_)) => Err("takes one value, not a list"),
        (_, Value::One(value)) => Ok(vec![value]),
        (_, Value::Many(values)) => Ok(values),
    }
}
