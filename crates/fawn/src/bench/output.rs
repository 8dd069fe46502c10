//! What a person sees of a measurement: a bar, then the report.

use std::io::Write;

use comfy_table::CellAlignment;
use fawn_report::{BenchReport, TextTable, Watch};

use crate::progress::TerminalBar;
use crate::table::terminal;

/// The progress bar.
pub struct Bar(pub TerminalBar);

impl Watch for Bar {
    fn progress(&self, done: u64, total: u64, what: &str) {
        self.0.update_of(done, total, what.to_owned());
    }

    fn note(&self, line: &str) {
        self.0.note(&format!("fawn: {line}"));
    }
}

/// Prints a report with the table of its rows.
pub fn print(report: &BenchReport, table: &TextTable) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", terminal(table, CellAlignment::Right))?;
    if let Some(memory) = &report.memory {
        writeln!(out, "memory: {}", memory.line())?;
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}
