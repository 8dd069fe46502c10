//! What a person at a terminal sees while records move: a bar with rate and time left. Elsewhere nothing is shown.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::tell::tell;

/// A progress bar on standard error, or nothing.
#[derive(Clone, Debug)]
pub struct TerminalBar {
    bar: ProgressBar,
}

impl TerminalBar {
    /// Counts bytes of a file; `total` bytes in all when known.
    pub fn bytes(total: Option<u64>) -> Self {
        let counts = "{binary_bytes_per_sec}, {msg}";
        let known = format!("{{bar:30}} {{percent}} % of {{binary_total_bytes}}, {counts}, {{eta}} left");
        let progress = Self::new(total, &known, &format!("{{spinner}} {{binary_bytes}}, {counts}"));
        progress.bar.set_message("0 records");
        progress
    }

    /// Counts records; `total` records in all when known.
    pub fn records(total: Option<u64>) -> Self {
        let counts = "{human_pos} records, {per_sec}";
        let known = format!("{{bar:30}} {{percent}} %, {counts}, {{eta}} left");
        Self::new(total, &known, &format!("{{spinner}} {counts}"))
    }

    /// Counts ranges of a cluster.
    pub fn ranges(total: u64) -> Self {
        Self::new(Some(total), "{bar:30} {percent} %, {msg}, {eta} left", "{spinner} {msg}")
    }

    /// Counts parts of a measurement, however many there are.
    pub fn parts() -> Self {
        Self::new(Some(1), "{bar:30} {percent} %, {msg}, {eta} left", "{spinner} {msg}")
    }

    /// How far it is, of how much.
    pub fn update_of(&self, position: u64, total: u64, message: String) {
        self.bar.set_length(total);
        self.update(position, message);
    }

    fn new(total: Option<u64>, known: &str, unknown: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(5));
        let template = if total.is_some() { known } else { unknown };
        bar.set_style(ProgressStyle::with_template(template).expect("the templates above are valid"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Leaves out of the rate what was done before.
    pub fn start_at(&self, position: u64) {
        self.bar.set_position(position);
        self.bar.reset_eta();
    }

    /// How far it is, and the text that the bar shows beside.
    pub fn update(&self, position: u64, message: String) {
        self.bar.set_position(position);
        self.bar.set_message(message);
    }

    /// Prints a line on standard error, above the bar.
    pub fn note(&self, line: &str) {
        self.bar.suspend(|| tell(line));
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl fawn_transfer::Progress for TerminalBar {
    fn start_at(&self, position: u64) {
        Self::start_at(self, position);
    }

    fn update(&self, position: u64, message: String) {
        Self::update(self, position, message);
    }

    fn note(&self, line: &str) {
        Self::note(self, line);
    }

    fn finish(&self) {
        Self::finish(self);
    }
}
