//! The environment variables of this program, among those that begin as they do: what orchestrators set for services and
//! containers of the name, and what is misspelt.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::flags::{Section, nearest};
use super::problem::{Problem, SettingOrigin};

/// Environment variables that begin with `FAWN_`, hold something, and are meant for this program.
pub type Environment = BTreeMap<String, String>;

/// What they begin with.
const PREFIX: &str = "FAWN_";

/// Variables that are no flags: the file of `--config`, and what cargo hands on to a program that it has built.
const OTHERS: &[&str] = &["FAWN_CONFIG", "FAWN_COMMIT"];

/// The variables of this process. One that is empty counts as one that is not set.
pub fn environment() -> Environment {
    let text = |(name, value): (OsString, OsString)| {
        // One whose bytes are not UTF-8 is refused by what it is for, and not passed over.
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    };
    ours(std::env::vars_os().filter_map(text))
}

fn ours(variables: impl Iterator<Item = (String, String)>) -> Environment {
    // No name of a flag has small letters, but a mistake may.
    let is_named_so = |name: &str| name.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX));
    let all: Environment = variables.filter(|(name, value)| is_named_so(name) && !value.is_empty()).collect();
    let mut ours = all.clone();
    ours.retain(|name, value| !is_of_a_service(name, value, &all));
    ours
}

/// Whether Kubernetes has set a variable for a service named `fawn` or `fawn-…`, or `docker run --link` for a container.
fn is_of_a_service(name: &str, value: &str, all: &Environment) -> bool {
    let is_url = |value: &str| ["tcp://", "udp://", "sctp://"].iter().any(|start| value.starts_with(start));
    let is_path = |value: &str| value.strip_prefix('/').is_some_and(|rest| rest.contains('/'));
    let is_linked = |service: &str| {
        let has =
            |end: &str, is_so: &dyn Fn(&str) -> bool| all.get(&format!("{service}{end}")).is_some_and(|it| is_so(it));
        has("_PORT", &is_url) || has("_NAME", &is_path)
    };
    name.ends_with("_SERVICE_HOST")
        || name.split_once("_SERVICE_PORT").is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with('_'))
        || (name.ends_with("_PORT") && is_url(value))
        || name.match_indices("_PORT").any(|(at, port)| is_port(&name[at + port.len()..]))
        || (name.ends_with("_NAME") && is_path(value))
        || name.split_once("_ENV_").is_some_and(|(service, _)| is_linked(service))
}

/// Whether that is `_11211_TCP`, or `_11211_TCP_ADDR` and the like.
fn is_port(text: &str) -> bool {
    let Some(text) = text.strip_prefix('_') else { return false };
    let mut words = text.split('_');
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    words.next().is_some_and(is_number) && words.next().is_some_and(|word| ["TCP", "UDP", "SCTP"].contains(&word))
}

/// Variables that no command takes, each with the name that may be meant.
pub fn unknown(sections: &[Section], environment: &Environment) -> Vec<Problem> {
    let flags = sections.iter().flat_map(|section| section.flags.iter().map(move |flag| (section, flag)));
    let mut known: Vec<String> =
        flags.flat_map(|(section, flag)| [section.variable(flag), flag.common.clone()]).collect();
    known.extend(OTHERS.iter().map(|name| (*name).to_owned()));
    let unknown = environment.keys().filter(|name| !known.contains(name));
    let problem = |name: &String| {
        // What all of them begin with is no likeness.
        let given = name[PREFIX.len()..].to_ascii_uppercase();
        let hint = nearest(&given, known.iter().filter_map(|name| name.strip_prefix(PREFIX)));
        let hint = hint.map(|name| format!("; did you mean {PREFIX}{name}?")).unwrap_or_default();
        Problem { at: SettingOrigin::Variable(name.clone()), what: format!("there is no flag for this variable{hint}") }
    };
    unknown.map(problem).collect()
}

/// The commands without the variables that `clap` itself would look up: they are looked up already, and one that is empty or
/// is about a switch that was turned off counts for nothing.
pub(super) fn without_variables(command: clap::Command) -> clap::Command {
    let plain = |arg: clap::Arg| if arg.get_id() == "config" { arg } else { arg.env(None) };
    command.mut_args(plain).mut_subcommands(without_variables)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::flags::sections;
    use super::*;

    fn kept(variables: &[(&str, &str)]) -> Vec<String> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ours(variables).into_keys().collect()
    }

    #[test]
    fn what_kubernetes_and_docker_set_for_services_is_none_of_ours() {
        for service in ["FAWN", "FAWN_MANAGER", "FAWN_SERVER", "FAWN_PORT", "FAWN_LOG"] {
            let named = |end: &str| format!("{service}{end}");
            for (end, value) in [
                ("_SERVICE_HOST", "10.0.0.11"),
                ("_SERVICE_PORT", "11211"),
                ("_SERVICE_PORT_MEMCACHED", "11211"),
                ("_PORT", "tcp://10.0.0.11:11211"),
                ("_PORT", "udp://[fd00::1]:11211"),
                ("_PORT_11211_TCP", "tcp://10.0.0.11:11211"),
                ("_PORT_11211_TCP_PROTO", "tcp"),
                ("_PORT_11211_TCP_PORT", "11211"),
                ("_PORT_11211_TCP_ADDR", "10.0.0.11"),
                ("_PORT_7400_UDP_ADDR", "10.0.0.11"),
                ("_NAME", "/web/fawn"),
            ] {
                assert_eq!(kept(&[(&named(end), value)]), Vec::<String>::new(), "{service}{end}");
            }
            let linked = [(named("_PORT"), "tcp://172.17.0.5:11211"), (named("_ENV_PATH"), "/bin")];
            assert!(kept(&[(&linked[0].0, linked[0].1), (&linked[1].0, linked[1].1)]).is_empty());
        }
    }

    #[test]
    fn flags_and_mistakes_are_ours() {
        let mine = [
            ("FAWN_ENV_PATH", "/bin"),
            ("FAWN_NAME", "n1"),
            ("FAWN_PORT", "11211"),
            ("FAWN_SERVICE", "x"),
            ("fawn_memory", "1G"),
        ];
        assert_eq!(kept(&mine), mine.map(|(name, _)| name));
        assert!(kept(&[("FAWN_MEMORY", ""), ("FAWNS", "x"), ("OTHER", "x")]).is_empty());
        let sections = sections(&crate::command::Fawn::command());
        for section in &sections {
            for flag in &section.flags {
                for name in [section.variable(flag), flag.common.clone()] {
                    assert!(!is_of_a_service(&name, "value", &Environment::new()), "{name} is passed over");
                }
            }
        }
    }

    #[test]
    fn what_is_misspelt_is_told_with_what_may_be_meant() {
        let sections = sections(&crate::command::Fawn::command());
        let told = |name: &str| {
            let problems = unknown(&sections, &Environment::from([(name.to_owned(), "1".to_owned())]));
            problems.iter().map(ToString::to_string).collect::<String>()
        };
        assert!(told("FAWN_MEMROY").ends_with("did you mean FAWN_MEMORY?"), "{}", told("FAWN_MEMROY"));
        assert!(told("FAWN_SERVE_MAX_CONECTIONS").ends_with("did you mean FAWN_SERVE_MAX_CONNECTIONS?"));
        assert!(told("fawn_memory").ends_with("did you mean FAWN_MEMORY?"));
        assert_eq!(told("FAWN_QZX"), "FAWN_QZX: there is no flag for this variable");
        assert_eq!(told("FAWN_MEMORY") + &told("FAWN_CONFIG"), "");
    }
}
