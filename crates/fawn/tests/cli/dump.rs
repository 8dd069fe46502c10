//! `fawn dump`.

use std::os::unix::fs::FileTypeExt as _;
use std::process::{Command, Stdio};

use rustix::fs::{FileType, Mode};

use crate::server::{
    Kind, Server, assert_same_lines, fawn, fawn_command, interrupted, numbered, on_each_server, wait_for,
};

on_each_server!(
    a_dump_is_a_file_that_loads_again,
    a_dump_appears_only_when_it_is_complete,
    tsv_says_how_many_records_lost_flags_or_expiry,
    an_empty_server_gives_an_empty_dump,
    a_pipe_is_written_to_and_stays,
    large_values_pass_through,
    a_reader_that_has_enough_is_no_error,
);

fn a_dump_is_a_file_that_loads_again(kind: Kind) {
    let (Some(first), Some(second)) = (Server::start(kind), Server::start(kind)) else { return };
    let line = |n: u32| {
        let exptime = n % 2 * 1_900_000_000;
        format!(r#"{{"key":"k{n}","value":"v{n}\n\u0001é","flags":{n},"exptime":{exptime}}}"#)
    };
    let lines: Vec<String> = (0..2000).map(line).collect();
    assert_eq!(first.load(&first.file("in.jsonl", lines.join("\n")), &[]).code, 0);
    let dump = first.dir().join("out.jsonl");
    let run = fawn(&["dump", "--from", &first.address, dump.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("dumped 2,000 records"), "{}", run.stdout);
    assert_eq!(second.load(&dump, &[]).code, 0);
    let near = |line: &String| line.replace("1900000001", "1900000000").replace("1899999999", "1900000000");
    let (was, is) = (first.dump_lines("jsonl"), second.dump_lines("jsonl"));
    assert_same_lines(&is.iter().map(near).collect::<Vec<_>>(), &was.iter().map(near).collect::<Vec<_>>());
    assert_eq!(is.len(), 2000);
}

fn a_dump_appears_only_when_it_is_complete(kind: Kind) {
    let Some(mut server) = Server::start(kind) else { return };
    fawn(&["set", "--to", &server.address, "k", "v"]);
    let dump = server.dir().join("out.jsonl");
    assert_eq!(fawn(&["dump", "--from", &server.address, dump.to_str().unwrap()]).code, 0);
    assert!(!server.dir().join("out.jsonl.part").exists());
    let was = std::fs::read(&dump).unwrap();
    server.kill();
    assert_eq!(fawn(&["dump", "--from", &server.address, dump.to_str().unwrap()]).code, 1);
    assert_eq!(std::fs::read(&dump).unwrap(), was, "a failed dump leaves the old one alone");
}

fn tsv_says_how_many_records_lost_flags_or_expiry(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    fawn(&["set", "--to", &server.address, "plain", "v"]);
    fawn(&["set", "--to", &server.address, "--flags", "1", "flagged", "v"]);
    let run = fawn(&["dump", "--from", &server.address, "--format", "tsv", "-"]);
    assert!(run.stderr.contains("; 1 lost flags or expiry"), "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 2);
}

fn an_empty_server_gives_an_empty_dump(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let run = fawn(&["dump", "--from", &server.address, "-"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert!(run.stderr.starts_with("dumped 0 records"), "{}", run.stderr);
}

fn a_pipe_is_written_to_and_stays(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    fawn(&["set", "--to", &server.address, "k", "v"]);
    let pipe = server.dir().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    let run = fawn(&["dump", "--from", &server.address, "--format", "tsv", pipe.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo(), "a device or pipe is not replaced by a file");
    assert_eq!(reader.join().unwrap(), "k\tv\n");
}

fn large_values_pass_through(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    let lines: Vec<String> = (0..20).map(|n| format!("k{n:02}\t{}", "abcdefg\\n".repeat(100_000))).collect();
    let run = server.load(&server.file("in.tsv", lines.join("\n")), &["--connections", "2"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_same_lines(&server.dump_lines("tsv"), &lines);
}

fn a_reader_that_has_enough_is_no_error(kind: Kind) {
    let Some(server) = Server::start(kind) else { return };
    assert_eq!(server.load(&server.file("in.tsv", numbered(50_000)), &[]).code, 0);
    let mut command = fawn_command(&["dump", "--from", &server.address, "-"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn the_server_that_is_typed_is_dumped_whatever_managers_are_configured() {
    let Some(server) = Server::start(Kind::Fawn) else { return };
    fawn(&["set", "--to", &server.address, "k", "v"]);
    let mut command = fawn_command(&["dump", "--from", &server.address, "--format", "tsv", "-"]);
    let output = command.env("FAWN_MANAGER", "127.0.0.1:1").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "k\tv\n");
}

#[test]
fn what_is_not_for_the_dump_that_is_meant_is_refused_if_it_is_typed() {
    let told = |line: &str, variables: &[(&str, &str)]| {
        let mut command = fawn_command(&["dump"]);
        let output = command.args(line.split(' ')).envs(variables.iter().copied()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let nobody = [("FAWN_SERVER", "127.0.0.1:1"), ("FAWN_CONNECTIONS", "2")];
    for (line, says) in [
        ("--from 127.0.0.1:1 --manager 127.0.0.1:1 x", "--manager dumps a cluster: give one of them"),
        ("--restart x", "--restart applies only to the dump of a cluster: give --manager"),
        ("--from 127.0.0.1:1 --certs c x", "--certs applies only to the dump of a cluster"),
        ("--manager 127.0.0.1:1 --password-file f --user u x", "--user applies only to the dump of a server"),
        ("--manager 127.0.0.1:1 --connections 3 x", "name the server with --from"),
    ] {
        let (code, told) = told(line, &nobody);
        assert_eq!((code, told.contains(says)), (Some(2), true), "{line}: {told}");
    }
    let (code, told) = told("--timeout 9s x", &[("FAWN_MANAGER", "127.0.0.1:1")]);
    assert_eq!((code, told.contains("--timeout applies only to the dump of a server")), (Some(2), true), "{told}");
}

/// A server with one key, whose value it never gives.
fn endless_server() -> String {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            std::thread::spawn(move || {
                let mut answers = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let answer = match line.split(' ').next() {
                        Some("version") => "VERSION 1.6.0\r\n",
                        Some("mn") => "MN\r\n",
                        Some("stats") => "STAT curr_items 1\r\nEND\r\n",
                        Some("lru_crawler") => "key=k exp=-1 la=1 cas=1 fetch=no cls=1 size=63\r\n",
                        _ => "",
                    };
                    // A client that is ended breaks its connection.
                    let _ = answers.write_all(answer.as_bytes());
                }
            });
        }
    });
    address
}

#[test]
fn a_dump_that_is_interrupted_says_how_to_go_on_and_leaves_nothing_useless() {
    let dir = tempfile::tempdir().unwrap();
    let address = endless_server();
    let spawn = |file: &str| {
        let mut command = fawn_command(&["dump", "--from", &address, file]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let file = dir.path().join("out.jsonl");
    let part = dir.path().join("out.jsonl.part");
    std::fs::write(&file, "the one before\n").unwrap();
    let child = spawn(file.to_str().unwrap());
    wait_for("the file", || part.exists().then_some(()));
    assert_eq!(
        interrupted(child),
        "fawn: interrupted; nothing was kept; run the same command again to start from the beginning\n"
    );
    assert!(!part.exists(), "nothing of it is of use");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "the one before\n");
    // One that fails leaves nothing either.
    let run = fawn(&["dump", "--from", &address, "--timeout", "500ms", file.to_str().unwrap()]);
    assert!(run.code == 1 && !part.exists(), "{}", run.stderr);
}

#[test]
fn a_directory_for_a_file_is_refused_before_anything_is_dumped() {
    let Some(server) = Server::start(Kind::Fawn) else { return };
    let directory = server.dir().join("backups");
    std::fs::create_dir(&directory).unwrap();
    let run = fawn(&["dump", "--from", &server.address, directory.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.ends_with("backups is a directory: name a file in it\n"), "{}", run.stderr);
    assert!(!server.dir().join("backups.part").exists());
}

#[test]
fn a_server_that_does_not_list_its_keys_is_an_error_that_says_so() {
    let Some(server) = Server::memcached(&["-o", "no_lru_crawler"]) else { return };
    let run = fawn(&["dump", "--from", &server.address, "-"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("does not list its keys"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_written_is_named_with_what_to_do() {
    let Some(server) = Server::start(Kind::Fawn) else { return };
    fawn(&["set", "--to", &server.address, "k", &"x".repeat(100_000)]);
    let run = fawn(&["dump", "--from", &server.address, "/dev/full"]);
    assert_eq!(run.stderr, "fawn: cannot write /dev/full: No space left on device (os error 28)\n");
    let (file, to) = (server.dir().join("out.jsonl"), &server.address);
    let script = format!("ulimit -f 1; exec {} dump --from {to} {}", env!("CARGO_BIN_EXE_fawn"), file.display());
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let says = format!("cannot write {}.part; is there space, and does `ulimit -f` allow", file.display());
    assert!(output.status.code() == Some(1) && told.contains(&says) && told.contains("too large"), "{told}");
    assert_eq!(
        std::fs::read_dir(server.dir())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("out") })
            .count(),
        0
    );
}

#[test]
fn a_symbolic_link_in_the_place_of_a_dump_that_is_not_complete_is_not_followed() {
    let Some(server) = Server::start(Kind::Fawn) else { return };
    let file = server.dir().join("out.jsonl");
    let (part, other) = (server.dir().join("out.jsonl.part"), server.file("other", "mine"));
    std::os::unix::fs::symlink(&other, &part).unwrap();
    let run = fawn(&["dump", "--from", &server.address, file.to_str().unwrap()]);
    assert!(run.code == 1 && run.stderr.contains("out.jsonl.part is a symbolic link: remove it"), "{run:?}");
    assert_eq!(std::fs::read_to_string(other).unwrap(), "mine");
    assert!(part.is_symlink() && !file.exists());
}
