//! `fawn config show`: what commands would be run with, in the form of a configuration file.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::CommandFactory;
use serde_json::{Value, json};

use super::file;
use super::flags::{Flag, Section, ValueKind, nearest, sections};
use super::problem::SettingOrigin;
use super::settings::{Setting, settings};
use super::variables::environment;
use crate::command::Fawn;
use crate::outcome::{CommandStatus, UsageError};
use crate::tell::tell;

/// A flag with what counts for it.
struct EffectiveSetting<'a> {
    flag: &'a Flag,
    /// None: what the help says.
    values: Vec<String>,
    from: SettingOrigin,
}

/// Prints the sections of `names`.
pub fn run(names: &[String], path: Option<&PathBuf>, json: bool) -> anyhow::Result<CommandStatus> {
    let sections = sections(&Fawn::command());
    let file = path.map(|path| file::read(path, &sections)).unwrap_or_default();
    let environment = environment();
    let mut problems = file.problems.clone();
    let mut shown: Vec<(&Section, Vec<EffectiveSetting<'_>>)> = Vec::new();
    for section in chosen(names, &sections)? {
        let (set, wrong) = settings(section, &environment, &file);
        problems.extend(wrong);
        if names.is_empty() && set.is_empty() {
            continue;
        }
        shown.push((section, section.flags.iter().map(|flag| effective(flag, &set)).collect()));
    }
    for problem in &problems {
        tell(format_args!("fawn: {problem}"));
    }
    let mut out = io::stdout().lock();
    if json {
        let commands: serde_json::Map<String, Value> =
            shown.iter().map(|(section, flags)| (section.name.clone(), flags_json(section, flags))).collect();
        writeln!(out, "{}", json!({ "file": path, "commands": commands }))?;
    } else if shown.is_empty() {
        writeln!(out, "# nothing is set; `fawn config show serve` prints the defaults of a command")?;
    } else {
        write(&mut out, &shown)?;
    }
    Ok(if problems.is_empty() { CommandStatus::Done } else { CommandStatus::Missing })
}

fn effective<'a>(flag: &'a Flag, set: &[Setting<'_>]) -> EffectiveSetting<'a> {
    match set.iter().find(|setting| setting.flag.long == flag.long) {
        Some(setting) => EffectiveSetting { flag, values: setting.values.clone(), from: setting.from.clone() },
        None => EffectiveSetting { flag, values: flag.defaults.clone(), from: SettingOrigin::Default },
    }
}

fn chosen<'a>(names: &[String], sections: &'a [Section]) -> anyhow::Result<Vec<&'a Section>> {
    if names.is_empty() {
        return Ok(sections.iter().collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let Some(section) = sections.iter().find(|section| section.name == *name) else {
            let hint = nearest(name, sections.iter().map(|section| section.name.as_str()));
            let hint = hint.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            return Err(UsageError(format!("there is no command {name} that can be configured{hint}")).into());
        };
        chosen.push(section);
    }
    Ok(chosen)
}

/// Writes lines `key = value  # source`, the sources below each other.
fn write(out: &mut impl Write, shown: &[(&Section, Vec<EffectiveSetting<'_>>)]) -> io::Result<()> {
    for (number, (section, flags)) in shown.iter().enumerate() {
        let gap = if number > 0 { "\n" } else { "" };
        writeln!(out, "{gap}[{}]", section.name)?;
        let lines: Vec<(String, String)> = flags.iter().map(|shown| line(section, shown)).collect();
        let width = lines.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
        for (left, right) in lines {
            writeln!(out, "{left:width$}  # {right}")?;
        }
    }
    Ok(())
}

fn line(section: &Section, EffectiveSetting { flag, values, from }: &EffectiveSetting<'_>) -> (String, String) {
    let long = &flag.long;
    if values.is_empty() {
        return (format!("# {long}"), format!("not set; {}", section.variable(flag)));
    }
    let quoted: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    let value = match flag.kind {
        ValueKind::Switch => values[0].clone(),
        ValueKind::One => quoted[0].clone(),
        ValueKind::Many | ValueKind::Joined(_) => format!("[{}]", quoted.join(", ")),
    };
    (format!("{long} = {value}"), from.to_string())
}

/// As TOML has it: numbers as they are, everything else as a text.
fn quoted(value: &str) -> String {
    match value.parse::<i64>() {
        Ok(number) if number.to_string() == value => value.to_owned(),
        _ => Value::from(value).to_string(),
    }
}

fn flags_json(section: &Section, flags: &[EffectiveSetting<'_>]) -> Value {
    let value = |shown: &EffectiveSetting<'_>| match shown.flag.kind {
        ValueKind::Switch => json!(shown.values == ["true"]),
        ValueKind::One => json!(shown.values.first()),
        ValueKind::Many | ValueKind::Joined(_) => json!(shown.values),
    };
    let of = |shown: &EffectiveSetting<'_>| {
        let variable = section.variable(shown.flag);
        (shown.flag.long.clone(), json!({ "value": value(shown), "from": shown.from, "variable": variable }))
    };
    Value::Object(flags.iter().map(of).collect())
}
