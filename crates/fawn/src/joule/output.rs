//! What the suite's commands print, and the pages that they write.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::Args;
use comfy_table::CellAlignment;
use fawn_joule::page::{PageOrigin, processor};
use fawn_report::{Date, TextTable};

use crate::output_file::{check_output, create};
use crate::table::terminal;

/// Where figures go.
#[derive(Clone, Debug, Args)]
pub struct SuiteOutputArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write an HTML page with the curve and all figures
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

impl SuiteOutputArguments {
    /// Refuses a page that cannot be written, before anything is measured.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check<'a>(&self, inputs: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<()> {
        match &self.page {
            Some(file) => check_output(file, "--page", inputs),
            None => Ok(()),
        }
    }

    /// Writes the page, if there is to be one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_page(&self, make: impl FnOnce(&PageOrigin) -> String) -> anyhow::Result<()> {
        let Some(file) = &self.page else { return Ok(()) };
        let written = create(file, "--page", [])?.write_all(make(&origin()).as_bytes());
        written.with_context(|| format!("cannot write {}", file.display()))
    }
}

/// A directory below this one for what is measured, which goes when it is dropped.
///
/// # Errors
/// It cannot be made.
pub fn working_directory(below: &Path) -> anyhow::Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix("fawn-joule-").tempdir_in(below);
    made.map_err(|error| {
        // What the system says, without the name that was tried.
        let text = error.to_string();
        let why = text.split(" at path ").next().unwrap_or_default();
        anyhow::anyhow!("cannot make files in {} ({why}): name another --dir", below.display())
    })
}

/// Where the figures of this process are from.
pub fn origin() -> PageOrigin {
    let cores = fawn_machine::cores().0;
    let processor = processor(Path::new("/proc")).unwrap_or_else(|| "unknown processor".to_owned());
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let days = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs() / 86_400);
    PageOrigin {
        machine: format!("{processor}, {}", fawn_report::amount::counted(cores.get() as u64, "core", "cores")),
        program: format!("fawn {} (commit {})", env!("CARGO_PKG_VERSION"), env!("FAWN_COMMIT")),
        command: format!("fawn {}", typed.join(" ")),
        date: days.and_then(Date::of_unix_days).map_or_else(|| "unknown day".to_owned(), |date| date.to_string()),
    }
}

/// Prints tables, each under a line that says what its figures are, and then notes.
pub fn print(tables: &[(&str, TextTable)], notes: &[String]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for (heading, table) in tables {
        writeln!(out, "{heading}\n{}\n", terminal(table, CellAlignment::Left))?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}
