//! The files of a report: the page, a CSV for each experiment, and all of it as JSON.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::list::{Entry, LIST};
use super::machine::{Machine, Program};
use super::page::{Told, page};
use super::run::now;
use super::{Kept, Scale};
use crate::error::Error;

/// What the page is called.
pub const PAGE: &str = "index.html";
/// What all of it as JSON is called.
pub const ALL: &str = "paper.json";

/// An experiment, as JSON has it.
#[derive(Serialize)]
struct Experiment<'a> {
    name: &'a str,
    paper: super::Paper,
    place: &'a str,
    what: &'a str,
    #[serde(flatten)]
    kept: &'a Kept,
}

/// All of it, as JSON has it: the machine, the program, the scale, and each experiment with its rows.
pub fn json(machine: &Machine, program: &Program, scale: Scale, found: &[(&Entry, &Kept)]) -> Value {
    let experiments = found.iter().map(|(entry, kept)| Experiment {
        name: entry.name,
        paper: entry.paper,
        place: entry.place,
        what: entry.what,
        kept,
    });
    json!({
        "date": now(),
        "machine": machine,
        "program": program,
        "scale": scale,
        "experiments": experiments.collect::<Vec<_>>(),
    })
}

/// Writes all files into `out`, which is made where it is not there. CSVs of other experiments that are there are removed: they
/// would be taken for a part of this report.
///
/// # Errors
/// [`Error::Io`].
pub fn write(
    out: &Path,
    machine: &Machine,
    program: &Program,
    scale: Scale,
    found: &[(&Entry, &Kept)],
) -> Result<(), Error> {
    fs::create_dir_all(out).map_err(Error::io(out))?;
    let put = |name: &str, text: String| {
        let path = out.join(name);
        fs::write(&path, text).map_err(Error::io(&path))
    };
    put(PAGE, page(&Told { machine, program, date: &now(), scale, found }))?;
    let all = serde_json::to_string_pretty(&json(machine, program, scale, found)).expect("findings are plain data");
    put(ALL, all + "\n")?;
    for entry in LIST {
        let name = format!("{}.csv", entry.name);
        match found.iter().find(|(told, _)| told.name == entry.name) {
            Some((_, kept)) => put(&name, kept.finding.csv())?,
            None => remove(&out.join(name))?,
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}
