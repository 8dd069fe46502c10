//! Tables on a terminal, and JSON for programs.

use std::io::{self, Write};

use comfy_table::{CellAlignment, presets};
use fawn_report::TextTable;
use serde::Serialize;

/// A table without lines, whose numbers are at the right; `first` is where the text of the first column is.
pub fn terminal(table: &TextTable, first: CellAlignment) -> String {
    let mut out = comfy_table::Table::new();
    out.load_preset(presets::NOTHING).set_header(&table.head).add_rows(&table.rows);
    for (at, column) in out.column_iter_mut().enumerate() {
        let is_text = table.text.contains(&at);
        column.set_cell_alignment(match at {
            0 => first,
            _ if is_text => CellAlignment::Left,
            _ => CellAlignment::Right,
        });
    }
    out.trim_fmt()
}

/// Prints a value as JSON, in a line.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    writeln!(out)
}
