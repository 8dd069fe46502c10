//! What is known about commands.

use super::answer::OwnResult;
use super::client_state::ClientState;
use super::error::CommandError;
use super::key_command::{KeyContext, KeyResult};
use fawn_resp::Words;
use fawn_resp::reply::RespVersion;
use std::cmp::Ordering;

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
    pub group: CommandGroup,
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
pub enum CommandGroup {
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
    /// The table of commands.
    Table(TableHandler),
    /// Nothing: it is refused in these words.
    Refused(&'static str),
    /// One of its subcommands.
    Container,
}

/// Makes the operation of a command on one key.
pub type KeyHandler = for<'a> fn(&Words<'a>, &mut KeyContext<'_>) -> KeyResult<'a>;

/// Answers a command that has nothing to do with keys.
pub type OwnHandler = for<'a> fn(&Words<'a>, &mut ClientState, &mut Vec<u8>) -> OwnResult<'a>;

/// Answers a command about commands.
pub type TableHandler =
    fn(&Words<'_>, &CommandTable, (&CommandSpec, RespVersion), &mut Vec<u8>) -> Result<(), CommandError>;

/// What a command does with each of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Shows its string.
    Get,
    /// Sets it.
    Set,
    /// Deletes it.
    Delete,
    /// Counts whether it is there.
    Count,
}

/// All commands.
#[derive(Debug)]
pub struct CommandTable {
    /// As the table lists them.
    listed: Vec<&'static CommandSpec>,
    /// By name.
    sorted: Vec<&'static CommandSpec>,
}

/// Shorter names first, because their lengths are compared faster.
fn order(one: &[u8], other: &[u8]) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Longest name, with its subcommand.
pub const MOST_NAME_BYTES: usize = 32;

impl CommandTable {
    /// The table of these commands.
    pub fn new(listed: Vec<&'static CommandSpec>) -> Self {
        let mut sorted = listed.clone();
        sorted.sort_unstable_by(|one, other| order(one.name.as_bytes(), other.name.as_bytes()));
        Self { listed, sorted }
    }

    /// The command of this name, in any case.
    pub fn find(&self, name: &[u8]) -> Option<&'static CommandSpec> {
        self.find_parts(&[name])
    }

    /// The subcommand of this name, in any case.
    pub fn find_subcommand(&self, spec: &CommandSpec, name: &[u8]) -> Option<&'static CommandSpec> {
        self.find_parts(&[spec.name.as_bytes(), b"|", name])
    }

    fn find_parts(&self, parts: &[&[u8]]) -> Option<&'static CommandSpec> {
        let mut lower = [0; MOST_NAME_BYTES];
        let mut len = 0;
        for part in parts {
            let place = lower.get_mut(len..len + part.len())?;
            place.copy_from_slice(part);
            place.make_ascii_lowercase();
            len += part.len();
        }
        let found = self.sorted.binary_search_by(|spec| order(spec.name.as_bytes(), &lower[..len])).ok()?;
        Some(self.sorted[found])
    }

    /// The command of these words; its subcommand, if it has some and one is named.
    pub fn of_words(&self, words: &Words<'_>) -> Result<&'static CommandSpec, CommandError> {
        let unknown = || CommandError::unknown_command(words);
        let spec = self.find(words.name()).filter(|spec| !spec.is_subcommand()).ok_or_else(unknown)?;
        match words.get(1) {
            Some(sub) if spec.has_subcommands() => {
                self.find_subcommand(spec, sub).ok_or_else(|| CommandError::unknown_subcommand(spec.name, sub))
            }
            _ => Ok(spec),
        }
    }

    /// All commands and subcommands.
    pub fn everything(&self) -> impl Iterator<Item = &'static CommandSpec> {
        self.listed.iter().copied()
    }

    /// All commands, without their subcommands.
    pub fn all(&self) -> impl Iterator<Item = &'static CommandSpec> {
        self.everything().filter(|spec| !spec.is_subcommand())
    }

    /// The subcommands of a command.
    pub fn subcommands(&self, of: &CommandSpec) -> impl Iterator<Item = &'static CommandSpec> {
        let is_one =
            move |spec: &&CommandSpec| spec.name.strip_prefix(of.name).is_some_and(|rest| rest.starts_with('|'));
        self.everything().filter(is_one)
    }
}

impl CommandSpec {
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

impl CommandGroup {
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
