//! Standard error and standard output whose reader goes away.

use std::io::{BufRead, BufReader, Read as _};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::server::{Kind, Server, fawn, fawn_command, numbered};

/// The exit code of a command whose standard output is closed from the start, and what it says on standard error.
fn run_without_reader(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = fawn_command(arguments);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_server_goes_on_when_nobody_reads_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let serve = || {
        let arguments = ["serve", "--dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--memory", "64M"];
        let mut command: Command = fawn_command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (child, line.trim().rsplit(' ').next().unwrap().to_owned())
    };
    for round in 0..2 {
        let (mut child, address) = serve();
        let mut log = child.stderr.take().unwrap();
        assert!(log.read(&mut [0; 16]).unwrap() > 0, "the server logs that its store is open");
        drop(log);
        let kept = fawn(&["get", "--to", &address, "k"]);
        assert_eq!((round, kept.stdout.as_str()), (round, if round == 0 { "" } else { "v\n" }));
        assert_eq!(fawn(&["set", "--to", &address, "k", "v"]).code, 0);
        // The stop is logged, too.
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "a clean stop exits with 0");
    }
}

#[test]
fn the_exit_code_is_the_same_when_nobody_reads_the_output() {
    let server = Server::start(Kind::Fawn).expect("fawn is built");
    assert_eq!(server.load(&server.file("in.tsv", numbered(20_000)), &[]).code, 0);
    let to = server.address.as_str();
    assert_eq!(run_without_reader(&["get", "--to", to, "key-000001"]), (Some(0), String::new()));
    let missed = (Some(1), "fawn: `gone` was not found\n".to_owned());
    assert_eq!(run_without_reader(&["get", "--to", to, "key-000001", "gone"]), missed);
    assert_eq!(run_without_reader(&["dump", "--from", to, "-"]), (Some(0), String::new()));
}

#[test]
fn a_look_into_a_store_needs_no_reader() {
    let mut server = Server::start(Kind::Fawn).expect("fawn is built");
    assert_eq!(server.load(&server.file("in.tsv", numbered(20_000)), &[]).code, 0);
    server.restart();
    server.kill();
    let data = server.dir().join("data");
    let data = data.to_str().unwrap();
    for what in ["check", "stats", "dump"] {
        assert_eq!(run_without_reader(&["store", what, data]), (Some(0), String::new()), "{what}");
    }
    assert_eq!(run_without_reader(&["store", "check", "--json", data]), (Some(0), String::new()));
    // Looking changes nothing; this stops cleanly and leaves segments.
    let records = server.file("in.tsv", numbered(20_000));
    let load = fawn(&["load", "--bulk", "--dir", data, "--memory", "64M", records.to_str().unwrap()]);
    assert_eq!(load.code, 0, "{}", load.stderr);
    let store = server.dir().join("data").join("store-0");
    let named = |start: &str| {
        let names = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(start)).max()
    };
    // One bad copy loses nothing, and is told all the same.
    let manifest = named("manifest-").expect("a store has one");
    let whole = std::fs::read(&manifest).unwrap();
    let mut flipped = whole.clone();
    flipped[40] ^= 4;
    std::fs::write(&manifest, flipped).unwrap();
    let (run, json) = (fawn(&["store", "check", data]), fawn(&["store", "check", "--json", data]));
    let says = format!("{}: damaged at byte 0: one of the two copies", manifest.display());
    assert!(run.code == 1 && run.stdout.contains(&says) && run.stdout.contains("1 place damaged"), "{run:?}");
    assert!(json.code == 1 && json.stdout.contains("one of the two copies"), "{json:?}");
    std::fs::write(&manifest, whole).unwrap();
    let segment = named("segment-").expect("a clean stop seals what was written");
    std::fs::remove_file(&segment).unwrap();
    let run = fawn(&["store", "check", data]);
    assert!(run.code == 1, "{run:?}");
    let name = segment.file_name().unwrap().to_str().unwrap();
    assert!(format!("{}{}", run.stdout, run.stderr).contains(name), "the missing {name} is named: {run:?}");
    assert_eq!(run_without_reader(&["store", "check", data]).0, Some(1), "damage is told by the exit code");
}
