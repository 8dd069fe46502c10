//! Negative numbers on the command line: values of the flag before them, not flags that nobody knows.
//!
//! `clap` knows `-1` as a number, if each argument says so, but neither `-1,2`, `-5%` nor `-3K`. No flag begins with a digit.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::Command;

/// Makes `--rate=-1` of `--rate -1`, so that the flag says what it takes.
pub fn with_negative_values(line: Vec<OsString>, root: &Command) -> Vec<OsString> {
    let mut takes_values = BTreeMap::new();
    add_flags(root, &mut takes_values);
    let end = line.iter().position(|argument| argument == "--").unwrap_or(line.len());
    let mut joined: Vec<OsString> = Vec::with_capacity(line.len());
    for (number, argument) in line.into_iter().enumerate() {
        let is_negative = number < end && argument.to_str().is_some_and(is_negative);
        let flag = joined.last_mut().filter(|_| is_negative).filter(|before| {
            let long = before.to_str().and_then(|before| before.strip_prefix("--"));
            long.is_some_and(|long| takes_values.get(long) == Some(&true))
        });
        match flag {
            Some(flag) => {
                flag.push("=");
                flag.push(&argument);
            }
            None => joined.push(argument),
        }
    }
    joined
}

fn is_negative(argument: &str) -> bool {
    let rest = argument.strip_prefix('-').unwrap_or_default();
    rest.strip_prefix('.').unwrap_or(rest).starts_with(|first: char| first.is_ascii_digit())
}

/// All flags below a command, and whether they take values wherever there are such.
fn add_flags(command: &Command, into: &mut BTreeMap<String, bool>) {
    for argument in command.get_arguments() {
        if let Some(long) = argument.get_long() {
            *into.entry(long.to_owned()).or_insert(true) &= argument.get_action().takes_values();
        }
    }
    command.get_subcommands().for_each(|command| add_flags(command, into));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn joined(line: &str) -> String {
        let line = line.split(' ').map(OsString::from).collect();
        let joined = with_negative_values(line, &crate::command::Fawn::command());
        joined.iter().map(|argument| argument.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_negative_number_is_the_value_of_the_flag_before_it() {
        for (line, so) in [
            ("fawn gordon flash --rate -1 --json", "fawn gordon flash --rate=-1 --json"),
            ("fawn gordon disk --seek-ms -1,2,3", "fawn gordon disk --seek-ms=-1,2,3"),
            ("fawn gordon flash --spare -.5%", "fawn gordon flash --spare=-.5%"),
            ("fawn serve --memory -3K", "fawn serve --memory=-3K"),
        ] {
            assert_eq!(joined(line), so);
        }
    }

    #[test]
    fn whatever_else_begins_with_a_dash_stays_as_it_is() {
        for line in [
            "fawn gordon flash --json -1",
            "fawn gordon replay - --on a --on -",
            "fawn gordon record a.recording --seconds 1 -- head --lines -1 --rate -1",
            "fawn gordon flash --rate --json",
            "fawn gordon flash --rate=5 -1",
            "fawn dump -",
        ] {
            assert_eq!(joined(line), line);
        }
    }
}
