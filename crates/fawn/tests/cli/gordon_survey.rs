//! `fawn gordon survey` as a user runs it.

use crate::gordon_cluster::{json, recordings};
use crate::server::{Run, fawn};

fn survey(arguments: &[&str]) -> Run {
    fawn(&[&["gordon", "survey"], arguments].concat())
}

#[test]
fn the_papers_designs_are_84_and_the_best_have_flash() {
    let report = json(&survey(&["--designs", "gordon-2009", "--nodes", "4", "--json"]));
    assert_eq!(report["points"].as_array().unwrap().len(), 84);
    assert_eq!(report["workloads"].as_array().unwrap().len(), 7);
    assert!(report["title"].as_str().unwrap().contains("states 88"), "{}", report["title"]);
    assert_eq!(report["settings"]["axes"], serde_json::json!(["time", "energy"]), "an Atom has no price");
    for summary in report["summaries"].as_array().unwrap().iter().filter(|it| it["is_pareto"] == true) {
        assert!(summary["name"].as_str().unwrap().ends_with("1 flash array"), "{summary}");
        assert!(summary["busy"]["margin"].as_f64().unwrap() >= 0.0);
    }
}

#[test]
fn todays_designs_are_surveyed_on_recordings_with_what_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = recordings(dir.path());
    let run = survey(&[&a, &b, "--cpu-mips", "2400"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for what in [
        "4 designs, 2 workloads, 1 node; relative to Raspberry Pi 5 8 GB + NVMe 1 TB; compared under sync",
        "Raspberry Pi 5 8 GB + NVMe 1 TB",
        "note: left out, no write rate of its drive known: Orange Pi 5 + NVMe 1 TB; Orange Pi 5 + NVMe 2 TB",
        "note: network_in_bytes was not measured in 2 of 2 workloads",
        "7-Zip rating of 11830 MIPS",
    ] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
    let guessed = survey(&[&a, "--cpu-mips", "2400", "--guess-writes", "--all", "--axes", "energy,price"]);
    assert!(guessed.stdout.contains("6 designs") && guessed.stdout.contains("taken as fast as reads"), "{guessed:?}");
    let csv = survey(&[&a, "--cpu-mips", "2400", "--csv"]);
    assert_eq!(csv.stdout.lines().count(), 1 + 4 * 3, "{}", csv.stdout);
    assert!(csv.stdout.starts_with("design,workload,bound,seconds,work_seconds,modelled_joules,"));
}

#[test]
fn a_page_stands_alone() {
    let dir = tempfile::tempdir().unwrap();
    let [a, _] = recordings(dir.path());
    let file = dir.path().join("nodes.html");
    let run = survey(&[&a, "--cpu-mips", "2400", "--as-recorded", "--html", file.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    let page = std::fs::read_to_string(file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && !page.contains("<script"), "{page}");
    for what in ["work arrives as recorded", "Time and price", "left out, no", "name=\"viewport\"", "light dark"] {
        assert!(page.contains(what), "{what}");
    }
}

#[test]
fn designs_of_a_file_and_of_a_catalogue_are_surveyed() {
    let dir = tempfile::tempdir().unwrap();
    let doc = include_str!("../../../../book/src/nodes/survey.md");
    let examples: Vec<&str> = doc.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [designs, ratings] = examples[..] else { panic!("{} examples", examples.len()) };
    let [designs_file, ratings_file, catalogue_file] =
        ["own.toml", "ratings.toml", "catalogue.toml"].map(|name| dir.path().join(name));
    std::fs::write(&designs_file, designs).unwrap();
    std::fs::write(&ratings_file, ratings).unwrap();
    let report = json(&survey(&["--designs", designs_file.to_str().unwrap(), "--nodes", "2", "--json"]));
    assert_eq!(report["points"].as_array().unwrap().len(), 5, "a node and a space of four");
    let planning = include_str!("../../../../book/src/reference/planning.md");
    let catalogue = planning.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(&catalogue_file, catalogue).unwrap();
    let arguments = ["--designs", catalogue_file.to_str().unwrap(), "--nodes", "2", "--json"];
    let run = survey(&arguments);
    assert!(run.code == 1 && run.stderr.contains("left out, no processor rating"), "{run:?}");
    let report = json(&survey(&[&arguments[..], &["--ratings", ratings_file.to_str().unwrap()]].concat()));
    assert_eq!(report["points"][0]["name"], "Board + 1 TB");
    let today = |ratings: &[&str]| {
        let report = json(&survey(&[&["--nodes", "2", "--json"][..], ratings].concat()));
        report["points"].as_array().unwrap().len()
    };
    assert_eq!(today(&["--ratings", ratings_file.to_str().unwrap()]), today(&[]), "those built in are still used");
    let unused = survey(&["--nodes", "2", "--ratings", ratings_file.to_str().unwrap()]);
    assert!(unused.code == 0 && unused.stderr.contains("so its rating is not used"), "{unused:?}");

    let run = survey(&["--designs", designs_file.to_str().unwrap(), "--guess-writes"]);
    assert!(run.code == 2 && run.stderr.contains("--guess-writes has no effect on designs of a file"), "{run:?}");
    // A page is none of the files that are read.
    let linked = dir.path().join("linked.html");
    std::fs::hard_link(&designs_file, &linked).unwrap();
    let run = survey(&["--designs", designs_file.to_str().unwrap(), "--html", linked.to_str().unwrap()]);
    assert!(run.code == 2 && run.stderr.contains("own.toml: name another file"), "{run:?}");
    assert_eq!(std::fs::read_to_string(&designs_file).unwrap(), designs);
    let run = survey(&["--designs", "paper-2009"]);
    assert!(run.code == 1 && run.stderr.contains("has no design of which enough is known"), "{run:?}");

    std::fs::remove_file(&linked).unwrap();
    std::fs::write(&designs_file, "title = \"own\"\nnode = 1\n").unwrap();
    for flag in ["--designs", "--ratings"] {
        let run = survey(&[flag, designs_file.to_str().unwrap()]);
        assert!(run.code == 1 && run.stderr.contains("unknown field `"), "{run:?}");
        assert!(run.stderr.contains("own.toml: line ") && run.stderr.lines().count() == 1, "{run:?}");
    }
    std::fs::write(&designs_file, designs.replace("processors = 4", "processors = 0")).unwrap();
    let run = survey(&["--designs", designs_file.to_str().unwrap()]);
    assert!(run.code == 1 && run.stderr.contains("from 1 to 4,096 processors"), "{run:?}");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (arguments, says) in [
        (&["--axes", "time"][..], "two axes or three"),
        (&["--axes", "time,colour"], "energy"),
        (&["--reference", "abacus"], "none of the designs"),
        (&["--html", "-"], "--html writes a file: name one"),
        (&["--all", "--json"], "cannot be used with"),
        (&["--storage", "simulated"], "--storage has no effect on other designs than the paper's"),
        (&["--designs", "gordon-2009", "--guess-writes"], "--guess-writes has no effect on the paper's designs"),
        (&["--json", "--csv"], "cannot be used with"),
        (&["--cpu-mips", "fast"], "write a number from 1 to 1000000"),
        (&["--cpu-mips", "3000"], "--cpu-mips has no effect without a recording"),
        (&["web.recording", "--nodes", "3"], "--nodes has no effect on recordings"),
    ] {
        let run = survey(arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    let run = survey(&["--designs", "tomorrow"]);
    assert!(
        run.code == 1 && run.stderr.contains("built in are today, paper-2009, paper-2009-stated, gordon-2009"),
        "{run:?}"
    );
}
