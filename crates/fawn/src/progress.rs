//! What a person at a terminal sees while records move: a bar with rate and time left. Elsewhere nothing is shown.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;

use fawn_report::amount::counted;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

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
        let known = format!("{{bar:30}} {{percent}} % of {{binary_total_bytes}}, {counts}{{left}}");
        let progress = Self::new(total, &known, &format!("{{spinner}} {{binary_bytes}}, {counts}"));
        progress.bar.set_message("0 records");
        progress
    }

    /// Counts bytes of texts that are searched; `total` bytes in all when known.
    pub fn searched(total: Option<u64>) -> Self {
        let known = "{bar:30} {percent} % of {binary_total_bytes}, {binary_bytes_per_sec}{left}";
        Self::new(total, known, "{spinner} {binary_bytes}, {binary_bytes_per_sec}")
    }

    /// Counts records; `total` records in all when known.
    pub fn records(total: Option<u64>) -> Self {
        Self::counting("records", total)
    }

    /// Counts samples; `total` samples in all when known.
    pub fn samples(total: Option<u64>) -> Self {
        Self::counting("samples", total)
    }

    /// Counts what the template's key is named after.
    fn counting(key: &str, total: Option<u64>) -> Self {
        let counts = format!("{{{key}}}, {{per_sec}}");
        Self::new(total, &format!("{{bar:30}} {{percent}} %, {counts}{{left}}"), &format!("{{spinner}} {counts}"))
    }

    /// Counts ranges of a cluster.
    pub fn ranges(total: u64) -> Self {
        Self::new(Some(total), "{bar:30} {percent} %, {msg}{left}", "{spinner} {msg}")
    }

    /// Counts parts of a measurement, however many there are.
    pub fn parts() -> Self {
        let progress = Self::new(Some(1), "{bar:30} {percent} %, {msg}{left}", "{spinner} {msg}");
        progress.bar.set_message("starting");
        progress
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
        let style = ProgressStyle::with_template(template).expect("the templates above are valid");
        let style = style
            .with_key("left", |state: &ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&left(state.eta()));
            })
            .with_key("records", |state: &ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&counted(state.pos(), "record", "records"));
            })
            .with_key("samples", |state: &ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&counted(state.pos(), "sample", "samples"));
            });
        bar.set_style(style);
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

/// The time left as the end of a line; nothing where none is left, or where it is not known yet.
fn left(time: Duration) -> String {
    if time.as_secs() == 0 { String::new() } else { format!(", {:#} left", HumanDuration(time)) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_told_where_there_is_some() {
        let told = [0, 999, 1_000, 50_000, 7_200_000].map(|ms| left(Duration::from_millis(ms)));
        assert_eq!(told, ["", "", ", 1s left", ", 50s left", ", 2h left"]);
    }
}
