//! `fawn joule all` and `compare`: every workload on this machine, and machines beside each other.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::server::{Run, fawn};

fn results(dir: &Path, name: &str, more: &[&str]) -> Value {
    let (out, at) = (dir.join(format!("{name}.json")), dir.to_str().unwrap());
    let all = ["joule", "all", "--scale", "tiny", "--name", name, "--meter", "none", "--dir", at];
    let run = fawn(&[&all[..], &["--out", out.to_str().unwrap()], more].concat());
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_slice(&fs::read(out).unwrap()).unwrap()
}

#[test]
fn two_machines_are_compared_by_all_workloads_and_nothing_of_them_remains() {
    let dir = tempfile::tempdir().unwrap();
    let (page, csv) = (dir.path().join("all.html"), dir.path().join("all.csv"));
    let first = results(dir.path(), "board", &["--page", page.to_str().unwrap(), "--csv", csv.to_str().unwrap()]);
    let experiments: Vec<&str> =
        first["reports"].as_array().unwrap().iter().map(|report| report["experiment"].as_str().unwrap()).collect();
    assert_eq!(experiments, ["sort", "joule phrases", "crypto", "matrix", "fixed", "kv"]);
    let csv = fs::read_to_string(csv).unwrap();
    for what in [
        "work,unit,value,per,",
        "\"sort 50,000 records\",records,",
        "MFLOP",
        "signatures",
        "million operations",
        "\"gets of 256 B, at capacity\",queries,",
        "\"gets of 256 B, within 1 ms, at the best load\",answers,",
    ] {
        assert!(csv.contains(what), "{what}: {csv}");
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("<svg") && page.contains("Work per joule: board") && page.contains("Latency over load"),
        "{page}"
    );
    // Another machine does half of it.
    let mut other = first.clone();
    other["machine"] = "server".into();
    for report in other["reports"].as_array_mut().unwrap() {
        for row in report["rows"].as_array_mut().unwrap() {
            if let Some(each) = row["operations_a_cpu_second"].as_f64() {
                row["operations_a_cpu_second"] = (each / 2.0).into();
            }
        }
    }
    let file = dir.path().join("server.json");
    fs::write(&file, other.to_string()).unwrap();
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("fawn-joule-")), "{left:?}");

    let page = dir.path().join("compare.html");
    let board = dir.path().join("board.json");
    let files = ["joule", "compare", board.to_str().unwrap(), file.to_str().unwrap()];
    let compare = |more: &[&str]| fawn(&[&files[..], more].concat());
    let run = compare(&["--page", page.to_str().unwrap()]);
    assert!(run.code == 0 && run.stdout.contains("board, 2 times"), "{run:?}");
    assert!(run.stdout.contains("work per CPU second says nothing of joules"), "{run:?}");
    let page = fs::read_to_string(page).unwrap();
    for what in
        ["Sorting", "Counting phrases", "Digests", "Signatures", "Matrix product", "Integer work", "Key-value queries"]
    {
        assert!(page.contains(&format!("<h2>{what}</h2>")), "{what}");
    }
    let report: Value = serde_json::from_str(&compare(&["--json"]).stdout).unwrap();
    assert!(
        report["rows"].as_array().unwrap().iter().all(|row| row["best"] == "board" && row["times"] == 2.0),
        "{report}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.json");
    fs::write(&file, "{}").unwrap();
    let said = |arguments: &[&str]| {
        let Run { code, stderr, .. } = fawn(&[&["joule"], arguments].concat());
        (code, stderr)
    };
    let name = file.to_str().unwrap();
    let (code, error) = said(&["compare", name]);
    assert!(code == 2 && error.contains("name two files at least"), "{error}");
    let other = dir.path().join("b.json");
    fs::write(&other, "{}").unwrap();
    let (code, error) = said(&["compare", name, other.to_str().unwrap()]);
    assert!(code == 1 && error.contains("it has no results of `fawn joule all`"), "{error}");
    let (code, error) = said(&["compare", name, &format!("{}/./a.json", dir.path().display())]);
    assert!(code == 2 && error.contains("is named twice: name one file for each machine"), "{error}");
    let (code, error) = said(&["all", "--dir", "/no/such/directory"]);
    assert!(code == 1 && error.contains("name another --dir"), "{error}");
    let (code, error) = said(&["all", "--out", name, "--csv", name]);
    assert!(code == 2 && error.contains("would overwrite"), "{error}");
    let new = |name: &str| format!("{}/{name}", dir.path().display());
    let (code, error) = said(&["all", "--out", &new("./new.json"), "--page", &new("new.json")]);
    assert!(code == 2 && error.contains("would overwrite"), "{error}");
    let (code, error) = said(&["all", "--name", ""]);
    assert!(code == 2 && error.contains("--name"), "{error}");
}

#[test]
fn recorded_machines_are_compared_on_a_page() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/joule-machines"));
    let mut files: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert!(files.len() >= 2, "{files:?}");
    // Each file is in the table of its folder, by which people know what it is.
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let machines: Vec<String> = files
        .iter()
        .map(|file| {
            assert!(readme.contains(file.rsplit('/').next().unwrap()), "{file} is not in README.md");
            let results: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
            results["machine"].as_str().unwrap().to_owned()
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("compare.html");
    let words: Vec<&str> = ["joule", "compare"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let run = fawn(&[&words[..], &["--page", page.to_str().unwrap()]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let page = fs::read_to_string(page).unwrap();
    for machine in &machines {
        assert!(run.stdout.contains(machine) && page.contains(machine), "{machine}: {run:?}");
    }
    for what in
        ["sort 10,000,000 records", "count 99,844 phrases", "RSA-1024 sign by rsa", "matrix of 16 MiB", "integer work"]
    {
        assert!(run.stdout.contains(what) && page.contains(what), "{what}: {run:?}");
    }
    assert!(page.matches("<svg").count() >= 6, "a chart for each kind of work");
}
