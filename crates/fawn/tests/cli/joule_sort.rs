//! `fawn joule sort` as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::disks::Disk;
use crate::server::{Run, fawn, fawn_command, interrupted, wait_for};

/// A directory with 300,000 records in `input`.
struct Records {
    dir: tempfile::TempDir,
}

impl Records {
    fn generate(arguments: &[&str]) -> Self {
        let records = Self { dir: tempfile::tempdir().unwrap() };
        let input = records.name("input");
        let run = sort(&[&["generate", "--records", "300k", &input], arguments].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        records
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        names(self.dir.path())
    }

    /// A sort in two passes that has begun to write and is not done.
    fn begin_sort(&self) -> Child {
        self.begin_sort_into(&self.path("sorted"))
    }

    /// The same, into another file.
    fn begin_sort_into(&self, sorted: &Path) -> Child {
        let mut command = fawn_command(&["joule", "sort", "sort", "--memory", "3M", "--threads", "1"]);
        command.arg(self.path("input")).arg("-o").arg(sorted).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_for("a sort to write", || {
            let counts = std::fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap();
            let written = counts.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
            (written.parse::<u64>().unwrap() > 1 << 20).then_some(())
        });
        child
    }
}

fn sort(arguments: &[&str]) -> Run {
    fawn(&[&["joule", "sort"], arguments].concat())
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn records_are_generated_sorted_and_validated() {
    let records = Records::generate(&["--ascii", "--first", "7"]);
    let [input, sorted] = ["input", "sorted"].map(|name| records.name(name));
    let run = sort(&["sort", &input, "-o", &sorted, "--memory", "4M"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for what in ["read, sort and spool", "merge and write", "records/s", "CPU-s", "note: two passes, "] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
    let run = sort(&["validate", &sorted, "--input", &input]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("300,000 records, checksum ") && run.stdout.ends_with(", in order\n"), "{run:?}");
    let lines: Vec<u8> = records.bytes("sorted").chunks(100).flat_map(|record| [record[0], record[99]]).collect();
    assert!(lines.is_sorted_by(|first, second| first == &b'\n' || second == &b'\n' || first <= second));

    let report: Value =
        serde_json::from_str(&sort(&["sort", &input, "-o", &sorted, "--memory", "256M", "--json"]).stdout).unwrap();
    assert_eq!((&report["parameters"]["passes"], &report["parameters"]["records"]), (&1.into(), &300_000.into()));
    assert_eq!(report["rows"].as_array().unwrap().len(), 3, "{report}");
    let whole = &report["rows"][2];
    assert!(whole["work_a_second"].as_f64().unwrap() > 0.0 && whole["cpu_seconds"].as_f64().unwrap() > 0.0, "{whole}");
    assert!(report["parameters"]["peak_memory_bytes"].as_u64().unwrap() > 30_000_000, "{report}");
}

#[test]
fn records_go_into_several_files_whose_keys_follow_each_other() {
    let records = Records::generate(&["--skewed"]);
    let [input, sorted] = ["input", "sorted"].map(|name| records.name(name));
    let run = sort(&["sort", &input, "-o", &sorted, "--outputs", "10", "--memory", "4M"]);
    assert_eq!(run.code, 0, "{run:?}");
    let names: Vec<String> = (1..=10).map(|number| records.name(&format!("sorted-{number:02}"))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = sort(&[&["validate", "--input", &input], names.as_slice()].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let run = sort(&["validate", names[1], names[0]]);
    assert!(run.code == 1 && run.stderr.contains(&format!("the first: record 0 of {}", names[0])), "{run:?}");

    // Both together are what was generated, wherever they are cut.
    let [first, second] = ["first", "second"].map(|name| records.name(name));
    let run = sort(&["sort", names[3], names[7], names[2], "-o", &first, "-o", &second]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = sort(&["validate", &first, &second, "--input", names[2], "--input", names[3], "--input", names[7]]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn the_validator_finds_every_fault() {
    let records = Records::generate(&[]);
    let [input, sorted, wrong] = ["input", "sorted", "wrong"].map(|name| records.name(name));
    assert_eq!(sort(&["sort", &input, "-o", &sorted]).code, 0);
    let good = records.bytes("sorted");
    let totals: Value = serde_json::from_str(&sort(&["validate", &sorted, "--json"]).stdout).unwrap();
    let checksum = totals["checksum"].as_str().unwrap();
    let place = |number: usize| number * 100..(number + 1) * 100;
    let fault = |bytes: &[u8], what: &str| {
        std::fs::write(&wrong, bytes).unwrap();
        let run = sort(&["validate", "--checksum", checksum, &wrong]);
        assert!(run.code == 1 && run.stderr.contains(what), "{what}: {run:?}");
    };
    let mut swapped = good.clone();
    swapped[place(70_000)].copy_from_slice(&good[place(200_000)]);
    swapped[place(200_000)].copy_from_slice(&good[place(70_000)]);
    fault(&swapped, "2 records are out of order, the first: record 70001 of ");
    let mut altered = good.clone();
    altered[place(150_000)][99] ^= 1;
    fault(&altered, "the checksum is ");
    fault(&[&good[..place(9).start], &good[place(10).start..]].concat(), "the checksum is ");
    fault(&[&good[..place(10).start], &good[place(9).start..]].concat(), "the checksum is ");
    fault(&records.bytes("input"), "records are out of order, the first: record 2 of ");
    std::fs::write(&wrong, &good[place(1).start..]).unwrap();
    let run = sort(&["validate", &wrong, "--input", &input]);
    assert!(run.code == 1 && run.stderr.contains("there are 299,999 records, and there were 300,000"), "{run:?}");
    let run = sort(&["validate", &sorted, "--checksum", checksum]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn a_sort_that_is_killed_leaves_nothing_behind() {
    let records = Records::generate(&[]);
    let before = records.bytes("input");
    for is_first in [true, false] {
        let mut child = records.begin_sort();
        assert_eq!(records.names(), if is_first { vec!["input"] } else { vec!["input", "sorted"] });
        child.kill().unwrap();
        assert!(child.wait().unwrap().code().is_none(), "it was done before it was killed");
        let said = interrupted(records.begin_sort());
        assert!(said.contains("fawn: interrupted; the input is as it was, and there is no output"), "{said}");
        assert!(records.bytes("input") == before);
        if is_first {
            assert_eq!(records.names(), ["input"]);
            std::fs::write(records.path("sorted"), "of before").unwrap();
        }
    }
    assert_eq!(
        (records.names(), records.bytes("sorted")),
        (vec!["input".into(), "sorted".into()], b"of before".to_vec())
    );
}

#[test]
fn what_cannot_be_sorted_is_refused_with_what_to_do() {
    let records = Records::generate(&[]);
    let [input, sorted, dir, other_name] = ["input", "sorted", "", "./sorted"].map(|name| records.name(name));
    for (code, arguments, what) in [
        (
            1,
            &["sort", &input, "-o", &sorted, "--record-size", "7M"][..],
            "which is no multiple of 7340032: give the size",
        ),
        (1, &["sort", "/nowhere/input", "-o", &sorted], "cannot read /nowhere/input: No such file"),
        (1, &["sort", &dir, "-o", &sorted], "it is no regular file"),
        (1, &["sort", &input, "-o", "/nowhere/sorted"], "cannot write /nowhere/sorted: No such file"),
        (1, &["sort", &input, "-o", &sorted, "--memory", "300k"], "of memory for two passes: give --memory that much"),
        (1, &["sort", &input, "-o", &dir], "it is a directory: name a file in it"),
        (2, &["sort", &input, "-o", &input], "would overwrite"),
        (2, &["sort", &input, "-o", &sorted, "-o", &sorted], "would overwrite"),
        (2, &["sort", &input, "-o", &sorted, "-o", &other_name], "would overwrite"),
        (2, &["sort", &input, "-o", &sorted, "--key-size", "0"], "give --key-size 1 or more"),
        (2, &["sort", &input, "-o", &sorted, "--record-size", "0"], "give --record-size 1 or more"),
        (2, &["validate", "/nowhere/input"], "cannot read /nowhere/input: No such file"),
        (2, &["generate", "--records", "1.5", &sorted], "write a whole number"),
        (2, &["sort", &input, "-o", &sorted, "--spool", &input], "is no directory: name one that exists"),
        (2, &["sort", &input, "-o", &sorted, "--key-offset", "91"], "the key ends behind the record"),
        (2, &["sort", &input, "-o", "a", "-o", "b", "--outputs", "2"], "give one --output"),
        (2, &["validate", &input, "--checksum", "12 34"], "is not a checksum; write the hexadecimal digits"),
        (2, &["generate", "--records", "0", &sorted], "give 1 or more"),
        (2, &["generate", "--records", "9", "--first", "18446744073709551610", &sorted], "give a smaller --first"),
        (1, &["generate", "--records", "18446744073709551615", &sorted], "free some space, or write elsewhere"),
    ] {
        let run = sort(arguments);
        assert!(run.code == code && run.stderr.contains(what), "{what}: {run:?}");
    }
    assert_eq!(records.names(), ["input"]);
}

#[test]
fn a_sort_that_does_not_fit_is_refused_before_it_begins() {
    let Some(disk) = Disk::new(48) else { return };
    let name = |name: &str| disk.file(name).to_str().unwrap().to_owned();
    let [input, sorted] = ["input", "sorted"].map(name);
    let run = sort(&["generate", "--records", "300k", &input]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let run = sort(&["sort", &input, "-o", &sorted]);
    assert!(run.code == 1 && run.stderr.contains("free, and 30 MB are needed: free some space"), "{run:?}");
    let run = sort(&["generate", "--records", "600k", &sorted]);
    assert!(run.code == 1 && run.stderr.contains("free, and 60 MB are needed"), "{run:?}");
    assert_eq!(names(&disk.file("")), ["input"]);
}

#[test]
fn a_file_system_that_refuses_direct_transfers_is_sorted_through_the_page_cache_and_the_report_says_so() {
    let Some(disk) = Disk::without_direct_transfers() else { return };
    let name = |name: &str| disk.file(name).to_str().unwrap().to_owned();
    let run = sort(&["generate", "--records", "300k", &name("input")]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let records = Records::generate(&[]);
    let here = (records.name("input"), records.name("sorted"));
    // All files there, with one pass and with two; then the input, the spool or the output alone.
    let spool = records.name("");
    let (there, sorted) = (name("input"), name("sorted"));
    for (input, output, more, passes) in [
        (&there, &sorted, &["--memory", "64M"][..], 1),
        (&there, &sorted, &["--memory", "8M"], 2),
        (&there, &here.1, &["--memory", "8M"], 2),
        (&here.0, &sorted, &["--memory", "8M", "--spool", &spool], 2),
        (&here.0, &here.1, &["--memory", "8M", "--spool", &name("")], 2),
    ] {
        let run = sort(&[&["sort", input, "-o", output, "--threads", "2", "--json"], more].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((&report["parameters"]["passes"], &report["parameters"]["direct"]), (&passes.into(), &false.into()));
        let says =
            |note: &Value| note.as_str().is_some_and(|note| note.contains("refuses transfers around the page cache"));
        assert!(report["notes"].as_array().unwrap().iter().any(says), "{report}");
        let run = sort(&["validate", output, "--input", &here.0]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    }
    assert_eq!(names(&disk.file("")), ["input", "sorted"]);
}

#[test]
fn a_spool_and_an_output_share_space_for_little_more_than_one_of_them() {
    let Some(disk) = Disk::new(50) else { return };
    let records = Records::generate(&[]);
    let (input, sorted) = (records.name("input"), disk.file("sorted"));
    let sorted = sorted.to_str().unwrap();
    let run = sort(&["sort", &input, "-o", sorted, "--memory", "8M", "--threads", "1", "--json"]);
    let notes = "fawn: the free space is less than two copies of the records: the spool gives its own back";
    assert!(run.code == 0 && run.stderr.starts_with(notes), "{run:?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["parameters"]["passes"], 2);
    let run = sort(&["validate", sorted, "--input", &input]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn a_disk_that_others_fill_meanwhile_ends_a_sort_in_one_sentence() {
    let Some(disk) = Disk::new(100) else { return };
    let records = Records::generate(&[]);
    let child = records.begin_sort_into(&disk.file("sorted"));
    let signal = |signal| kill_process(Pid::from_child(&child), signal).unwrap();
    signal(Signal::STOP);
    let full = std::fs::write(disk.file("others"), vec![1; 100 << 20]);
    assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    signal(Signal::CONT);
    let run = Run::from(child.wait_with_output().unwrap());
    assert!(run.code == 1 && run.stderr.ends_with(" is full: free some space, or write elsewhere\n"), "{run:?}");
    assert_eq!(names(&disk.file("")), ["others"]);
}
