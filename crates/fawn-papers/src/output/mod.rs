//! The files of a report: the page, a CSV for each experiment, and all of it as JSON.

pub mod page;

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Error;
use crate::list::{ExperimentEntry, LIST};
use crate::output::page::{PageContent, page};
use crate::result_cache::StoredFinding;
use crate::run::Scale;
use crate::runner::now;
use crate::testbed::machine::{MachineInfo, Program};

/// What the page is called.
pub const PAGE: &str = "index.html";
/// What all of it as JSON is called.
pub const ALL: &str = "paper.json";

/// An experiment, as JSON has it.
#[derive(Serialize)]
struct ExperimentJson<'a> {
    name: &'a str,
    paper: crate::list::Paper,
    place: &'a str,
    what: &'a str,
    #[serde(flatten)]
    kept: &'a StoredFinding,
}

/// All of it, as JSON has it: the machine, the program, the scale, and each experiment with its rows.
pub fn json(
    machine: &MachineInfo,
    program: &Program,
    scale: Scale,
    found: &[(&ExperimentEntry, &StoredFinding)],
) -> Value {
    let experiments = found.iter().map(|(entry, kept)| ExperimentJson {
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

/// Writes all files into `out`, which is made where it is not there. CSVs of the report that was there before are removed where
/// they would be taken for a part of this one: their names.
///
/// # Errors
/// [`Error`].
pub fn write(
    out: &Path,
    machine: &MachineInfo,
    program: &Program,
    scale: Scale,
    found: &[(&ExperimentEntry, &StoredFinding)],
) -> Result<Vec<String>, Error> {
    let before = told_before(out);
    fs::create_dir_all(out).map_err(Error::io(out))?;
    let put = |name: &str, text: String| {
        let path = out.join(name);
        fs::write(&path, text).map_err(Error::io(&path))
    };
    put(PAGE, page(&PageContent { machine, program, date: &now(), scale, found }))?;
    let all = serde_json::to_string_pretty(&json(machine, program, scale, found)).expect("findings are plain data");
    put(ALL, all + "\n")?;
    let csv = |name: &str| format!("{name}.csv");
    for (entry, kept) in found {
        put(&csv(entry.name), kept.finding.csv())?;
    }
    let is_told = |name: &&str| found.iter().any(|(entry, _)| entry.name == *name);
    let mut removed = Vec::new();
    for name in before.iter().copied().filter(|name| !is_told(name)).map(csv) {
        let path = out.join(&name);
        match fs::remove_file(&path) {
            Ok(()) => removed.push(name),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(&path)(error)),
        }
    }
    Ok(removed)
}

/// The experiments of the report that is in a directory.
fn told_before(out: &Path) -> Vec<&'static str> {
    let text = fs::read_to_string(out.join(ALL)).unwrap_or_default();
    let all: Value = serde_json::from_str(&text).unwrap_or_default();
    let experiments = all["experiments"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names = experiments.iter().filter_map(|experiment| experiment["name"].as_str());
    names.filter_map(|name| LIST.iter().find(|entry| entry.name == name)).map(|entry| entry.name).collect()
}
