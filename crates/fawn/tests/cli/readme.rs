//! The README's quick tour does what it says.

use std::process::Command;

use crate::server::{Kind, Server, on_each_server};

on_each_server!(the_quick_tour_does_what_it_says);

const README: &str = include_str!("../../../../README.md");

fn the_quick_tour_does_what_it_says(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let steps = steps();
    assert!(steps.len() >= 8, "the tour has only {} steps", steps.len());
    for (command, expected) in steps {
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

/// The commands of the README's console blocks (after `$ `), each with the lines below it.
fn steps() -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut is_console = false;
    for line in README.lines() {
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

/// The text without `in 0.4 s, 160,647 a second` and Unix seconds, which differ from run to run.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let start = line.find(" in ").filter(|_| line.contains(" a second"));
        let cut = start.map_or(line, |start| &line[..start]);
        let cut = cut.split("\"exptime\":").next().expect("the part before is always there");
        out.push_str(cut);
        out.push('\n');
    }
    out
}
