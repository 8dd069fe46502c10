//! `fawn bench store` as a user runs it.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::server::{Run, fawn, fawn_command, interrupted, wait_for};

/// A small store in `dir`.
fn bench(experiment: &str, dir: &std::path::Path, more: &[&str]) -> Run {
    let fixed =
        ["bench", "store", experiment, "--dir", dir.to_str().unwrap(), "--memory", "8M", "--value-bytes", "100"];
    fawn(&[&fixed, more].concat())
}

#[track_caller]
fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

#[test]
fn gets_are_measured_beside_the_device_and_told_again() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("bench");
    let small = ["--entries", "20k", "--depths", "1,4", "--rounds", "1", "--time", "50ms", "--device", "own"];
    let run = bench("get", &data, &[&small[..], &["--json"]].concat());
    let report = json(&run);
    assert_eq!(run.stderr, "", "there is no bar where nobody looks");
    assert_eq!(report["parameters"]["entries"], 20_000);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        // The process has done nothing else meanwhile.
        assert_eq!(row["counts_agree"], true, "{row}");
        assert!(row["ratio"].as_f64().unwrap() > 0.0 && row["cpu_us_a_get"].as_f64().unwrap() > 0.0, "{row}");
    }
    for figure in ["index_bytes_an_entry", "rss_without_cache_bytes_an_entry", "most_rss_bytes", "buffer_bytes"] {
        assert!(report["memory"][figure].as_f64().unwrap() > 0.0, "{figure}");
    }
    let again = bench("get", &data, &[&small[..], &["--json"]].concat());
    assert_eq!((json(&again), again.stderr.contains("--again measures it again")), (report, true));
    let table = bench("get", &data, &small).stdout;
    for what in ["gets/s", "ratio", "p99.9 us", "memory: ", "note: reader of the device: our own io_uring loop"] {
        assert!(table.contains(what), "{what}: {table}");
    }

    let other = bench("hit", &data, &["--entries", "21k"]);
    assert!(other.code == 1 && other.stderr.contains("holds 20000 entries of 100 bytes, not 21000"), "{other:?}");
    for (more, says) in [
        (&["--ack", "durable"][..], "was loaded with --ack memory, not --ack durable: give the same, or --again, "),
        (&["--miss-filter"], "was loaded with no --miss-filter, not --miss-filter: "),
    ] {
        let other = bench("load", &data, &[&["--entries", "20k"], more].concat());
        assert!(other.code == 1 && other.stderr.contains(says), "{other:?}");
    }
    let place = data.to_str().unwrap();
    let other = ["--dir", place, "--entries", "20k", "--value-bytes", "100", "--memory", "16M"];
    let other = fawn(&[&["bench", "store", "load"][..], &other].concat());
    assert!(other.stderr.contains("was loaded with --memory 8M, not --memory 16M: "), "{other:?}");
}

#[test]
fn a_bench_that_is_interrupted_says_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("bench");
    let mut command = fawn_command(&["bench", "store", "load", "--memory", "8M", "--dir", data.to_str().unwrap()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the notes", || data.join("bench.json").exists().then_some(()));
    assert_eq!(interrupted(child), "fawn: interrupted; run the same command again to continue\n");
}

#[test]
fn fio_reads_the_same_files() {
    if Command::new("fio").arg("--version").output().is_err() {
        eprintln!("skipped: fio is not installed (apt-get install fio)");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let small = ["--entries", "20k", "--depths", "4", "--rounds", "1", "--time", "100ms", "--device", "fio", "--json"];
    let report = json(&bench("get", &dir.path().join("bench"), &small));
    assert!(report["rows"][0]["device_cpu_us_a_read"].as_f64().unwrap() > 0.0, "{report}");
    assert!(report["parameters"]["device"].as_str().unwrap().contains("fio"), "{report}");
}

#[test]
fn a_load_that_is_killed_is_opened_again_with_all_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let report = json(&bench("restart", &dir.path().join("bench"), &["--at", "1M,3M", "--json"]));
    let rows = report["rows"].as_array().unwrap();
    let entries: Vec<u64> = rows.iter().map(|row| row["entries"].as_u64().unwrap()).collect();
    assert!(entries[0] >= (1 << 20) / 120 && entries[1] >= (3 << 20) / 120, "{entries:?}");
    for row in rows {
        assert_eq!(row["was_clean"], false, "{row}");
        assert!(row["verified"].as_u64().unwrap() > 5000, "{row}");
        let after = |name: &str| row[name].as_f64().unwrap();
        assert!(after("open_seconds") <= after("first_read_seconds") && after("loaded_seconds") > 0.0, "{row}");
    }
}

#[test]
fn a_pace_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let picture = dir.path().join("pace.svg");
    let few = ["--entries", "5k", "--shares", "20", "--pairs", "1", "--time", "200ms"];
    let run = bench("pace", &dir.path().join("bench"), &[&few[..], &["--plot", picture.to_str().unwrap()]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("p99.9 / idle"), "{}", run.stdout);
    assert!(std::fs::read_to_string(picture).unwrap().contains("<polyline"));
}

#[test]
fn splits_and_merges_are_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let (data, picture) = (dir.path().join("bench"), dir.path().join("split.svg"));
    let few = ["--entries", "5k", "--depth", "4", "--rounds", "1", "--time", "200ms"];
    let run = bench("split", &data, &[&few[..], &["--plot", picture.to_str().unwrap()]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("ms until done") && run.stdout.contains("merge at rest"), "{}", run.stdout);
    assert!(std::fs::read_to_string(picture).unwrap().contains("grey: a split or a merge"));
    let report = json(&bench("split", &data, &[&few[..], &["--json"]].concat()));
    // The process has no other store.
    assert!(report["rows"][0]["maintenance_cpu_ms"].as_f64().is_none_or(|ms| ms > 0.0), "{report}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (&["get"][..], "--dir"),
        (&["load", "--dir", "x", "--entries", "many"], "e.g. 10M"),
        (&["load", "--dir", "x", "--entries", "0"], "leaves nothing to measure: give 1 or more"),
        (&["load", "--dir", "x", "--value-bytes", "4"], "a value holds its version: give 8 or more"),
        (&["load", "--dir", "x", "--memory", "0"], "for '--memory <SIZE>': a store needs at least 8M"),
        (&["restart", "--dir", "x", "--memory", "100K"], "for '--memory <SIZE>': a store needs at least 8M"),
        (&["table", "--dir", "x", "--memory", "64M,1M"], "a store needs at least 8M"),
        (&["hit", "--dir", "x", "--keys", "0"], "leaves nothing to measure: give 1 or more"),
        (&["overwrite", "--dir", "x", "--zipf", "0"], "e.g. 0.99"),
        (&["restart", "--dir", "x", "--at", "2G,1G"], "give ascending sizes"),
        (
            &["load", "--dir", "x", "--memory", "8M", "--peers", "lmdb", "--peer-scale", "20"],
            "--memory 8M divided by 20 leaves an engine less than 4M",
        ),
        (&["get", "--dir", "x", "--depths", "0"], "from 1 to 4096"),
        (&["pace", "--dir", "x", "--shares", "100"], "from 1 to 99"),
        (&["split", "--dir", "x", "--rounds", "0"], "from 1 to 1000"),
        (&["load", "--dir", "x", "--peers", "oracle"], "rocksdb"),
        (&["load", "--dir", "x", "--peer-scale", "20"], "--peers"),
        (&["hit", "--dir", "x", "--peers", "rocksdb"], "--peers"),
    ] {
        let run = fawn(&[&["bench", "store"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    let large = dir.path().join("large");
    let run =
        fawn(&["bench", "store", "load", "--dir", large.to_str().unwrap(), "--entries", "1000G", "--memory", "16M"]);
    assert!(run.code == 1 && run.stderr.contains("are free where --dir is: give fewer --entries"), "{run:?}");
    let data = dir.path().join("new");
    let run = bench("load", &data, &["--peers", "rocksdb", "--peer-program", "no-such-program"]);
    assert!(run.code == 1 && run.stderr.contains("peers/Cargo.toml") && !data.exists(), "{run:?}");
    std::fs::write(dir.path().join("mine"), "x").unwrap();
    let run = bench("load", dir.path(), &[]);
    assert!(run.code == 1 && run.stderr.contains("choose an empty or a new directory"), "{run:?}");
}
