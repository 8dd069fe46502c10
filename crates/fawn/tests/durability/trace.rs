//! A trace of system calls: each `STORED` leaves after the synchronous write that carries its record has returned.
//!
//! A build without the sync must fail this test:
//! `RUSTFLAGS='--cfg fawn_without_sync' cargo test -p fawn --test durability trace` does.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use crate::server::Server;

/// Puts that are traced.
const PUTS: usize = 10_000;
/// Puts in flight.
const PIPELINE: usize = 16;

#[test]
fn trace_shows_each_answer_leaving_after_its_sync() {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("skipped: strace is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-s", "65536", "-e", "signal=none"]);
    command.args(["-e", "trace=pwritev2,pwrite64,fdatasync,fsync,sendto,sendmsg,write,writev", "-o"]).arg(&log);
    command.arg(env!("CARGO_BIN_EXE_fawn"));
    let mut server = Server::start(command, &dir.path().join("data"), &["--threads", "1", "--memory", "64M"]);
    put_all(&server);
    // The tracer ends with the server, and its log is complete then.
    let children = format!("/proc/{0}/task/{0}/children", server.child.id());
    let traced = std::fs::read_to_string(children).unwrap();
    Command::new("kill").arg("-TERM").arg(traced.trim()).status().unwrap();
    server.child.wait().unwrap();
    let checked = check(&log).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(checked, PUTS, "the trace shows every answer");
}

fn put_all(server: &Server) {
    let mut client = server.connect();
    for first in (0..PUTS).step_by(PIPELINE) {
        let puts = first..(first + PIPELINE).min(PUTS);
        let batch: Vec<String> = puts.clone().map(|put| format!("set {} 0 0 5\r\nvalue\r\n", name(put))).collect();
        client.send(batch.concat().as_bytes()).unwrap();
        for _ in puts {
            assert_eq!(client.line().as_deref(), Some("STORED"));
        }
    }
}

fn name(put: usize) -> String {
    format!("traced-put-{put:06}")
}

/// Follows the trace. Returns the number of answers whose sync came before.
fn check(log: &Path) -> Result<usize, String> {
    let trace = String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned();
    // Keys in writes of a thread that have begun; by thread, since calls of several threads interleave.
    let mut begun: HashMap<&str, &str> = HashMap::new();
    // Keys written to the commit log but not synced, and keys that are durable.
    let mut written: Vec<usize> = Vec::new();
    let mut durable = vec![false; PUTS];
    let mut answered = 0;
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').unwrap_or((line, ""));
        let call = call.trim_start();
        if is_answer(call) {
            // An answer counts from the moment its call begins.
            for _ in 0..call.matches("STORED").count() {
                if !durable[answered] {
                    return Err(format!("the answer to put {answered} left before its sync: {call:.200}"));
                }
                answered += 1;
            }
        }
        if call.ends_with("<unfinished ...>") {
            begun.insert(thread, call);
            continue;
        }
        let whole = if call.starts_with("<...") { begun.remove(thread).unwrap_or(call) } else { call };
        if !whole.contains("commit-log") || call.contains(") = -1") {
            continue;
        }
        let puts = puts_in(whole);
        if whole.starts_with("pwritev2") && (whole.contains("RWF_DSYNC") || call.contains("RWF_DSYNC")) {
            for put in puts {
                durable[put] = true;
            }
        } else if whole.starts_with("pwrite") {
            written.extend(puts);
        } else if whole.starts_with("fdatasync") || whole.starts_with("fsync") {
            for put in written.drain(..) {
                durable[put] = true;
            }
        }
    }
    Ok(answered)
}

fn is_answer(call: &str) -> bool {
    ["sendto(", "sendmsg(", "write(", "writev("].iter().any(|name| call.starts_with(name)) && call.contains("STORED")
}

/// The puts whose keys stand in a written buffer.
fn puts_in(call: &str) -> Vec<usize> {
    call.match_indices("traced-put-")
        .filter_map(|(at, found)| call.get(at + found.len()..at + found.len() + 6)?.parse().ok())
        .collect()
}
