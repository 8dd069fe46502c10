//! What a manager keeps, as a journal: changes under checksums, one after the other, and all of it in memory.
//!
//! # Layout
//!
//! * [`format`](mod@format): the bytes, and what is read back from them. It does no I/O.
//! * [`file`](mod@file): the file: how changes are appended and synced, and when it is written anew.
//! * [`disk`]: the calls of the system, and which of its errors pass.
//! * [`redb`]: the file of older releases, which is read once.

pub mod disk;
pub mod file;
pub mod format;
pub mod redb;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A change of what is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A fact in place of the one of that name.
    Fact {
        /// Its name.
        name: String,
        /// What it is.
        bytes: Vec<u8>,
    },
    /// An entry in place of the one of that index.
    Entry {
        /// Its place in the log.
        index: u64,
        /// What it is.
        bytes: Vec<u8>,
    },
    /// The entries from this index on are dropped.
    CutFrom(u64),
    /// The entries up to this index are dropped.
    CutTo(u64),
}

/// All that is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalImage {
    /// By name.
    pub facts: BTreeMap<String, Vec<u8>>,
    /// By index.
    pub entries: BTreeMap<u64, Vec<u8>>,
}

impl JournalImage {
    /// Carries changes out, in this order.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Fact { name, bytes } => {
                    self.facts.insert(name.clone(), bytes.clone());
                }
                Change::Entry { index, bytes } => {
                    self.entries.insert(*index, bytes.clone());
                }
                Change::CutFrom(index) => {
                    self.entries.split_off(index);
                }
                Change::CutTo(index) => self.entries.retain(|at, _| at > index),
            }
        }
    }

    /// The changes that lead from nothing to it.
    pub fn changes(&self) -> Vec<Change> {
        let facts = self.facts.iter().map(|(name, bytes)| Change::Fact { name: name.clone(), bytes: bytes.clone() });
        let entries = self.entries.iter().map(|(index, bytes)| Change::Entry { index: *index, bytes: bytes.clone() });
        facts.chain(entries).collect()
    }
}
