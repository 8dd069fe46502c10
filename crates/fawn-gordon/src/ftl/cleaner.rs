//! How far the cleaning of a stripe set is.

use super::translation::Victim;

/// The cleaning of one stripe set.
#[derive(Debug, Default)]
pub struct Cleaner {
    /// What is cleaned.
    pub victim: Victim,
    /// Whether anything is.
    pub is_active: bool,
    /// Pages of the victim that were looked at.
    pub pages_done: usize,
    /// Its records that were looked at.
    pub records_done: usize,
    /// Copies that are under way.
    pub under_way: u32,
    /// Copies that were read and have no place yet.
    pub held: Vec<u32>,
    /// All is copied; the erase waits for programs.
    pub waits_to_erase: bool,
}

impl Cleaner {
    /// Begins with a victim.
    pub fn begin(&mut self, victim: Victim) {
        *self = Self { victim, is_active: true, ..Self::default() };
    }

    /// Whether everything was looked at.
    pub fn has_looked_at_all(&self) -> bool {
        self.pages_done == self.victim.pages.len() && self.records_done == self.victim.records.len()
    }
}
