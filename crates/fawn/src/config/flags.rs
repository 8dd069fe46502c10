//! What can be configured: every flag of every command, as `clap` describes it.

use clap::{Arg, ArgAction, Command};

/// Commands whose flags are for the moment alone, and those that are about configuration.
const LEFT_OUT: &[&str] = &["help", "completions", "man", "config"];

/// Flags that are for the moment alone, and the one that names the file. Others of the kind, as they say what is to be done
/// this time, are marked with `hide_env`.
const NO_KEYS: &[&str] = &["help", "version", "config"];

/// A command, and its part of a file.
#[derive(Clone, Debug)]
pub struct Section {
    /// `node-drain` for `fawn node drain`.
    pub name: String,
    /// The words of the command.
    pub words: Vec<String>,
    /// Its flags, in the order of its help.
    pub flags: Vec<Flag>,
}

impl Section {
    /// The flag with this long name.
    pub fn flag(&self, long: &str) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.long == long)
    }

    /// Environment variable of a flag of this command.
    pub fn variable(&self, flag: &Flag) -> String {
        variable(&format!("{}-{}", self.name, flag.long))
    }
}

/// A flag.
#[derive(Clone, Debug)]
pub struct Flag {
    /// `clap`'s name for it.
    pub id: String,
    /// Its name after the dashes, and its key.
    pub long: String,
    /// How its values are written.
    pub kind: ValueKind,
    /// The environment variable for all commands that have it.
    pub common: String,
    /// What it is without any setting; none: what its help says.
    pub defaults: Vec<String>,
    /// Whether the command is refused without it.
    pub is_required: bool,
}

/// How the values of a flag are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// It is there or not.
    Switch,
    /// One value.
    One,
    /// Any number of values, each with the flag before it.
    Many,
    /// Any number of values after one flag, with this between them.
    Joined(char),
}

/// The environment variable of a name in a file.
pub fn variable(name: &str) -> String {
    format!("FAWN_{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// Every command with its flags. `root` is the whole program.
pub fn sections(root: &Command) -> Vec<Section> {
    let mut root = root.clone();
    root.build();
    let mut sections = Vec::new();
    collect(&root, &mut Vec::new(), &mut sections);
    sections
}

fn collect(command: &Command, words: &mut Vec<String>, sections: &mut Vec<Section>) {
    for sub in command.get_subcommands().filter(|sub| !LEFT_OUT.contains(&sub.get_name())) {
        words.push(sub.get_name().to_owned());
        let flags: Vec<Flag> = sub.get_arguments().filter_map(flag).collect();
        if !flags.is_empty() {
            sections.push(Section { name: words.join("-"), words: words.clone(), flags });
        }
        collect(sub, words, sections);
        words.pop();
    }
}

fn flag(arg: &Arg) -> Option<Flag> {
    let is_kept = |long: &&str| !NO_KEYS.contains(long) && !arg.is_hide_env_set();
    let long = arg.get_long().filter(is_kept)?;
    let kind = match arg.get_action() {
        ArgAction::SetTrue => ValueKind::Switch,
        ArgAction::Set => match arg.get_value_delimiter() {
            Some(delimiter) => ValueKind::Joined(delimiter),
            None => ValueKind::One,
        },
        ArgAction::Append => ValueKind::Many,
        _ => return None,
    };
    let common = arg.get_env().map_or_else(|| variable(long), |name| name.to_string_lossy().into_owned());
    let defaults = match kind {
        ValueKind::Switch => vec!["false".to_owned()],
        _ => arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect(),
    };
    let id = arg.get_id().to_string();
    Some(Flag { id, long: long.to_owned(), kind, common, defaults, is_required: arg.is_required_set() })
}

/// The name that was probably meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let best = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) > 0.8).then_some(best)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_flag_of_every_command_has_a_key_and_a_variable() {
        let root = crate::command::Fawn::command();
        let sections = sections(&root);
        let section = |name: &str| sections.iter().find(|section| section.name == name).unwrap();
        let serve = section("serve");
        let listen = serve.flag("listen").unwrap();
        assert_eq!((listen.kind, listen.defaults.as_slice()), (ValueKind::Many, &["127.0.0.1:11211".to_owned()][..]));
        assert_eq!(serve.variable(serve.flag("max-item-size").unwrap()), "FAWN_SERVE_MAX_ITEM_SIZE");
        assert_eq!(serve.flag("insecure").unwrap().kind, ValueKind::Switch);
        assert_eq!(section("certs-init").words, ["certs", "init"]);
        assert!(section("certs-init").flag("manager").is_none(), "a cluster's managers are something else");
        assert_eq!(section("load").flag("to").unwrap().common, "FAWN_SERVER");
        for section in &sections {
            assert!(section.flag("help").is_none() && section.flag("config").is_none());
            assert!(!LEFT_OUT.contains(&section.words[0].as_str()));
        }
    }

    #[test]
    fn no_two_flags_share_a_variable_by_accident() {
        let sections = sections(&crate::command::Fawn::command());
        let mut own = BTreeMap::new();
        for section in &sections {
            for flag in &section.flags {
                let variable = section.variable(flag);
                assert_eq!(own.insert(variable.clone(), flag.long.clone()), None, "{variable} is of two flags");
            }
        }
        // `fawn manager recover` looks where `fawn manager` was told to.
        for flag in sections.iter().flat_map(|section| &section.flags) {
            assert!(own.get(&flag.common).is_none_or(|long| *long == flag.long), "{} is of two flags", flag.common);
        }
    }

    #[test]
    fn what_was_meant_is_near() {
        assert_eq!(nearest("memroy", ["memory", "listen"].into_iter()), Some("memory"));
        assert_eq!(nearest("xyz", ["memory", "listen"].into_iter()), None);
    }
}
