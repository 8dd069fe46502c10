//! `COMMAND`: what the table says of each command.

use super::client::ClientState;
use super::connection::Answer;
use super::error::{CommandError, SYNTAX};
use super::strings::word;
use super::table::{CommandSpec, Group};
use fawn_kv::operation::glob;
use fawn_resp::Words;
use fawn_resp::reply::{self, RespVersion};

type Answered<'a> = Result<Answer<'a>, CommandError>;

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn all<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    reply::array(out, CommandSpec::all().count());
    CommandSpec::all().for_each(|spec| write_info(out, spec, client.version));
    Ok(Answer::Written)
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn count<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    reply::integer(out, CommandSpec::all().count() as i64);
    Ok(Answer::Written)
}

/// The command that a client names, such as `get` or `client|id`.
fn named(name: &[u8]) -> Option<&'static CommandSpec> {
    CommandSpec::find(name)
}

pub fn info<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    if words.len() == 2 {
        return all(words, client, out);
    }
    reply::array(out, words.len() - 2);
    for name in words.iter().skip(2) {
        match named(name) {
            Some(spec) => write_info(out, spec, client.version),
            None => reply::null_array(out, client.version),
        }
    }
    Ok(Answer::Written)
}

/// Ten facts on a command. How its keys are found is told by the first, last and step alone.
fn write_info(out: &mut Vec<u8>, spec: &CommandSpec, version: RespVersion) {
    reply::array(out, 10);
    reply::bulk(out, spec.name.as_bytes());
    reply::integer(out, spec.arity.into());
    let flags: Vec<_> = spec.flags.split(' ').filter(|flag| !flag.is_empty() && *flag != "dangerous").collect();
    reply::set(out, flags.len(), version);
    flags.iter().for_each(|flag| reply::simple(out, flag));
    reply::integer(out, spec.keys.first as i64);
    reply::integer(out, spec.keys.last as i64);
    reply::integer(out, spec.keys.step as i64);
    let categories = categories(spec);
    reply::set(out, categories.len(), version);
    categories.iter().for_each(|category| reply::simple(out, category));
    reply::array(out, 0);
    reply::array(out, 0);
    reply::array(out, spec.subcommands().count());
    spec.subcommands().for_each(|sub| write_info(out, sub, version));
}

/// What access lists call a command.
fn categories(spec: &CommandSpec) -> Vec<&'static str> {
    let is_admin = spec.is("admin");
    [
        ("@keyspace", spec.group == Group::Generic && spec.name != "wait"),
        ("@read", spec.is("readonly")),
        ("@write", spec.is("write")),
        ("@hash", spec.group == Group::Hash),
        ("@string", spec.group == Group::String),
        ("@bitmap", spec.group == Group::Bitmap),
        ("@admin", is_admin),
        ("@fast", spec.is("fast")),
        ("@slow", !spec.is("fast")),
        ("@dangerous", is_admin || spec.is("dangerous")),
        ("@connection", spec.group == Group::Connection || spec.name == "wait"),
        ("@transaction", spec.group == Group::Transactions),
        ("@scripting", spec.group == Group::Scripting),
    ]
    .into_iter()
    .filter_map(|(name, holds)| holds.then_some(name))
    .collect()
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn docs<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    let specs: Vec<_> =
        if words.len() == 2 { CommandSpec::all().collect() } else { words.iter().skip(2).filter_map(named).collect() };
    reply::map(out, specs.len(), client.version);
    specs.into_iter().for_each(|spec| write_docs(out, spec, client.version));
    Ok(Answer::Written)
}

fn write_docs(out: &mut Vec<u8>, spec: &CommandSpec, version: RespVersion) {
    reply::bulk(out, spec.name.as_bytes());
    let has_subcommands = spec.has_subcommands();
    reply::map(out, 2 + usize::from(has_subcommands), version);
    for (name, text) in [("summary", spec.summary), ("group", spec.group.name())] {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, text.as_bytes());
    }
    if has_subcommands {
        reply::bulk(out, b"subcommands");
        reply::map(out, spec.subcommands().count(), version);
        spec.subcommands().for_each(|sub| write_docs(out, sub, version));
    }
}

pub fn list<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
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
    let with_subcommands = CommandSpec::all().flat_map(|spec| std::iter::once(spec).chain(spec.subcommands()));
    let names: Vec<_> = if words.len() == 2 {
        CommandSpec::all().map(|spec| spec.name).collect()
    } else {
        with_subcommands.filter(|spec| holds(spec)).map(|spec| spec.name).collect()
    };
    reply::array(out, names.len());
    names.iter().for_each(|name| reply::bulk(out, name.as_bytes()));
    Ok(Answer::Written)
}

pub fn getkeys<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    let spec = CommandSpec::find(word(words, 2)).ok_or(CommandError::text("ERR Invalid command specified"))?;
    let spec = words.get(3).and_then(|sub| spec.find_subcommand(sub)).unwrap_or(spec);
    let count = words.len() - 2;
    if spec.keys.first == 0 {
        return Err(CommandError::text("ERR The command has no key arguments"));
    }
    if !spec.takes(count) {
        return Err(CommandError::text("ERR Invalid number of arguments specified for command"));
    }
    let keys: Vec<_> = spec.key_places(count).map(|place| word(words, place + 2)).collect();
    reply::array(out, keys.len());
    keys.iter().for_each(|key| reply::bulk(out, key));
    Ok(Answer::Written)
}

/// `HELP` of any command with subcommands.
#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn help<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    let name = client.spec.name.split('|').next().unwrap_or_default();
    let mut lines = vec![format!("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", name.to_uppercase())];
    for sub in CommandSpec::find(name.as_bytes()).into_iter().flat_map(CommandSpec::subcommands) {
        lines.push(sub.name[name.len() + 1..].to_uppercase());
        lines.push(format!("    {}.", sub.summary));
    }
    reply::array(out, lines.len());
    lines.iter().for_each(|line| reply::simple(out, line));
    Ok(Answer::Written)
}
