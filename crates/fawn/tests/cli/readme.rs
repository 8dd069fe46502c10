//! The quick tours of the README and of the book do what they say.

use std::process::Command;

use crate::server::{Kind, Server, on_each_server};

on_each_server!(the_quick_tours_do_what_they_say);

/// The short tour, and the longer one, which goes on from the same state.
const README: &str = include_str!("../../../../README.md");
const TOUR: &str = include_str!("../../../../book/src/guide/quick-tour.md");

fn the_quick_tours_do_what_they_say(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let (short, long) = (steps(README), steps(TOUR));
    assert!(short.len() >= 8 && long.len() >= 12, "the tours have only {} and {} steps", short.len(), long.len());
    for (command, expected) in short.into_iter().chain(long) {
        if command.starts_with("memccat") && Command::new("memccat").arg("--version").output().is_err() {
            eprintln!("skipped a step: memccat is not installed (apt-get install libmemcached-tools)");
            continue;
        }
        let typed = command.replace("target/release/fawn", env!("CARGO_BIN_EXE_fawn"));
        let typed = typed.replace("127.0.0.1:11211", &server.address);
        let mut shell = Command::new("sh");
        // 2>&1: a person sees both.
        shell.args(["-c", &format!("{{ {typed}\n}} 2>&1")]).current_dir(server.dir());
        let output = shell.env("FAWN_SERVER", &server.address).output().unwrap();
        let seen = String::from_utf8(output.stdout).unwrap().replace(&server.address, "127.0.0.1:11211");
        assert_eq!(without_times(&seen), without_times(&expected), "$ {command}");
    }
}

/// The commands of a page's console blocks (after `$ `), each with the lines below it.
fn steps(page: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            is_console = kind == "console";
        } else if let (true, Some(command)) = (is_console, line.strip_prefix("$ ")) {
            steps.push((command.to_owned(), String::new()));
        } else if is_console {
            let (_, expected) = steps.last_mut().expect("a console block starts with a command");
            expected.push_str(line);
            expected.push('\n');
        }
    }
    steps
}

/// The text without `in 0.4 s, 160,647 per second` and Unix seconds, which differ from run to run.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let start = line.find(" in ").filter(|_| line.contains(" per second"));
        let cut = start.map_or(line, |start| &line[..start]);
        let cut = cut.split("\"exptime\":").next().expect("the part before is always there");
        out.push_str(cut);
        out.push('\n');
    }
    out
}
