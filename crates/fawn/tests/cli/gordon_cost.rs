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

#[test]
fn one_copy_recovers_nothing_and_each_copy_is_on_another_node() {
    let run = cost(&["--copies", "1"]);
    assert!(run.code == 0 && run.stdout.contains("\n1 copy of it (section 6.1):"), "{run:?}");
    assert!(run.stdout.contains("impossible") && !run.stdout.contains("others asleep"), "{run:?}");
    assert!(run.stdout.contains("note: with one copy nothing recovers the data of a lost node"), "{run:?}");
    for flag in ["--changed-per-day", "--sleep-watts", "--losses"] {
        let run = cost(&["--copies", "1", flag, "1"]);
        assert!(run.code == 2 && run.stderr.contains(&format!("{flag} has no effect with one copy")), "{run:?}");
    }
    let report = json(&cost(&["--json", "--data", "100GB", "--copies", "64"]));
    let (all, one) = (&report["nodes"][0]["all_in_flash"], &report["nodes"][0]["one_in_flash"]);
    assert_eq!((all["flash_nodes"].as_u64(), all["flash_demand"].as_str()), (Some(64), Some("copies")));
    assert_eq!((one["disk_servers"].as_u64(), one["disk_demand"].as_str()), (Some(63), Some("copies")));
    assert_eq!((one["flash_nodes"].as_u64(), one["flash_demand"].as_str()), (Some(1), Some("space")));
    let run = cost(&["--data", "1", "--slice-nodes", "1"]);
    assert!(run.stdout.contains("note: fewer flash nodes would hold the data, but each copy is on another"), "{run:?}");
    assert!(run.stdout.contains("Jobs on a slice of 1 node ("), "{run:?}");
}

#[test]
fn what_disks_have_no_time_for_is_refused_with_what_they_have() {
    for (arguments, what) in [
        (&["--changed-per-day", "100PB"][..], "a day has time for at most 475 TB beside waking up"),
        (&["--wake-time", "100d"], "cannot do so 1 time per day; give --wake-time 86400s or less"),
        (&["--wakes-per-day", "86400"], "give --wake-time 1s or less, or --wakes-per-day 2880 or less"),
        (&["--wakes-per-day", "0", "--changed-per-day", "1TB"], "never wake up take none of the 1 TB"),
    ] {
        let run = cost(arguments);
        assert!(run.code == 2 && run.stderr.contains(what) && run.stdout.is_empty(), "{what}: {run:?}");
    }
    let run = cost(&["--changed-per-day", "475TB"]);
    assert!(run.code == 0 && run.stdout.contains("note: changes and losses of nodes keep the disks awake"), "{run:?}");
    assert_eq!(cost(&["--wakes-per-day", "0", "--wake-time", "100d"]).code, 0, "a slow recovery");
}
