//! `fawn gordon cost` as a user runs it.

use crate::gordon_cluster::json;
use crate::server::{Run, fawn};

fn cost(arguments: &[&str]) -> Run {
    fawn(&[&["gordon", "cost"], arguments].concat())
}

#[test]
fn the_papers_tables_stand_beside_what_is_computed() {
    let run = cost(&[]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for what in [
        "FusionIO 160 GB SLC",
        "1.048576 PB on servers full of one medium",
        "10,923",
        "2,184.5",
        "Gordon node (paper): all in flash",
        "one in flash, others asleep",
        "3 copies of it (section 6.1)",
        "Jobs on a slice of 64 nodes (section 6.3)",
        "computes for 4 s per gigabyte or longer",
        "note: NAND: the paper states four cards",
        "note: left out, no write rate of its drive known: Orange Pi 5",
    ] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
    assert!(run.stdout.contains("1.048576 PB on nodes of `today`"), "{}", run.stdout);
}

#[test]
fn the_question_is_the_users() {
    let report = json(&cost(&["--json"]));
    let sleeping = |report: &serde_json::Value| report["nodes"][0]["one_in_flash"]["joules_per_year"].as_f64().unwrap();
    let (all, one) = (report["nodes"][0]["all_in_flash"]["joules_per_year"].as_f64().unwrap(), sleeping(&report));
    assert!(one < 0.4 * all, "{one} {all}");
    let busier =
        json(&cost(&["--json", "--sleep-watts", "100", "--changed-per-day", "100TB", "--wakes-per-day", "24"]));
    assert!(sleeping(&busier) > one);
    let terabyte = json(&cost(&["--json", "--data", "1TB", "--copies", "2", "--catalog", "paper-2009"]));
    assert!(terabyte["table_8"][0]["printed"].is_null(), "nothing is printed for a terabyte");
    assert_eq!(terabyte["nodes"].as_array().unwrap().len(), 1, "no processor of that catalogue is rated");
    let slices = json(&cost(&["--json", "--job-input", "10TB", "--link-mbit", "2000", "--job-time", "5h"]));
    let job = &slices["nodes"][0]["in_turn"];
    assert!((job["load_seconds"].as_f64().unwrap() / 3600.0 - 11.1).abs() < 0.02, "{job}");
    assert_eq!(slices["nodes"][0]["overlapped"]["fits"], false, "two jobs of 10 TB do not fit in 16 TB");
    let run = cost(&["--wake-time", "soon"]);
    assert!(run.code == 2 && run.stderr.contains("e.g. 90s"), "{run:?}");
    let run = cost(&["--sleep-watts", "-1"]);
    assert!(run.code == 2, "{run:?}");
    let run = cost(&["--storage", "simulated"]);
    assert!(run.code == 2 && run.stderr.contains("unexpected argument"), "it rates no flash of the paper: {run:?}");
}
