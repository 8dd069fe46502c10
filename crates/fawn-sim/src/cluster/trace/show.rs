//! Which messages a run prints.

use std::collections::BTreeSet;

use fawn_kv::wire::Message;

use crate::cluster::trace::formatter;

/// What is told of a run: one line a message, when it comes, and one an act; nothing where no kinds are named.
#[derive(Clone, Debug, Default)]
pub struct Show {
    /// Kinds of messages.
    pub names: BTreeSet<&'static str>,
    /// Ranges, as `r7`; none: all.
    pub ranges: BTreeSet<String>,
    /// From this time on.
    pub from_us: u64,
}

impl Show {
    /// Whether a line belongs to it. A line that names no range belongs to every one.
    pub fn shows(&self, at_us: u64, message: &Message, line: &str) -> bool {
        let is_range =
            |word: &&str| word.len() > 1 && word.starts_with('r') && word[1..].bytes().all(|b| b.is_ascii_digit());
        let mut ranges = line.split(' ').filter(is_range).peekable();
        let any = self.ranges.is_empty() || ranges.peek().is_none();
        let is_one = self.names.iter().any(|kind| formatter::is_kind(kind, message));
        at_us >= self.from_us && is_one && (any || ranges.any(|range| self.ranges.contains(range)))
    }
}
