//! A table of a paper: what it prints, and what its inputs give.

use serde::Serialize;

use super::printed::{self, Reading};

/// What is said of a cell that agrees only if its inputs had digits that are not printed.
const ROUNDED: &str = "the inputs as printed are rounded; before that they may give what is printed";

/// A table of a paper, recomputed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaperTable {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it shows, and where the paper has it.
    pub title: &'static str,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// A value that a paper prints, or that its figure shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// What it is, with its unit.
    pub what: String,
    /// As the paper prints it; `None` where it only draws it.
    pub printed: Option<&'static str>,
    /// From the paper's inputs.
    pub recomputed: f64,
    /// Whether these are the same; `None` where nothing is printed.
    pub agrees: Option<bool>,
    /// Why not, or with which reading.
    pub note: Option<&'static str>,
}

impl Cell {
    pub(super) fn of(what: impl Into<String>, printed: &'static str, recomputed: f64) -> Self {
        let agrees = Some(printed::agrees(printed, recomputed));
        Self { what: what.into(), printed: Some(printed), recomputed, agrees, note: None }
    }

    /// A cell whose inputs are rounded themselves.
    pub(super) fn within(what: impl Into<String>, printed: &'static str, reading: Reading) -> Self {
        let cell = Self::of(what, printed, reading.value());
        if cell.agrees == Some(false) && reading.may_be(printed) {
            return Self { agrees: Some(true), note: Some(ROUNDED), ..cell };
        }
        cell
    }

    pub(super) fn drawn(what: impl Into<String>, recomputed: f64) -> Self {
        Self { what: what.into(), printed: None, recomputed, agrees: None, note: None }
    }

    pub(super) fn note(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }
}

impl PaperTable {
    /// Cells in which what is printed does not follow.
    pub fn discrepancies(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.agrees == Some(false))
    }
}
