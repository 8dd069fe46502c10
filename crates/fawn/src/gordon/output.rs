//! What the simulating subcommands print and write, and what a person sees meanwhile.

use std::io::{self, Write};

use comfy_table::CellAlignment;
use fawn_report::TextTable;

use crate::bench::output::Bar;
use crate::interrupt::tell_how_to_go_on;
use crate::progress::TerminalBar;
use crate::table::terminal;

/// A progress bar, which Ctrl-C takes away with the whole simulation.
///
/// # Errors
/// The system gives no signals.
pub fn bar() -> anyhow::Result<Bar> {
    let bar = Bar(TerminalBar::parts());
    tell_how_to_go_on(&bar.0, "nothing was kept, run the same command again", || {})?;
    Ok(bar)
}

/// Prints lines, tables, and notes, with an empty line between the parts that there are.
pub fn print(lines: &[String], tables: &[TextTable], notes: &[String]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let notes = notes.iter().map(|note| format!("note: {note}")).collect::<Vec<_>>().join("\n");
    let tables = tables.iter().map(|table| terminal(table, CellAlignment::Left));
    let parts: Vec<String> =
        std::iter::once(lines.join("\n")).chain(tables).chain([notes]).filter(|part| !part.is_empty()).collect();
    writeln!(out, "{}", parts.join("\n\n"))
}
