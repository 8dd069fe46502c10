//! A trace of system calls: a get of a record on flash takes one read, and gets that come together share their calls.

use std::path::Path;
use std::process::Command;

use crate::server::{Client, Server};

/// Records; far more than the server's memory holds unsealed.
const RECORDS: usize = 40_000;
/// Gets that are traced, of each kind.
const GETS: usize = 1_000;
/// Gets in one request of a client that pipelines.
const PIPELINE: usize = 20;

const SERVER: [&str; 6] = ["--threads", "1", "--memory", "64M", "--ack", "memory"];

/// Each of the first implementation's gets took three system calls: it read a record's header, then the key, then the
/// data.
#[test]
fn a_get_takes_one_read_of_flash_and_not_three_and_shares_its_system_calls() {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("skipped: strace is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (data, log) = (dir.path().join("data"), dir.path().join("trace"));
    let mut server = Server::start(Command::new(env!("CARGO_BIN_EXE_fawn")), &data, &SERVER);
    let mut client = server.connect();
    for number in 0..RECORDS {
        client.send(format!("set {} 0 0 1000 noreply\r\n{:01000}\r\n", name(number), number).as_bytes()).unwrap();
    }
    ask(&mut client, "mn\r\n", "MN");
    let process = server.child.id().to_string();
    stop(&mut server, &process);
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "signal=none", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_fawn"));
    let mut server = Server::start(command, &data, &SERVER);
    let traced = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.child.id())).unwrap();
    let traced = traced.trim().to_owned();
    let mut client = server.connect();
    // The indexes of all slices are loaded by now.
    (0..RECORDS).step_by(97).for_each(|number| get(&mut client, &[number]));
    let thread = thread(&traced, "fawn-loop-0");
    ask(&mut client, "mn begin\r\n", "MN");
    let reads = flash_reads(&mut client);
    for number in 0..GETS {
        get(&mut client, &[number * (RECORDS / 2 / GETS)]);
    }
    let cold = (flash_reads(&mut client) - reads) as usize;
    ask(&mut client, "mn pipelined\r\n", "MN");
    let together: Vec<usize> = (0..GETS).map(|number| number * (RECORDS / 2 / GETS) + 1).collect();
    together.chunks(PIPELINE).for_each(|numbers| get(&mut client, numbers));
    ask(&mut client, "mn middle\r\n", "MN");
    for number in 0..PIPELINE {
        client.send(format!("set hot{number} 0 0 1\r\nx\r\n").as_bytes()).unwrap();
        assert_eq!(client.line().as_deref(), Some("STORED"));
    }
    ask(&mut client, "mn hot\r\n", "MN");
    let line: String = (0..PIPELINE).map(|number| ["get hot", &number.to_string(), "\r\n"].concat()).collect();
    for _ in 0..GETS / PIPELINE {
        client.send(line.as_bytes()).unwrap();
        for _ in 0..PIPELINE * 3 {
            assert!(client.line().is_some());
        }
    }
    ask(&mut client, "mn end\r\n", "MN");
    stop(&mut server, &traced);

    assert!((GETS * 9 / 10..=GETS + GETS / 100).contains(&cold), "{cold} reads of flash for {GETS} gets");
    let calls = calls(&log, &thread);
    let phase = |from: &str, to: &str| {
        let at = |mark: &str| calls.iter().position(|call| call.contains(mark)).expect("the mark is in the trace");
        &calls[at(from)..at(to)]
    };
    let count = |calls: &[String], names: &[&str]| {
        calls.iter().filter(|call| names.iter().any(|name| call.starts_with(&format!("{name}(")))).count()
    };
    let reads = ["io_uring_enter", "pread64", "preadv2", "lseek", "read"];
    // One to start the read, and one to learn of its end.
    let lone = count(phase("mn begin", "mn pipelined"), &reads);
    assert!(lone <= 2 * GETS + GETS / 20, "{lone} calls to read {cold} records one at a time");
    let shared = count(phase("mn pipelined", "mn middle"), &reads);
    assert!(shared <= GETS / 2, "{shared} calls to read {GETS} records, {PIPELINE} in a request");
    let hot = phase("mn hot", "mn end").len();
    assert!(hot <= GETS / PIPELINE * 4, "{hot} calls for {GETS} gets, {PIPELINE} in a request");
}

fn name(number: usize) -> String {
    format!("record-{number:06}")
}

fn ask(client: &mut Client, words: &str, answer: &str) {
    client.send(words.as_bytes()).unwrap();
    assert_eq!(client.line().as_deref(), Some(answer));
}

/// Gets records in one go.
fn get(client: &mut Client, numbers: &[usize]) {
    let asked: String = numbers.iter().map(|number| ["get ", &name(*number), "\r\n"].concat()).collect();
    client.send(asked.as_bytes()).unwrap();
    for number in numbers {
        let lines = [format!("VALUE {} 0 1000", name(*number)), format!("{number:01000}"), "END".into()];
        for line in &lines {
            assert_eq!(client.line().as_ref(), Some(line));
        }
    }
}

fn flash_reads(client: &mut Client) -> u64 {
    client.send(b"stats\r\n").unwrap();
    let mut reads = None;
    loop {
        let line = client.line().unwrap();
        if line == "END" {
            return reads.expect("stats say how many reads there were");
        }
        if let Some(number) = line.strip_prefix("STAT fawn_flash_reads ") {
            reads = number.parse().ok();
        }
    }
}

fn stop(server: &mut Server, process: &str) {
    Command::new("kill").args(["-TERM", process]).status().unwrap();
    assert!(server.child.wait().unwrap().success());
}

/// The number of a process's thread.
fn thread(process: &str, name: &str) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let is_it =
        |task: &std::path::PathBuf| std::fs::read_to_string(task.join("comm")).is_ok_and(|it| it.trim() == name);
    let task = tasks.map(|task| task.unwrap().path()).find(is_it).expect("the thread runs");
    task.file_name().unwrap().to_string_lossy().into_owned()
}

/// The calls of one thread, each once: where another thread's line came between, the end of a call is put to its start,
/// so that what was received is found in it.
fn calls(log: &Path, thread: &str) -> Vec<String> {
    let trace = String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned();
    let mut calls = Vec::<String>::new();
    for line in trace.lines().filter_map(|line| line.strip_prefix(thread)?.strip_prefix(' ')) {
        match (line.trim_start(), calls.last_mut()) {
            (end, Some(call)) if end.starts_with("<...") => call.push_str(end),
            (call, _) => calls.push(call.to_owned()),
        }
    }
    calls
}
