//! The command line, with what the environment and a file say beside it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use super::check::bad_value;
use super::file::{self, ConfigFile};
use super::flags::{Section, ValueKind, sections, variable};
use super::negative::with_negative_values;
use super::problem::Problem;
use super::settings::{Setting, settings};
use super::variables::{Environment, unknown, without_variables};
use crate::command::Fawn;
use crate::joule::with_cache_of_this_machine;

/// Why a command is not carried out.
#[derive(Debug)]
pub enum CommandLineError {
    /// The arguments, wherever they are from; and what is to be said about those that nobody typed.
    Usage(clap::Error, Vec<String>),
    /// The file or the environment cannot be understood; all that is wrong with them for the command.
    Problems(Vec<Problem>),
}

/// Parses a command line.
///
/// # Errors
/// [`CommandLineError`]; also when help was asked for, as `clap` has it.
pub fn parse(line: Vec<OsString>, environment: &Environment) -> Result<Fawn, CommandLineError> {
    let usage = |error| CommandLineError::Usage(error, Vec::new());
    let mut root = Fawn::command();
    // The machine is looked at only for the help that shows it.
    if line.iter().any(|word| word == "phrases") {
        root = with_cache_of_this_machine(root);
    }
    let sections = sections(&root);
    let (mut line, given_off) = without_switches_off(with_negative_values(line, &root), &sections);
    // Once to see what is given, whatever else may be wrong. What is wrong is told by the second time.
    let matches = root.clone().ignore_errors(true).try_get_matches_from(&line).map_err(usage)?;
    let plain = without_variables(root);
    let warnings = unknown(&sections, environment);
    let (mut set, mut typed) = (Vec::new(), Vec::new());
    if let Some((section, given)) = section_of(&matches, &sections) {
        let file = given.get_one::<PathBuf>("config").map(|path| file::read(path, &sections)).unwrap_or_default();
        let mut problems = file.problems.clone();
        let (found, wrong) = unless_given(section, given, &given_off, environment, &file);
        set = found;
        problems.extend(wrong);
        if !problems.is_empty() {
            problems.extend(bad_values(&plain, section, &set));
            return Err(all(problems, warnings));
        }
        let is_typed = |id: &&clap::Id| given.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        typed = given.ids().filter(is_typed).map(ToString::to_string).collect();
        let end = line.iter().position(|argument| argument == "--").unwrap_or(line.len());
        let more: Vec<OsString> = set.iter().flat_map(Setting::arguments).collect();
        line.splice(end..end, more);
    }
    let parsed = plain.clone().try_get_matches_from(line).and_then(|matches| Fawn::from_arg_matches(&matches));
    match parsed {
        Ok(fawn) => Ok(Fawn { typed, words: words(&matches), warnings, ..fawn }),
        Err(mut error) => {
            let section = section_of(&matches, &sections).map(|(section, _)| section);
            // `clap` tells of the first.
            let bad = section.filter(|_| error.use_stderr()).map(|section| bad_values(&plain, section, &set));
            if let Some(bad) = bad.filter(|bad| bad.len() > 1) {
                return Err(all(bad, warnings));
            }
            suggest(&mut error, section);
            let mut notes = notes(&error, &set);
            notes.extend(warnings.iter().map(ToString::to_string));
            Err(CommandLineError::Usage(error, notes))
        }
    }
}

/// Every value that its flag refuses.
fn bad_values(root: &clap::Command, section: &Section, set: &[Setting<'_>]) -> Vec<Problem> {
    set.iter().filter_map(|setting| bad_value(root, section, setting)).collect()
}

/// All that is wrong, in order.
fn all(mut problems: Vec<Problem>, warnings: Vec<Problem>) -> CommandLineError {
    problems.extend(warnings);
    problems.sort();
    problems.dedup();
    CommandLineError::Problems(problems)
}

/// The section of the command that a line is about, and what is given to it.
fn section_of<'a, 'm>(matches: &'m ArgMatches, sections: &'a [Section]) -> Option<(&'a Section, &'m ArgMatches)> {
    let (words, mut matches) = (words(matches), matches);
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    sections.iter().find(|section| section.words == words).map(|section| (section, matches))
}

/// The words of the command that a line is about.
fn words(mut matches: &ArgMatches) -> Vec<String> {
    let mut words = Vec::new();
    while let Some((word, inner)) = matches.subcommand() {
        words.push(word.to_owned());
        matches = inner;
    }
    words
}

/// Settings of flags that the command line does not give, and what is no value of its flag at all.
fn unless_given<'a>(
    section: &'a Section,
    given: &ArgMatches,
    given_off: &BTreeSet<String>,
    environment: &Environment,
    file: &ConfigFile,
) -> (Vec<Setting<'a>>, Vec<Problem>) {
    let (mut set, problems) = settings(section, environment, file);
    let is_given = |setting: &Setting<'_>| {
        given_off.contains(&setting.flag.long) || given.value_source(&setting.flag.id) == Some(ValueSource::CommandLine)
    };
    set.retain(|setting| !is_given(setting));
    (set, problems)
}

/// Whoever gives the name of a variable as a flag means what that is for: `--to` by `--server`, for `FAWN_SERVER`.
fn suggest(error: &mut clap::Error, section: Option<&Section>) {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return };
    let name = variable(given.split('=').next().unwrap_or_default().trim_start_matches('-'));
    let meant = section.and_then(|section| section.flags.iter().find(|flag| flag.common == name));
    if let Some(flag) = meant.filter(|_| error.kind() == ErrorKind::UnknownArgument) {
        // It would be that of the flag that `clap` guesses.
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{}", flag.long)));
    }
}

/// Takes `--switch=false` out of a line, which `clap` does not know, and makes `--switch` of `--switch=true`.
fn without_switches_off(line: Vec<OsString>, sections: &[Section]) -> (Vec<OsString>, BTreeSet<String>) {
    let flags = || sections.iter().flat_map(|section| &section.flags);
    let is_switch = |long: &str| {
        let mut named = flags().filter(|flag| flag.long == long).peekable();
        named.peek().is_some() && named.all(|flag| flag.kind == ValueKind::Switch)
    };
    let end = line.iter().position(|argument| argument == "--").unwrap_or(line.len());
    let (mut kept, mut off) = (Vec::new(), BTreeSet::new());
    for (number, argument) in line.into_iter().enumerate() {
        let text = argument.to_str().filter(|_| number < end).and_then(|text| text.strip_prefix("--"));
        match text.and_then(|text| text.split_once('=')) {
            Some((long, "false")) if is_switch(long) => {
                off.insert(long.to_owned());
            }
            Some((long, "true")) if is_switch(long) => kept.push(format!("--{long}").into()),
            _ => kept.push(argument),
        }
    }
    (kept, off)
}

/// Where the arguments that an error is about are from, of those that nobody typed.
fn notes(error: &clap::Error, set: &[Setting<'_>]) -> Vec<String> {
    let mut about: Vec<&str> = Vec::new();
    for kind in [ContextKind::InvalidArg, ContextKind::PriorArg] {
        match error.get(kind) {
            Some(ContextValue::String(text)) => about.push(text),
            Some(ContextValue::Strings(texts)) => about.extend(texts.iter().map(String::as_str)),
            _ => {}
        }
    }
    let is_meant = |setting: &&Setting<'_>| {
        let name = format!("--{}", setting.flag.long);
        about.iter().any(|text| text.split([' ', '=', '[']).next() == Some(&name))
    };
    set.iter().filter(is_meant).map(|setting| format!("--{} is from {}", setting.flag.long, setting.from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use crate::serve::arguments::ServeArguments;

    fn parsed(line: &str, variables: &[(&str, &str)], file: &str) -> Result<Fawn, CommandLineError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fawn.toml");
        std::fs::write(&path, file).unwrap();
        let mut line: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        line.splice(1..1, ["--config".into(), path.into_os_string()]);
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        parse(line, &environment.collect())
    }

    fn serve(line: &str, variables: &[(&str, &str)], file: &str) -> ServeArguments {
        match parsed(line, variables, file).unwrap().command {
            Command::Serve(arguments) => *arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_comes_before_the_environment_and_that_before_the_file() {
        let file = "dir = 'common'\nmax-connections = 5\n[serve]\ndir = 'own'\nmax-connections = 6\nmemory = '1G'\n";
        let connections = |line, variables: &[_]| serve(line, variables, file).clients.max_connections;
        assert_eq!(connections("fawn serve", &[]), 6);
        assert_eq!(connections("fawn serve", &[("FAWN_MAX_CONNECTIONS", "7")]), 7);
        let both = [("FAWN_MAX_CONNECTIONS", "7"), ("FAWN_SERVE_MAX_CONNECTIONS", "8")];
        assert_eq!(connections("fawn serve", &both), 8);
        assert_eq!(connections("fawn serve --max-connections 9", &both), 9);
        assert_eq!(connections("fawn serve --max-connections=9", &both), 9);
        let arguments = serve("fawn serve", &[], file);
        assert_eq!((arguments.dir.to_str(), arguments.memory.unwrap().bytes), (Some("own"), 1 << 30));
        assert_eq!(serve("fawn serve", &[], "").clients.max_connections, 4096);
    }

    #[test]
    fn a_list_is_replaced_as_a_whole() {
        let file = "[serve]\nlisten = ['127.0.0.1:1', '127.0.0.1:2']\n";
        assert_eq!(serve("fawn serve", &[], file).clients.listen, ["127.0.0.1:1", "127.0.0.1:2"]);
        assert_eq!(serve("fawn serve --listen 127.0.0.1:3", &[], file).clients.listen, ["127.0.0.1:3"]);
        let variables = [("FAWN_SERVE_LISTEN", "127.0.0.1:4, [::1]:5")];
        assert_eq!(serve("fawn serve", &variables, file).clients.listen, ["127.0.0.1:4", "[::1]:5"]);
        assert_eq!(serve("fawn serve", &[], "[serve]\nlisten = '127.0.0.1:6'").clients.listen, ["127.0.0.1:6"]);
    }

    #[test]
    fn a_switch_that_is_on_can_be_turned_off_before_it() {
        let file = "[serve]\nno-flush = true\n";
        assert!(serve("fawn serve", &[], file).clients.no_flush);
        assert!(!serve("fawn serve", &[("FAWN_SERVE_NO_FLUSH", "off")], file).clients.no_flush);
        assert!(!serve("fawn serve --no-flush=false", &[], file).clients.no_flush);
        assert!(serve("fawn serve --no-flush=true", &[("FAWN_SERVE_NO_FLUSH", "0")], file).clients.no_flush);
        assert!(serve("fawn serve --no-flush", &[("FAWN_SERVE_NO_FLUSH", "0")], file).clients.no_flush);
    }

    #[test]
    fn what_is_configured_counts_as_given_for_what_flags_need_of_each_other() {
        assert!(parsed("fawn serve", &[], "[serve]\ntls-cert = 'c'\n").is_err(), "a certificate needs its key");
        let arguments = serve("fawn serve --tls-key k", &[], "[serve]\ntls-cert = 'c'\n");
        assert!(arguments.clients.tls_cert.is_some() && arguments.clients.tls_key.is_some());
    }

    #[test]
    fn existing_variables_keep_their_meaning() {
        let to = |variables: &[_], file| match parsed("fawn get k", variables, file).unwrap().command {
            Command::Get(arguments) => arguments.server.to.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(to(&[("FAWN_SERVER", "a:1")], "[get]\nto = 'b:2'\n"), "a:1");
        assert_eq!(to(&[("FAWN_SERVER", "a:1"), ("FAWN_GET_TO", "c:3")], ""), "c:3");
        assert_eq!(to(&[], ""), "127.0.0.1:11211");
    }

    #[test]
    fn a_key_that_is_a_commands_name_goes_into_the_common_table() {
        let file = "[common]\nmanager = ['a:1', 'b:2']\n[manager]\nlisten = 'c:3'\n";
        let managers = |line| match parsed(line, &[], file).unwrap().command {
            Command::Node(arguments) => arguments.run.member.manager,
            Command::Status(arguments) => arguments.managers.managers,
            other => panic!("{other:?}"),
        };
        assert_eq!(managers("fawn node"), ["a:1", "b:2"]);
        assert_eq!(managers("fawn status"), ["a:1", "b:2"]);
        assert_eq!(managers("fawn status --manager d:4"), ["d:4"]);
        let Command::Manager(arguments) = parsed("fawn manager", &[], file).unwrap().command else {
            panic!("the manager was asked for")
        };
        assert_eq!(arguments.run.listen, "c:3");
    }

    #[test]
    fn what_follows_two_dashes_is_not_touched() {
        let file = "[get]\nraw = true\n";
        let Command::Get(arguments) = parsed("fawn get -- --raw=false --json", &[], file).unwrap().command else {
            panic!("get was asked for")
        };
        assert_eq!(arguments.keys, ["--raw=false", "--json"]);
        assert!(arguments.raw);
    }

    #[test]
    fn a_variables_name_as_a_flag_is_answered_with_the_flag() {
        for (line, meant) in [("fawn get --server a:1 k", "'--to'"), ("fawn dump --server=a:1 f", "'--from'")] {
            let CommandLineError::Usage(error, _) = parsed(line, &[], "").unwrap_err() else { panic!("{line}") };
            let said = error.to_string();
            assert!(said.contains(meant) && !said.contains("--user"), "{said}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let file = "[serve]\nmemroy = 1\nmemory = 'lots'\nthreads = 'many'\ninsecure = 'perhaps'\n";
        let variables = [("FAWN_MAX_CONECTIONS", "7"), ("FAWN_SERVE_MAX_CONNECTIONS", "none")];
        let CommandLineError::Problems(problems) = parsed("fawn serve", &variables, file).unwrap_err() else {
            panic!("a list")
        };
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let about = ["fawn.toml:2:", "fawn.toml:3:", "fawn.toml:4:", "fawn.toml:5:", "FAWN_MAX_CON", "FAWN_SERVE_MAX"];
        assert_eq!(told.len(), about.len(), "{told:#?}");
        for (line, about) in told.iter().zip(about) {
            assert!(line.contains(about), "{about}: {told:#?}");
        }
        let two = "[serve]\nmemory = 'lots'\nthreads = 'many'\n";
        let CommandLineError::Problems(problems) = parsed("fawn serve", &[], two).unwrap_err() else {
            panic!("a list")
        };
        assert_eq!(problems.len(), 2);
        let CommandLineError::Usage(..) = parsed("fawn serve --memory 1G", &[], two).unwrap_err() else {
            panic!("one is left")
        };
    }

    #[test]
    fn a_variable_that_is_misspelt_is_told_of_whatever_the_command() {
        let variables = [("FAWN_MEMROY", "1G"), ("FAWN_MEMORY", "1G")];
        for line in ["fawn serve", "fawn get k", "fawn plan --data 1TB --rate 1k"] {
            let warnings = parsed(line, &variables, "").unwrap().warnings;
            assert_eq!(warnings.len(), 1, "{line}");
            assert!(warnings[0].to_string().ends_with("did you mean FAWN_MEMORY?"), "{line}");
        }
        let CommandLineError::Usage(_, notes) = parsed("fawn plan", &[("FAWN_DATTA", "1TB")], "").unwrap_err() else {
            panic!("a plan needs its data")
        };
        assert!(notes.iter().any(|note| note.contains("did you mean FAWN_DATA?")), "{notes:?}");
    }

    #[test]
    fn an_error_says_where_the_value_is_from() {
        let told = |line, variables: &[_], file| match parsed(line, variables, file).unwrap_err() {
            CommandLineError::Usage(_, notes) => notes.join("\n"),
            CommandLineError::Problems(problems) => problems[0].to_string(),
        };
        assert_eq!(told("fawn serve", &[("FAWN_SERVE_MEMORY", "lots")], ""), "--memory is from FAWN_SERVE_MEMORY");
        assert!(told("fawn serve", &[], "\n\n[serve]\nmemory = 'lots'").ends_with("fawn.toml:4"));
        assert!(told("fawn get --json k", &[], "[get]\nraw = true\n").contains("--raw is from "));
        assert_eq!(told("fawn serve --memory lots", &[], "[serve]\nmemory = 'many'"), "");
        assert!(told("fawn serve", &[], "[serve]\nmemroy = 1").contains("did you mean \"memory\"?"));
    }
}
