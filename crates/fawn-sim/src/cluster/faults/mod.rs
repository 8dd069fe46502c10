//! What goes wrong in a run, and what an operator does.

pub mod action;
mod action_text;
mod clock_jump;
pub mod draw;
pub mod effect;
mod misled;
pub mod scenarios;
mod severed;
mod shape;

use fawn_kv::ids::Rules;
use fawn_kv::manager::{Command, Settings};

use crate::cluster::faults::action::{FaultAction, KINDS};
use crate::cluster::summary::Summary;

pub use action_text::ACTIONS;

/// The actions of a run, and what has come of them.
pub struct Faults {
    actions: Vec<(u64, FaultAction)>,
    /// By kind.
    counts: [u64; KINDS.len()],
    /// Nothing goes wrong any more.
    is_healing: bool,
    /// What the operator has set last.
    settings: Settings,
}

impl Faults {
    /// The actions of a script, with their times, in a cluster with these settings.
    pub fn new(actions: Vec<(u64, FaultAction)>, settings: Settings) -> Self {
        Self { actions, counts: [0; KINDS.len()], is_healing: false, settings }
    }

    /// When each action happens.
    pub fn times_us(&self) -> impl Iterator<Item = u64> {
        self.actions.iter().map(|(at_us, _)| *at_us)
    }

    /// An action by its number.
    pub fn action(&self, number: usize) -> FaultAction {
        self.actions[number].1.clone()
    }

    /// Counts a fault of a kind.
    pub fn count(&mut self, kind: usize) {
        self.counts[kind] += 1;
    }

    /// Whether nothing goes wrong any more.
    pub fn is_healing(&self) -> bool {
        self.is_healing
    }

    /// Whether nothing goes wrong from here on.
    pub fn set_healing(&mut self, is_healing: bool) {
        self.is_healing = is_healing;
    }

    /// What the operator has set last.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The operator sets these; writes need no more members than chains are to have.
    pub fn set(&mut self, replicas: u32, rules: Rules) -> Command {
        let min_write_replicas = rules.min_write_replicas.min(u8::try_from(replicas).unwrap_or(u8::MAX));
        self.settings = Settings { replicas, rules: Rules { min_write_replicas, ..rules }, ..self.settings };
        Command::Set(self.settings)
    }

    /// What they add to what a run came to.
    pub fn summarize(&self, summary: &mut Summary) {
        summary.faults = self.counts;
    }
}
