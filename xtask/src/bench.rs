//! All of the papers' experiments at a small scale: whether the page, the tables and the JSON are written, can be read, and have
//! every row that there is to be. What the figures are is not judged.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::command::BenchArguments;
use crate::peers;
use crate::process::{cargo, output, root, shown};
use crate::tell::{say, tell};

/// Of the target directory, where everything is written.
const PLACE: &str = "bench-small";

/// An experiment, as `fawn bench paper list --json` has it.
#[derive(Debug, Deserialize)]
struct ExperimentListing {
    name: String,
    scales: BTreeMap<String, ExpectedOutput>,
}

/// What it is to have.
#[derive(Debug, Deserialize)]
struct ExpectedOutput {
    rows: usize,
}

/// Runs them all, and looks at what was written.
///
/// # Errors
/// One of them fails, or something that was written is not as it should be.
pub fn run_task(arguments: &BenchArguments) -> anyhow::Result<()> {
    let scale = arguments.scale.as_str();
    let target = PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let target = root().join(target);
    let fawn = if let Some(fawn) = &arguments.fawn {
        fawn.canonicalize().with_context(|| format!("there is no {}", fawn.display()))?
    } else {
        let (profile, place): (&[&str], _) =
            if arguments.release { (&["--release"], "release") } else { (&[], "debug") };
        cargo(&[&["build", "--quiet", "--package", "fawn"], profile].concat(), &[])?;
        target.join(place).join("fawn")
    };
    let peers = peers::build(&target, arguments.release)?;
    let dir = target.join(PLACE);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    let out = dir.join("report");
    let paper = || {
        let mut paper = Command::new(&fawn);
        paper.args(["bench", "paper"]);
        paper
    };
    let mut all = paper();
    all.args(["all", "--scale", scale, "--dir"]).arg(&dir);
    all.args(peers.iter().flat_map(|program| [OsStr::new("--peer-program"), program.as_os_str()]));
    shown(&mut all)?;
    let list = output(paper().args(["list", "--json"]))?;
    let list: Vec<ExperimentListing> =
        serde_json::from_str(&list).context("`fawn bench paper list --json` prints no list")?;
    let complaints = check(&list, scale, &out, peers.is_some())?;
    for complaint in &complaints {
        tell(format_args!("bench-small: {complaint}"));
    }
    if !complaints.is_empty() {
        bail!("{} problems in {}", complaints.len(), out.display());
    }
    Ok(say(format_args!("{} experiments with all rows: {}", list.len(), out.join("index.html").display()))?)
}

/// What is not as it should be of what was written; with peers, nothing is skipped.
fn check(list: &[ExperimentListing], scale: &str, out: &Path, has_peers: bool) -> anyhow::Result<Vec<String>> {
    let read = |name: &str| {
        let path = out.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("{} was not written", path.display()))
    };
    let mut complaints = check_page(&read("index.html")?, list);
    let all: Value = serde_json::from_str(&read("paper.json")?).context("paper.json cannot be parsed")?;
    for field in ["machine", "program", "date", "scale"] {
        if all[field].is_null() {
            complaints.push(format!("paper.json does not say {field}"));
        }
    }
    let found = all["experiments"].as_array().map_or(&[][..], Vec::as_slice);
    for entry in list {
        let Some(of) = found.iter().find(|it| it["name"] == entry.name.as_str()) else {
            complaints.push(format!("{} is not in paper.json", entry.name));
            continue;
        };
        let finding = &of["finding"];
        let rows = finding["rows"].as_array().map_or(0, Vec::len);
        let least = entry.scales.get(scale).with_context(|| format!("{} has no scale {scale}", entry.name))?.rows;
        if let Some(why) = finding["state"]["skipped"].as_str() {
            let skipped = format!("{} was skipped: {why}", entry.name);
            if has_peers {
                complaints.push(skipped);
            } else {
                tell(skipped);
            }
        } else if rows < least {
            complaints.push(format!("{} has {rows} rows, and needs at least {least}", entry.name));
        }
        complaints.extend(check_table(&entry.name, &read(&format!("{}.csv", entry.name))?, rows));
    }
    Ok(complaints)
}

fn check_page(page: &str, list: &[ExperimentListing]) -> Vec<String> {
    let mut complaints = Vec::new();
    if !page.starts_with("<!DOCTYPE html>") || !page.trim_end().ends_with("</html>") {
        complaints.push("the page is incomplete".to_owned());
    }
    for tag in ["section", "table", "svg", "ul", "tr", "td", "details"] {
        let begun = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        let ended = page.matches(&format!("</{tag}>")).count();
        if begun != ended {
            complaints.push(format!("the page begins {begun} times <{tag}> and ends {ended}"));
        }
    }
    for what in ["<script", "<link", "<iframe", "<image", "src=", "@import", "url("] {
        if page.contains(what) {
            complaints.push(format!("the page loads something from elsewhere: {what}"));
        }
    }
    let missing = list.iter().filter(|entry| !page.contains(&format!("<section id=\"{}\">", entry.name)));
    complaints.extend(missing.map(|entry| format!("{} is not on the page", entry.name)));
    complaints
}

/// What is wrong with a table that is to have so many rows that are not the paper's.
fn check_table(name: &str, text: &str, rows: usize) -> Vec<String> {
    let Some(records) = records(text) else { return vec![format!("{name}.csv cannot be parsed")] };
    let Some(head) = records.first() else { return vec![format!("{name}.csv is empty")] };
    let mut complaints = Vec::new();
    if head[0] != "who" {
        complaints.push(format!("{name}.csv has no header"));
    }
    if let Some(odd) = records.iter().find(|record| record.len() != head.len()) {
        complaints.push(format!("{name}.csv has a line of {} cells, but the header has {}", odd.len(), head.len()));
    }
    let own = records[1..].iter().filter(|record| record[0] != "paper").count();
    if own != rows {
        complaints.push(format!("{name}.csv has {own} rows, and paper.json {rows}"));
    }
    complaints
}

/// The records of comma-separated values, by RFC 4180; `None`: a quote is not closed.
fn records(text: &str) -> Option<Vec<Vec<String>>> {
    let (mut records, mut record, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            c => cell.push(c),
        }
    }
    (!is_quoted && cell.is_empty() && record.is_empty()).then_some(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<ExperimentListing> {
        serde_json::from_str(r#"[{"name": "a", "scales": {"tiny": {"rows": 2}}}]"#).unwrap()
    }

    fn write(out: &Path, page: &str, json: &str, csv: &str) {
        for (name, text) in [("index.html", page), ("paper.json", json), ("a.csv", csv)] {
            std::fs::write(out.join(name), text).unwrap();
        }
    }

    const PAGE: &str = "<!DOCTYPE html>\n<section id=\"a\"></section></html>\n";
    const JSON: &str = r#"{"machine": {}, "program": {}, "date": "d", "scale": "tiny",
        "experiments": [{"name": "a", "finding": {"state": "measured", "rows": [{}, {}]}}]}"#;
    const CSV: &str = "who,x\nmeasured,\"1, \"\"2\"\"\"\nmeasured,3\npaper,4\n";

    #[test]
    fn what_is_as_it_should_be_is_not_complained_about() {
        let out = tempfile::tempdir().unwrap();
        write(out.path(), PAGE, JSON, CSV);
        assert_eq!(check(&list(), "tiny", out.path(), false).unwrap(), [""; 0]);
    }

    #[test]
    fn everything_that_is_missing_is_noticed() {
        let out = tempfile::tempdir().unwrap();
        let one_row = JSON.replace("[{}, {}]", "[{}]");
        let cases = [
            (PAGE.replace("\"a\"", "\"b\""), JSON.to_owned(), CSV.to_owned(), "not on the page"),
            (PAGE.replace("</section>", ""), JSON.to_owned(), CSV.to_owned(), "begins 1 times <section>"),
            (PAGE.replace("</section>", "<script></section>"), JSON.to_owned(), CSV.to_owned(), "from elsewhere"),
            (PAGE.to_owned(), JSON.replace("\"a\"", "\"b\""), CSV.to_owned(), "not in paper.json"),
            (PAGE.to_owned(), JSON.replace("\"machine\": {},", ""), CSV.to_owned(), "does not say machine"),
            (PAGE.to_owned(), one_row, CSV.replacen("measured,3\n", "", 1), "has 1 rows, and needs at least 2"),
            (PAGE.to_owned(), JSON.to_owned(), CSV.replacen("measured,3\n", "", 1), "has 1 rows, and paper.json 2"),
            (PAGE.to_owned(), JSON.to_owned(), CSV.replace("paper,4", "paper,4,5"), "a line of 3 cells"),
            (PAGE.to_owned(), JSON.to_owned(), CSV.replace("paper,4", "paper,\"4"), "cannot be parsed"),
        ];
        for (page, json, csv, expected) in cases {
            write(out.path(), &page, &json, &csv);
            let complaints = check(&list(), "tiny", out.path(), false).unwrap();
            assert!(complaints.len() == 1 && complaints[0].contains(expected), "{expected}: {complaints:?}");
        }
        write(out.path(), PAGE, "{", CSV);
        assert!(check(&list(), "tiny", out.path(), false).is_err());
        std::fs::remove_file(out.path().join("index.html")).unwrap();
        assert!(check(&list(), "tiny", out.path(), false).unwrap_err().to_string().contains("was not written"));
    }

    #[test]
    fn an_experiment_that_was_skipped_has_no_rows_and_is_none_with_peers() {
        let out = tempfile::tempdir().unwrap();
        let json = JSON.replace("\"measured\", \"rows\": [{}, {}]", "{\"skipped\": \"why\"}, \"rows\": []");
        write(out.path(), PAGE, &json, "who\n");
        assert_eq!(check(&list(), "tiny", out.path(), false).unwrap(), [""; 0]);
        assert_eq!(check(&list(), "tiny", out.path(), true).unwrap(), ["a was skipped: why"]);
    }
}
