//! The one table of commands: what carries each out, how many words it has, where its keys are, and what `COMMAND` says of it.

mod connection;
mod keys;
mod server;

use super::client::ClientState;
use super::connection::Answer;
use super::error::CommandError;
use super::key_command::{KeyCommand, KeyContext};
use super::lines::LineKind;
use fawn_resp::Words;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// What is known about a command.
#[derive(Debug)]
pub struct CommandSpec {
    /// Its name in small letters; that of a subcommand is behind `|`.
    pub name: &'static str,
    /// Words of the command, names included; negative: so many at least.
    pub arity: i32,
    /// Redis's names of what it is like, between spaces. `dangerous` is a category besides those that follow from others.
    pub flags: &'static str,
    /// What it is about.
    pub group: Group,
    /// Where its keys are.
    pub keys: KeyPlaces,
    /// What carries it out.
    pub handler: Handler,
    /// What it is for, for people.
    pub summary: &'static str,
}

/// Where keys are among the words of a command.
#[derive(Clone, Copy, Debug)]
pub struct KeyPlaces {
    /// The first key; 0: there are none.
    pub first: usize,
    /// The last key; negative: counted from the end.
    pub last: isize,
    /// From one key to the next.
    pub step: usize,
}

/// What a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Strings.
    String,
    /// Keys of any type.
    Generic,
    /// Bits of strings.
    Bitmap,
    /// Hashes.
    Hash,
    /// The connection.
    Connection,
    /// Transactions.
    Transactions,
    /// Redis Cluster.
    Cluster,
    /// The server.
    Server,
    /// Functions and scripts.
    Scripting,
}

/// What carries a command out.
#[derive(Debug)]
pub enum Handler {
    /// An operation on one key.
    Key(KeyHandler),
    /// A line of operations on keys.
    Line(LineKind),
    /// The connection itself, or the server.
    Own(OwnHandler),
    /// Nothing: it is refused in these words.
    Refused(&'static str),
    /// One of its subcommands.
    Container,
}

/// Makes the operation of a command on one key.
pub type KeyHandler = for<'a> fn(&Words<'a>, &mut KeyContext<'_>) -> Result<KeyCommand<'a>, CommandError>;

/// Answers a command that has nothing to do with keys.
pub type OwnHandler = for<'a> fn(&Words<'a>, &mut ClientState, &mut Vec<u8>) -> Result<Answer<'a>, CommandError>;

/// A list of commands: name, words, flags, group, places of keys, handler, summary.
macro_rules! commands {
    ($($name:literal $arity:literal $flags:literal $group:ident ($first:literal $last:literal $step:literal) $handler:expr,
       $summary:literal;)*) => {
        &[$(CommandSpec {
            name: $name,
            arity: $arity,
            flags: $flags,
            group: Group::$group,
            keys: super::KeyPlaces { first: $first, last: $last, step: $step },
            handler: $handler,
            summary: $summary,
        }),*]
    };
}
use commands;

/// All commands, by name.
static SORTED: LazyLock<Vec<&'static CommandSpec>> = LazyLock::new(|| {
    let mut all: Vec<_> = lists().collect();
    all.sort_unstable_by(|one, other| order(one.name.as_bytes(), other.name.as_bytes()));
    all
});

fn lists() -> impl Iterator<Item = &'static CommandSpec> {
    keys::COMMANDS.iter().chain(connection::COMMANDS).chain(server::COMMANDS)
}

/// Shorter names first, because their lengths are compared faster.
fn order(one: &[u8], other: &[u8]) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Longest name, with its subcommand.
const MOST_NAME_BYTES: usize = 32;

impl CommandSpec {
    /// The command of this name, in any case.
    pub fn find(name: &[u8]) -> Option<&'static Self> {
        Self::find_parts(&[name])
    }

    /// The subcommand of this name, in any case.
    pub fn find_subcommand(&self, name: &[u8]) -> Option<&'static Self> {
        Self::find_parts(&[self.name.as_bytes(), b"|", name])
    }

    fn find_parts(parts: &[&[u8]]) -> Option<&'static Self> {
        let mut lower = [0; MOST_NAME_BYTES];
        let mut len = 0;
        for part in parts {
            let place = lower.get_mut(len..len + part.len())?;
            place.copy_from_slice(part);
            place.make_ascii_lowercase();
            len += part.len();
        }
        let found = SORTED.binary_search_by(|spec| order(spec.name.as_bytes(), &lower[..len])).ok()?;
        Some(SORTED[found])
    }

    /// The command of these words; its subcommand, if it has some and one is named.
    pub fn of_words(words: &Words<'_>) -> Result<&'static Self, CommandError> {
        let unknown = || CommandError::unknown_command(words);
        let spec = Self::find(words.name()).filter(|spec| !spec.is_subcommand()).ok_or_else(unknown)?;
        match words.get(1) {
            Some(sub) if spec.has_subcommands() => {
                spec.find_subcommand(sub).ok_or_else(|| CommandError::unknown_subcommand(spec, sub))
            }
            _ => Ok(spec),
        }
    }

    /// All commands, without their subcommands.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        lists().filter(|spec| !spec.is_subcommand())
    }

    /// The subcommands of a command.
    pub fn subcommands(&self) -> impl Iterator<Item = &'static Self> + use<'_> {
        lists().filter(|spec| spec.name.strip_prefix(self.name).is_some_and(|rest| rest.starts_with('|')))
    }

    /// Whether another command contains it.
    pub fn is_subcommand(&self) -> bool {
        self.name.contains('|')
    }

    /// Whether it has subcommands.
    pub fn has_subcommands(&self) -> bool {
        matches!(self.handler, Handler::Container) || self.name == "command"
    }

    /// Whether its name alone names it: it is one of those on keys.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.keys.first == 1 && matches!(self.handler, Handler::Key(_) | Handler::Line(_))
    }

    /// Whether a command may have so many words.
    #[inline]
    pub fn takes(&self, words: usize) -> bool {
        let fewest = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { words >= fewest } else { words == fewest }
    }

    /// Whether it is like this.
    pub fn is(&self, flag: &str) -> bool {
        self.flags.split(' ').any(|one| one == flag)
    }

    /// The places of the keys of a command with so many words.
    pub fn key_places(&self, words: usize) -> impl Iterator<Item = usize> + use<> {
        let KeyPlaces { first, last, step } = self.keys;
        let last = if last < 0 { words.saturating_add_signed(last) } else { last.unsigned_abs() };
        (first..=last).step_by(step.max(1)).filter(move |_| first > 0)
    }
}

impl Group {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Generic => "generic",
            Self::Bitmap => "bitmap",
            Self::Hash => "hash",
            Self::Connection => "connection",
            Self::Transactions => "transactions",
            Self::Cluster => "cluster",
            Self::Server => "server",
            Self::Scripting => "scripting",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_found_by_its_name() {
        for spec in lists() {
            assert!(
                std::ptr::eq(CommandSpec::find(spec.name.to_uppercase().as_bytes()).unwrap(), spec),
                "{}",
                spec.name
            );
            assert!(spec.name.len() <= MOST_NAME_BYTES);
            if let Some((container, _)) = spec.name.split_once('|') {
                assert!(CommandSpec::find(container.as_bytes()).unwrap().has_subcommands(), "{}", spec.name);
            }
            let has_key = matches!(spec.handler, Handler::Key(_) | Handler::Line(_));
            assert!(!has_key || spec.keys.first > 0, "{}", spec.name);
        }
        for name in [&b""[..], b"nope", &[b'x'; 100]] {
            assert!(CommandSpec::find(name).is_none());
        }
    }

    #[test]
    fn keys_are_where_the_table_says() {
        let places =
            |name: &str, words| CommandSpec::find(name.as_bytes()).unwrap().key_places(words).collect::<Vec<_>>();
        assert_eq!(places("get", 2), [1]);
        assert_eq!(places("mset", 7), [1, 3, 5]);
        assert_eq!(places("mget", 3), [1, 2]);
        assert_eq!(places("object|encoding", 3), [2]);
        assert_eq!(places("ping", 2), [0; 0]);
    }
}
