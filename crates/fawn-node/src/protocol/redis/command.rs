//! `COMMAND`: what the table says of each command.

use super::arguments::word;
use super::error::{CommandError, SYNTAX};
use super::spec::{CommandGroup, CommandSpec, CommandTable};
use fawn_kv::operation::glob;
use fawn_resp::Words;
use fawn_resp::reply::{self, RespVersion};

pub fn all(
    _: &Words<'_>,
    table: &CommandTable,
    (_, version): About<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CommandError> {
    reply::array(out, table.all().count());
    for spec in table.all() {
        write_info(out, table, spec, version);
    }
    Ok(())
}

pub fn count(_: &Words<'_>, table: &CommandTable, (_, _): About<'_>, out: &mut Vec<u8>) -> Result<(), CommandError> {
    reply::integer(out, table.all().count().cast_signed() as i64);
    Ok(())
}

pub fn info(
    words: &Words<'_>,
    table: &CommandTable,
    (spec, version): About<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CommandError> {
    if words.len() == 2 {
        return all(words, table, (spec, version), out);
    }
    reply::array(out, words.len() - 2);
    for name in words.iter().skip(2) {
        match table.find(name) {
            Some(spec) => write_info(out, table, spec, version),
            None => reply::null(out, version),
        }
    }
    Ok(())
}

/// The command at hand, and the version of the protocol.
type About<'a> = (&'a CommandSpec, RespVersion);

/// Ten facts on a command. How its keys are found is told by the first, last and step alone.
fn write_info(out: &mut Vec<u8>, table: &CommandTable, spec: &CommandSpec, version: RespVersion) {
    reply::array(out, 10);
    reply::bulk(out, spec.name.as_bytes());
    reply::integer(out, spec.arity.into());
    let flags: Vec<_> = spec.flags.split(' ').filter(|flag| !flag.is_empty() && *flag != "dangerous").collect();
    reply::set(out, flags.len(), version);
    for flag in &flags {
        reply::simple(out, flag);
    }
    reply::integer(out, spec.keys.first.cast_signed() as i64);
    reply::integer(out, spec.keys.last as i64);
    reply::integer(out, spec.keys.step.cast_signed() as i64);
    let categories = categories(spec);
    reply::set(out, categories.len(), version);
    for category in &categories {
        reply::simple(out, category);
    }
    reply::array(out, 0);
    reply::array(out, 0);
    reply::array(out, table.subcommands(spec).count());
    for sub in table.subcommands(spec) {
        write_info(out, table, sub, version);
    }
}

/// What access lists call a command.
fn categories(spec: &CommandSpec) -> Vec<&'static str> {
    let is_admin = spec.is("admin");
    [
        ("@keyspace", spec.group == CommandGroup::Generic && spec.name != "wait"),
        ("@read", spec.is("readonly")),
        ("@write", spec.is("write")),
        ("@hash", spec.group == CommandGroup::Hash),
        ("@string", spec.group == CommandGroup::String),
        ("@bitmap", spec.group == CommandGroup::Bitmap),
        ("@admin", is_admin),
        ("@fast", spec.is("fast")),
        ("@slow", !spec.is("fast")),
        ("@dangerous", is_admin || spec.is("dangerous")),
        ("@connection", spec.group == CommandGroup::Connection || spec.name == "wait"),
        ("@transaction", spec.group == CommandGroup::Transactions),
        ("@scripting", spec.group == CommandGroup::Scripting),
    ]
    .into_iter()
    .filter_map(|(name, holds)| holds.then_some(name))
    .collect()
}

pub fn docs(
    words: &Words<'_>,
    table: &CommandTable,
    (_, version): About<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CommandError> {
    let specs: Vec<_> = if words.len() == 2 {
        table.all().collect()
    } else {
        words.iter().skip(2).filter_map(|name| table.find(name)).collect()
    };
    reply::map(out, specs.len(), version);
    for spec in specs {
        write_docs(out, table, spec, version);
    }
    Ok(())
}

fn write_docs(out: &mut Vec<u8>, table: &CommandTable, spec: &CommandSpec, version: RespVersion) {
    reply::bulk(out, spec.name.as_bytes());
    let has_subcommands = spec.has_subcommands();
    reply::map(out, 2 + usize::from(has_subcommands), version);
    for (name, text) in [("summary", spec.summary), ("group", spec.group.name())] {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, text.as_bytes());
    }
    if has_subcommands {
        reply::bulk(out, b"subcommands");
        reply::map(out, table.subcommands(spec).count(), version);
        for sub in table.subcommands(spec) {
            write_docs(out, table, sub, version);
        }
    }
}

pub fn list(words: &Words<'_>, table: &CommandTable, (_, _): About<'_>, out: &mut Vec<u8>) -> Result<(), CommandError> {
    let is = |place, name: &str| word(words, place).eq_ignore_ascii_case(name.as_bytes());
    let filter = word(words, 4);
    let holds: &dyn Fn(&CommandSpec) -> bool = match words.len() {
        2 => &|_| true,
        5 if is(2, "FILTERBY") && is(3, "MODULE") => &|_| false,
        5 if is(2, "FILTERBY") && is(3, "ACLCAT") => {
            &|spec| categories(spec).iter().any(|category| category.as_bytes()[1..].eq_ignore_ascii_case(filter))
        }
        5 if is(2, "FILTERBY") && is(3, "PATTERN") => {
            &|spec| glob::matches(&filter.to_ascii_lowercase(), spec.name.as_bytes())
        }
        _ => return Err(SYNTAX),
    };
    let with_subcommands = table.all().flat_map(|spec| std::iter::once(spec).chain(table.subcommands(spec)));
    let names: Vec<_> = if words.len() == 2 {
        table.all().map(|spec| spec.name).collect()
    } else {
        with_subcommands.filter(|spec| holds(spec)).map(|spec| spec.name).collect()
    };
    reply::array(out, names.len());
    for name in &names {
        reply::bulk(out, name.as_bytes());
    }
    Ok(())
}

pub fn getkeys(
    words: &Words<'_>,
    table: &CommandTable,
    (_, _): About<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CommandError> {
    let spec = table.find(word(words, 2)).ok_or(CommandError::text("ERR Invalid command specified"))?;
    let spec = words.get(3).and_then(|sub| table.find_subcommand(spec, sub)).unwrap_or(spec);
    let count = words.len() - 2;
    if spec.keys.first == 0 {
        return Err(CommandError::text("ERR The command has no key arguments"));
    }
    if !spec.takes(count) {
        return Err(CommandError::text("ERR Invalid number of arguments specified for command"));
    }
    let keys: Vec<_> = spec.key_places(count).map(|place| word(words, place + 2)).collect();
    reply::array(out, keys.len());
    for key in &keys {
        reply::bulk(out, key);
    }
    Ok(())
}

/// `HELP` of any command with subcommands.
pub fn help(_: &Words<'_>, table: &CommandTable, (spec, _): About<'_>, out: &mut Vec<u8>) -> Result<(), CommandError> {
    let name = spec.name.split('|').next().unwrap_or_default();
    let mut lines = vec![format!("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", name.to_uppercase())];
    for sub in table.find(name.as_bytes()).into_iter().flat_map(|spec| table.subcommands(spec)) {
        lines.push(sub.name[name.len() + 1..].to_uppercase());
        lines.push(format!("    {}.", sub.summary));
    }
    reply::array(out, lines.len());
    for line in &lines {
        reply::simple(out, line);
    }
    Ok(())
}
