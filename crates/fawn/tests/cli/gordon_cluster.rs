//! `fawn gordon cluster` as a user runs it.

use std::path::Path;

use serde_json::Value;

use crate::server::{Run, fawn};

/// A design of the paper.
const ATOM: &str = "1 Atom 1.9 GHz, 1 flash array";

/// Two nodes: one reads 50 MB in each of three seconds, the other works for one second alone.
pub fn recordings(dir: &Path) -> [String; 2] {
    let head = "fawn recording 1\nperiod_ms 1000\ncolumn cpu_seconds from /proc/stat\n\
                column disk_read_bytes from /proc/diskstats\ncolumn disk_reads from /proc/diskstats\nsamples\n";
    let write = |name: &str, samples: &str| {
        let file = dir.join(name);
        std::fs::write(&file, format!("{head}{samples}")).unwrap();
        file.to_str().unwrap().to_owned()
    };
    [
        write("a.recording", "0 0.5 50000000 800\n1000 0.5 50000000 800\n2000 0.5 50000000 800\n"),
        write("b.recording", "0 1 0 0\n1000 0 0 0\n"),
    ]
}

#[track_caller]
pub fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

fn cluster(arguments: &[&str]) -> Run {
    fawn(&[&["gordon", "cluster"], arguments].concat())
}

#[test]
fn recordings_run_on_a_design_under_both_bounds_and_between() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = recordings(dir.path());
    let arguments = [&a[..], &b, "--design", ATOM, "--cpu-mips", "2400", "--json"];
    let report = json(&cluster(&arguments));
    assert_eq!((report["nodes"].as_u64(), report["recorded_seconds"].as_u64()), (Some(2), Some(3)));
    let cell = &report["design"]["cells"][0];
    let seconds = |bound: &str| cell[bound]["seconds"].as_f64().unwrap();
    // A rating of 2,400 MIPS is a Core 2: 3.6 G instructions per second. The Atom executes 0.95 G.
    assert!((seconds("nosync") - 3.0 * 0.5 * 3.6 / 0.95).abs() < 1e-9, "{cell}");
    assert!((seconds("sync") - (1.0 + 2.0 * 0.5) * 3.6 / 0.95).abs() < 1e-9, "the second node is the slowest once");
    assert!(seconds("estimate") >= seconds("nosync"));
    assert!(cell["sync"]["joules"].as_f64().unwrap() < cell["sync"]["joules_staying_on"].as_f64().unwrap());
    assert_eq!(report["sources"]["instructions"], "processor time at 2400 MIPS a processor by 7-Zip");
    let absent = report["unmeasured"].as_array().unwrap();
    assert!(absent.contains(&"network_in_bytes".into()), "{absent:?}");

    let table = cluster(&arguments[..arguments.len() - 1]);
    assert_eq!((table.code, table.stderr.as_str()), (0, ""));
    for what in [
        "a: 2 nodes, 3 seconds recorded; work follows work",
        "nosync (lower bound)",
        "energy is modelled",
        "kJ if all stay on",
        "disk_read_bytes: /proc/diskstats",
        "note: network_in_bytes was not measured, and takes no time here",
    ] {
        assert!(table.stdout.contains(what), "{what}: {}", table.stdout);
    }
}

#[test]
fn work_that_arrives_as_recorded_takes_as_long_as_it_did() {
    let dir = tempfile::tempdir().unwrap();
    recordings(dir.path());
    let design = "4 Core 2 2.4 GHz, 1 flash array";
    let arguments = [dir.path().to_str().unwrap(), "--design", design, "--cpu-mips", "2400", "--as-recorded"];
    let report = json(&cluster(&[&arguments[..], &["--by-second", "--json"]].concat()));
    let run = &report["design"]["cells"][0]["sync"];
    assert!((run["seconds"].as_f64().unwrap() - 3.0).abs() < 1e-9, "{run}");
    let timeline = report["timeline"].as_array().unwrap();
    assert_eq!(timeline.len(), 3);
    assert_eq!(
        (&timeline[0]["nodes"], &timeline[2]["nodes"], &timeline[2]["busy"]),
        (&2.into(), &1.into(), &"processor".into())
    );
    let table = cluster(&[&arguments[..], &["--by-second"]].concat()).stdout;
    assert!(table.contains("Second by second under sync:") && table.contains("work arrives as recorded"), "{table}");
}

#[test]
fn a_synthetic_workload_runs_without_a_recording_and_designs_are_listed() {
    let report = json(&cluster(&["--workload", "Sort", "--nodes", "4", "--design", ATOM, "--json"]));
    assert_eq!((&report["workload"], &report["nodes"]), (&"Sort".into(), &4.into()));
    assert!(report["notes"][0].as_str().unwrap().contains("synthetic"));
    let names = cluster(&["--list"]).stdout;
    assert_eq!(names.lines().filter(|name| name.contains("flash array") || name.contains("disk")).count(), 84);
    assert!(names.lines().any(|name| name == "Raspberry Pi 5 8 GB + NVMe 1 TB"), "{names}");
    assert_eq!(json(&cluster(&["--list", "--json"])).as_array().unwrap().len(), names.lines().count());
}

#[test]
fn what_cannot_be_simulated_is_told_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = recordings(dir.path());
    let run = cluster(&[&a, "--design", ATOM]);
    assert!(run.code == 2 && run.stderr.contains("give --cpu-mips"), "{run:?}");
    let run = cluster(&[&b, "--design", "1 Atom 1.9 GHz, 1 flash aray", "--cpu-mips", "2400"]);
    assert!(run.code == 1 && run.stderr.contains("is `1 Atom 1.9 GHz, 1 flash array` meant?"), "{run:?}");
    let run = cluster(&[&a, "--design", "Thelio Astra + NVMe 1 TB", "--cpu-mips", "2400"]);
    assert!(run.code == 1 && run.stderr.contains("no processor rating and no read rate of its drive"), "{run:?}");
    let idle = dir.path().join("idle.recording");
    std::fs::write(&idle, std::fs::read_to_string(&b).unwrap().replace("0 1 0 0", "0 0 0 0")).unwrap();
    let run = cluster(&[idle.to_str().unwrap(), "--design", ATOM, "--cpu-mips", "2400"]);
    assert!(run.code == 1 && run.stderr.contains("idle has no work"), "{run:?}");
    std::fs::write(&idle, "fawn recording 1\nsamples\n").unwrap();
    let run = cluster(&[idle.to_str().unwrap(), "--design", ATOM]);
    assert!(run.code == 1 && run.stderr.contains("idle.recording: line 2: the head has no `period_ms`"), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    let run = cluster(&["nowhere", "--design", ATOM]);
    assert!(run.code == 1 && run.stderr.contains("cannot open nowhere"), "{run:?}");
    let empty = tempfile::tempdir().unwrap();
    let run = cluster(&[empty.path().to_str().unwrap(), "--design", ATOM]);
    assert!(run.code == 1 && run.stderr.contains("needs a recording for each node"), "{run:?}");
    let run = cluster(&["--design", ATOM, "--workload", "Tetris"]);
    assert!(run.code == 2 && run.stderr.contains("Sort"), "{run:?}");
    for (arguments, says) in [
        (&["--list", "--by-second"][..], "--by-second has no effect with --list"),
        (&["--design", ATOM, "--cpu-mips", "2400"], "--cpu-mips has no effect without a recording"),
        (&["--design", ATOM, "--guess-writes"], "--guess-writes has no effect on the paper's designs"),
        (&[&a, "--design", ATOM, "--seed", "3"], "--seed has no effect on recordings"),
    ] {
        let run = cluster(arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    let run = cluster(&[]);
    assert!(run.code == 2 && run.stderr.contains("--design"), "{run:?}");
}

#[test]
fn empty_and_packed_files_are_told_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let empty = write("empty", b"");
    let archive = write("archive", b"7z\xbc\xaf\x27\x1c\0\x04 and what else such a file has");
    for (file, says) in [(&empty, "is empty: "), (&archive, "is a 7z archive: unpack it with `7z x` first")] {
        let says = format!("fawn: {file} {says}");
        for run in [
            cluster(&[file, "--design", ATOM, "--cpu-mips", "1000"]),
            fawn(&["gordon", "survey", file, "--cpu-mips", "1000"]),
            fawn(&["gordon", "replay", file]),
            fawn(&["gordon", "replay", file, "--format", "msr"]),
        ] {
            assert!(run.code == 1 && run.stderr.starts_with(&says) && run.stdout.is_empty(), "{says}: {run:?}");
            assert!(!run.stderr.contains("line 0"), "{run:?}");
        }
    }
}

#[test]
fn one_of_anything_is_told_in_the_singular() {
    let dir = tempfile::tempdir().unwrap();
    let head = "fawn recording 1\nperiod_ms 1000\ncolumn disk_reads from x\ncolumn disk_read_bytes from x\nsamples\n";
    let file = dir.path().join("short.recording");
    std::fs::write(&file, format!("{head}0 1 4096\n")).unwrap();
    let file = file.to_str().unwrap();
    let run = cluster(&[file, "--design", ATOM]);
    assert!(run.stdout.starts_with("short: 1 node, 1 second recorded;"), "{run:?}");
    let run = fawn(&["gordon", "survey", file]);
    assert!(run.stdout.contains("1 workload, 1 node;"), "{run:?}");
    assert!(run.stdout.contains("was not measured in 1 of 1 workload, and"), "{run:?}");
    let trace = dir.path().join("one.csv");
    std::fs::write(&trace, "128166372003061629,web,0,Read,4096,4096,500\n").unwrap();
    let run = fawn(&["gordon", "replay", trace.to_str().unwrap(), "--format", "msr", "--on", "sata-1tb-2008"]);
    let line = "(msr): 1 read of 4.1 KB, 0 writes of 0 B, 0 discards, 0 flushes, 1 volume, 0 s";
    assert!(run.stdout.contains(line), "{run:?}");
    let recorded = dir.path().join("here.recording");
    let run = fawn(&["gordon", "record", recorded.to_str().unwrap(), "--seconds", "100ms", "--period", "100ms"]);
    assert!(run.stdout.contains("here.recording: 1 sample of "), "{run:?}");
}
