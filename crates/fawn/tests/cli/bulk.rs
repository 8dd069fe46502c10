//! `fawn load --bulk`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::server::{Run, Server, fawn, fawn_command, fawn_with_input, interrupted, numbered, wait_for};

fn bulk(dir: &str, file: &Path, more: &[&str]) -> Run {
    let mut arguments = vec!["load", "--bulk", "--dir", dir, file.to_str().unwrap()];
    arguments.extend(more);
    fawn(&arguments)
}

/// Files of records in a data directory, whether anything lists them or not.
fn data_files(dir: &str) -> Vec<PathBuf> {
    let stores = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = stores.flat_map(|store| std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path()));
    let is_data = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("segment-") || name.starts_with("value-")
    };
    files.filter(is_data).collect()
}

/// How many files of records a directory at rest lists.
fn segments(dir: &str) -> usize {
    let run = fawn(&["store", "stats", "--json", dir]);
    let stats: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    stats["segments"].as_u64().unwrap() as usize
}

/// What the records of a directory at rest are.
fn stored(dir: &str) -> BTreeMap<String, String> {
    let run = fawn(&["store", "dump", dir]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (line["key"].as_str().unwrap().to_owned(), line["value"].as_str().unwrap().to_owned())
    };
    run.stdout.lines().map(record).collect()
}

#[test]
fn what_is_loaded_is_served_beside_what_was_there() {
    let Some(mut server) = Server::fawn(&[]) else { return };
    for key in ["kept", "replaced", "expired"] {
        assert_eq!(server.say(&format!("set {key} 0 0 3\r\nold"), "\r\n"), "STORED\r\n");
    }
    server.stop();
    let large = "x".repeat(900_000);
    let lines = [
        r#"{"key":"replaced","value":"first"}"#.to_owned(),
        r#"{"key":"replaced","value":"last","flags":7,"cas":99}"#.to_owned(),
        r#"{"key":"expired","value":"new","exptime":1000}"#.to_owned(),
        r#"{"key":"later","value":"","exptime":4000000000}"#.to_owned(),
        r#"{"key_base64":"YiBj","value_base64":"/wA="}"#.to_owned(),
        format!(r#"{{"key":"large","value":"{large}"}}"#),
    ];
    let file = server.file("in.jsonl", lines.join("\n"));
    // With so little memory the large value gets a file of its own.
    let run = bulk(&server.data(), &file, &["--memory", "16M", "--threads", "1"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("loaded 6 records (879.0 KiB) in "), "{}", run.stdout);
    assert!(run.stdout.contains("; 1 of those loaded had expired by this machine's clock"), "{}", run.stdout);
    server.start_again();
    assert_eq!(server.say("get kept replaced expired later", "END\r\n"), {
        "VALUE kept 0 3\r\nold\r\nVALUE replaced 7 4\r\nlast\r\nVALUE later 0 0\r\n\r\nEND\r\n"
    });
    assert_eq!(server.say("mg replaced c", "\r\n"), "HD c99\r\n");
    let dumped = server.dump_lines("jsonl");
    assert!(dumped.contains(&lines[4]) && dumped.contains(&lines[5]), "binary keys, large values");
}

#[test]
fn a_directory_that_does_not_exist_is_made_as_a_server_would_make_it() {
    let Some(mut server) = Server::fawn(&["--threads", "2"]) else { return };
    server.stop();
    let dir = server.dir().join("new");
    let dir = dir.to_str().unwrap();
    let run = fawn_with_input(
        &["load", "--bulk", "--dir", dir, "--threads", "2", "--memory", "64M", "--format", "tsv", "-"],
        numbered(5_000).as_bytes(),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let format = |dir: &str| std::fs::read_to_string(Path::new(dir).join("FORMAT")).unwrap();
    assert_eq!(format(dir), format(&server.data()));
    let found = stored(dir);
    assert_eq!(found.len(), 5_000);
    assert_eq!(found["key-001234"], "value 1234");
    assert_eq!(fawn(&["store", "check", dir]).code, 0);
}

/// So many records, enough for several spools of 8 MiB of memory.
const RECORDS: usize = 60_000;

fn many(version: &str) -> String {
    let mut text = String::new();
    for n in 0..RECORDS {
        writeln!(text, "key-{n:06}\t{version}-{n}-{}", "v".repeat(n % 400)).unwrap();
    }
    text
}

#[test]
fn a_load_that_is_killed_harms_nothing_and_is_completed_by_the_same_command() {
    let Some(mut server) = Server::fawn(&["--threads", "1"]) else { return };
    server.stop();
    let data = server.data();
    let (old, new) = (server.file("old.tsv", many("old")), server.file("new.tsv", many("new")));
    assert_eq!(bulk(&data, &old, &["--memory", "8M"]).code, 0);
    let before = data_files(&data).len();
    // While it spools, and while it puts runs into the store.
    for more in [1, 3, 6, 9] {
        let arguments = ["load", "--bulk", "--memory", "8M", "--dir", &data, new.to_str().unwrap()];
        let mut child = fawn_command(&arguments).stdout(Stdio::null()).spawn().unwrap();
        wait_for("files of the load", || {
            let is_over = child.try_wait().unwrap().is_some();
            (is_over || data_files(&data).len() >= before + more).then_some(())
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(fawn(&["store", "check", &data]).code, 0, "nothing is damaged");
        let found = stored(&data);
        assert_eq!(found.len(), RECORDS);
        for (key, value) in found {
            let n: usize = key[4..].parse().unwrap();
            let rest = format!("{n}-{}", "v".repeat(n % 400));
            assert!(value == format!("old-{rest}") || value == format!("new-{rest}"), "{key}: {value}");
        }
        // Looking has changed nothing.
        server.start_again();
        server.stop();
        assert_eq!(data_files(&data).len(), segments(&data), "an opening removes what a kill has left");
    }
    assert_eq!(bulk(&data, &new, &["--memory", "8M"]).code, 0);
    server.start_again();
    let expected: Vec<String> = many("new").lines().map(str::to_owned).collect();
    crate::server::assert_same_lines(&server.dump_lines("tsv"), &expected);
    assert_eq!(server.say("set key-000007 0 0 5\r\nlater", "\r\n"), "STORED\r\n");
    server.kill();
    server.start_again();
    assert_eq!(server.say("get key-000007", "END\r\n"), "VALUE key-000007 0 5\r\nlater\r\nEND\r\n");
}

#[test]
fn a_bad_line_stops_a_bulk_load_before_anything_is_loaded_or_is_skipped_by_choice() {
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("data"), dir.path().join("in.tsv"));
    let data = data.to_str().unwrap();
    let mut text = many("new");
    text.push_str("no tab\n");
    std::fs::write(&file, text).unwrap();
    let run = bulk(data, &file, &["--memory", "8M", "--threads", "1"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    let expected = format!("in.tsv:{}: there is no TAB between key and value; nothing was loaded: ", RECORDS + 1);
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
    assert_eq!(data_files(data), Vec::<PathBuf>::new());
    assert!(stored(data).is_empty());
    let run = bulk(data, &file, &["--memory", "8M", "--on-error", "skip", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with(&format!(r#"{{"records":{RECORDS},"#)), "{}", run.stdout);
    assert!(run.stdout.contains(r#""bad_lines":1,"#), "{}", run.stdout);
    assert_eq!(stored(data).len(), RECORDS);
}

#[test]
fn what_is_not_a_directory_to_load_into_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.tsv");
    std::fs::write(&file, "a\t1\n").unwrap();
    let file = file.to_str().unwrap();
    let refused = |arguments: &[&str]| {
        let mut all = vec!["load", file];
        all.extend(arguments);
        let run = fawn(&all);
        assert_eq!(run.stdout, "");
        (run.code, run.stderr)
    };
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for (arguments, what) in [
        (&["--bulk"][..], "give --dir DIR"),
        (&["--dir", "d"], "--dir applies only to a load into a directory: add --bulk"),
        (&["--bulk", "--dir", "d", "--to", "127.0.0.1:1"], "--to applies only to a load into a server"),
        (&["--bulk", "--dir", "d", "--restart"], "--restart applies only to a load into a server"),
        (
            &["--bulk", "--dir", "d", "--threads", "2", "--memory", "15M"],
            "--memory 15M is too small for 2 threads: give --memory 16M, or --threads 1\n",
        ),
        (&["--bulk", "--dir", "d", "--memory", "7M"], "--memory 7M is too small for "),
    ] {
        let (code, told) = refused(arguments);
        assert_eq!(code, 2, "{arguments:?}");
        assert!(told.contains(what), "{arguments:?}: {told}");
    }
    let member = path("member");
    std::fs::create_dir_all(Path::new(&member).join("store-0")).unwrap();
    std::fs::write(Path::new(&member).join("FORMAT"), "FAWN data directory\nformat 2\nstores 1\nkind member\n")
        .unwrap();
    let (code, told) = refused(&["--bulk", "--dir", &member]);
    assert!(code == 1 && told.contains("load into the cluster, with `fawn load --to"), "{told}");
    let (code, told) = refused(&["--bulk", "--dir", file]);
    assert!(code == 1 && told.contains("is a file"), "{told}");
    let Some(server) = Server::fawn(&[]) else { return };
    let (code, told) = refused(&["--bulk", "--dir", &server.data()]);
    assert!(code == 1 && told.contains("is in use by process"), "{told}");
}

#[test]
fn a_bulk_load_that_is_interrupted_says_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let arguments = ["load", "--bulk", "--dir", data.to_str().unwrap(), "-"];
    // Its input does not end.
    let mut command = fawn_command(&arguments);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the directory", || data.join("FORMAT").exists().then_some(()));
    assert_eq!(
        interrupted(child),
        "fawn: interrupted; run the same command again, which loads from the beginning; until it is complete, each \
        part of the keys is as before or as after\n"
    );
}

#[test]
fn a_store_at_rest_tells_what_a_server_would_make_of_a_budget() {
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path().join("data"), dir.path().join("in.tsv"));
    let data = data.to_str().unwrap();
    let records = 500_000_u64;
    std::fs::write(&file, (0..records).fold(String::new(), |text, n| text + &format!("{n}\tv\n"))).unwrap();
    assert_eq!(bulk(data, &file, &["--memory", "64M", "--threads", "1"]).code, 0);
    let stats = |more: &[&str]| -> serde_json::Value {
        let run = fawn(&[&["store", "stats", "--json", data], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    };
    let at_rest = stats(&[]);
    for unknown in ["mode", "phi", "index_bytes", "index_filter_bytes"] {
        assert!(at_rest[unknown].is_null(), "{unknown} depends on --memory: {at_rest}");
    }
    let (large, small) = (stats(&["--memory", "64M"]), stats(&["--memory", "8M"]));
    assert!(large["mode"] == "indexed" && large["phi"] == 1.0, "{large}");
    assert!(small["mode"] == "drained" && small["phi"].as_f64().unwrap() < 0.5, "{small}");
    assert!(small["index_bytes"].as_u64() < large["index_bytes"].as_u64(), "{small}");
    assert_eq!(small["index_filter_bytes"], 0);
    let filtered = stats(&["--memory", "8M", "--miss-filter"]);
    assert!(filtered["index_filter_bytes"].as_u64().unwrap() > 0, "{filtered}");
    for stats in [&large, &small, &filtered] {
        for same in ["segments", "segment_file_bytes", "merged_bytes_written"] {
            assert_eq!(stats[same], at_rest[same], "{same}: {stats}");
        }
    }
    assert!(at_rest["entries"].as_u64().unwrap().abs_diff(records) < records / 100, "{at_rest}");
    assert!(at_rest["segment_device_bytes"].as_u64().unwrap() > 0, "{at_rest}");
    let text = fawn(&["store", "stats", data]).stdout;
    assert!(text.contains("unknown without --memory") && !text.contains("index_bytes"), "{text}");
    assert_eq!(fawn(&["store", "check", data]).code, 0);
}
